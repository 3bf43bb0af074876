// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/faults.hpp"

namespace slipway::sim {
namespace {

bool is_turn(const Fault& fault, std::uint64_t number) {
  const std::uint64_t first = fault.nth.value_or(1);
  if (number < first) return false;
  if (!fault.nth && !fault.times) return true;
  return number - first < fault.times.value_or(1);
}

}  // namespace

const Fault* FaultBook::pick(std::string_view method, std::string_view zone, std::int64_t age_ms,
                             Random& random) {
  const Fault* picked = nullptr;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    const bool fits = matches_method(fault.method, method) && (fault.zone.empty() || fault.zone == zone) &&
                      age_ms >= fault.from_ms && age_ms < fault.until_ms;
    if (!fits) continue;
    const bool is_its_turn = is_turn(fault, ++fitting_[i]);
    const bool is_drawn = fault.rate >= 1 || random.chance(fault.rate);
    if (picked == nullptr && is_its_turn && is_drawn) picked = &fault;
  }
  return picked;
}

}  // namespace slipway::sim
