// SPDX-License-Identifier: Apache-2.0
// sick_zones.cpp - counting failures of different machines within a window. Pure.
#include "provision/sick_zones.hpp"

#include "base/text.hpp"

#include <slipway/result.hpp>

#include <algorithm>
#include <chrono>

namespace slipway::provision {
namespace {

using std::chrono::nanoseconds;
constexpr std::size_t kMachines = 3;
constexpr std::int64_t kWindowNs = nanoseconds(std::chrono::seconds(60)).count();
constexpr std::int64_t kFirstSpanNs = nanoseconds(std::chrono::seconds(60)).count();
constexpr std::int64_t kLongestSpanNs = nanoseconds(std::chrono::minutes(10)).count();

}  // namespace

std::string SickZone::state() const { return message("failing until {}", text::format_utc_ms(until_ms)); }

std::string SickZone::reason() const {
  return message("tried last: {} machines failed here since {}", machines, text::format_utc_ms(since_ms));
}

void SickZones::note_failure(std::string_view zone, const model::MachineId& machine, std::int64_t now_ns) {
  if (zone.empty()) return;
  Record& record = records_[std::string(zone)];
  record.failures[machine] = now_ns;
  std::erase_if(record.failures, [&](const auto& failure) { return now_ns - failure.second > kWindowNs; });
  if (record.failures.size() < kMachines || (record.span_ns != 0 && now_ns < record.until_ns)) return;
  record.machines = record.failures.size();
  record.since_ns = now_ns;
  for (const auto& failure : record.failures) record.since_ns = std::min(record.since_ns, failure.second);
  record.span_ns = record.span_ns == 0 ? kFirstSpanNs : std::min(record.span_ns * 2, kLongestSpanNs);
  record.until_ns = now_ns + record.span_ns;
}

void SickZones::note_success(std::string_view zone) {
  if (const auto found = records_.find(zone); found != records_.end()) records_.erase(found);
}

bool SickZones::is_sick(std::string_view zone, std::int64_t now_ns) const {
  const auto found = records_.find(zone);
  return found != records_.end() && found->second.span_ns != 0 && now_ns < found->second.until_ns;
}

std::optional<SickZone> SickZones::find(std::string_view zone, Now now) const {
  if (!is_sick(zone, now.monotonic_ns)) return std::nullopt;
  const Record& record = records_.find(zone)->second;
  const auto utc_of = [&](std::int64_t ns) { return now.utc_ms + (ns - now.monotonic_ns) / 1'000'000; };
  return SickZone{record.machines, utc_of(record.since_ns), utc_of(record.until_ns)};
}

}  // namespace slipway::provision
