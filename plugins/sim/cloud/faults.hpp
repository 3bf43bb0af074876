// SPDX-License-Identifier: Apache-2.0
// faults.hpp - which fault of a script happens to a call. The draws depend on the seed and on the calls so
// far, and on nothing else. Thread rule: one thread.
#pragma once

#include "sim/cloud/script.hpp"

#include <cstddef>
#include <random>

namespace slipway::sim {

// The standard fixes what the engine gives and not what its distributions give, so these are made here: a
// seed says the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // 0 to n - 1; n above 0. The bias of the remainder is far below what a simulation could see.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool chance(double probability) { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53 < probability; }

 private:
  std::mt19937_64 engine_;
};

class FaultBook {
 public:
  explicit FaultBook(std::vector<Fault> faults) : faults_(std::move(faults)), fitting_(faults_.size()) {}

  // Counts the call for every fault that it fits. Null: none happens. `age_ms`: since the script came into
  // force.
  const Fault* pick(std::string_view method, std::string_view zone, std::int64_t age_ms, Random& random);

 private:
  std::vector<Fault> faults_;
  std::vector<std::uint64_t> fitting_;  // calls that fitted so far, by fault
};

}  // namespace slipway::sim
