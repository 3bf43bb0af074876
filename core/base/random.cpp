// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

#include "base/crash.hpp"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace slipway {

std::uint64_t Random::u64() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
  fill(bytes);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), bytes.size());
  return number;
}

std::uint64_t Random::below(std::uint64_t bound) {
  SLIPWAY_ASSERT(bound >= 1);
  // The lowest 2^64 mod bound numbers are drawn again, so that every remainder is equally likely.
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t number = u64();
  while (number < surplus) number = u64();
  return number % bound;
}

double Random::unit() { return static_cast<double>(u64() >> 11U) * 0x1p-53; }

void SystemRandom::fill(std::span<std::uint8_t> bytes) {
  SLIPWAY_ASSERT(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  // Going on with predictable numbers would be worse than ending.
  SLIPWAY_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
}

void SeededRandom::fill(std::span<std::uint8_t> bytes) {
  const std::lock_guard lock(engine_mutex_);
  while (!bytes.empty()) {
    const std::uint64_t number = engine_();
    const std::size_t count = std::min(bytes.size(), sizeof number);
    std::memcpy(bytes.data(), &number, count);
    bytes = bytes.subspan(count);
  }
}

}  // namespace slipway
