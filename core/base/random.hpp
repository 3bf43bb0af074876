// SPDX-License-Identifier: Apache-2.0
// random.hpp - random numbers as an interface: the system's in the daemon, seeded ones in tests and
// simulation.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <span>

namespace slipway {

// Thread-safe in all implementations.
class Random {
 public:
  Random() = default;
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  virtual ~Random() = default;

  virtual void fill(std::span<std::uint8_t> bytes) = 0;

  [[nodiscard]] std::uint64_t u64();
  // Even over [0, bound); bound at least 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  // Even over [0, 1).
  [[nodiscard]] double unit();
};

// The kernel's generator (getrandom through OpenSSL): fit for nonces and keys.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> bytes) override;
};

// The same seed, the same numbers. Never for anything secret.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::uint8_t> bytes) override;

 private:
  std::mutex engine_mutex_;  // guards engine_
  std::mt19937_64 engine_;
};

}  // namespace slipway
