// SPDX-License-Identifier: Apache-2.0
// zones.cpp - which zones are out and why, and the order of the others. Pure.
#include "provision/zones.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace slipway::provision {
namespace {

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Each zone once. Of two entries with one name the one that is not available counts, in whatever order.
std::map<std::string_view, const Zone*> by_name(std::span<const Zone> zones) {
  std::map<std::string_view, const Zone*> out;
  for (const Zone& zone : zones) {
    const Zone*& known = out.try_emplace(zone.name, &zone).first->second;
    if (std::tie(zone.available, zone.message) < std::tie(known->available, known->message)) known = &zone;
  }
  return out;
}

// "excluded by placement zone=b, its volumes"; nothing if the machine may be there.
std::string exclusion(std::string_view zone, std::span<const ZoneRestriction> restrictions) {
  std::string by;
  for (const ZoneRestriction& restriction : restrictions) {
    if (restriction.zones.empty() || contains(restriction.zones, zone)) continue;
    by.append(by.empty() ? "excluded by " : ", ").append(restriction.by);
  }
  return by;
}

ZoneCandidate candidate_of(const Zone& zone, const ZoneQuestion& question) {
  const auto known = question.populations.find(zone.name);
  ZoneCandidate out;
  out.zone = zone.name;
  if (known != question.populations.end()) out.machines = known->second;
  if (std::string by = exclusion(zone.name, question.restrictions); !by.empty()) {
    out.verdict = ZoneVerdict::excluded;
    out.reason = std::move(by);
  } else if (!zone.available) {
    out.verdict = ZoneVerdict::unavailable;
    out.reason = zone.message.empty() ? "not available" : message("not available: {}", zone.message);
  } else if (question.tries.has_failed(zone.name)) {
    out.verdict = ZoneVerdict::failed;
    out.reason = "this machine failed here; tried again when all others have failed too";
  } else if (const auto sick = question.sick.find(zone.name, question.now)) {
    out.reason = sick->reason();
  }
  return out;
}

// Those that are possible in the order of trial, behind them the others by name.
std::vector<ZoneCandidate> ordered_candidates(const ZoneQuestion& question) {
  std::vector<ZoneCandidate> well, sick, out;
  std::vector<std::string> possible;
  std::map<std::string, ZoneCandidate, std::less<>> waiting;
  for (const auto& [name, zone] : by_name(question.zones)) {
    ZoneCandidate candidate = candidate_of(*zone, question);
    if (candidate.verdict != ZoneVerdict::possible) {
      out.push_back(std::move(candidate));
      continue;
    }
    possible.push_back(candidate.zone);
    waiting.emplace(candidate.zone, std::move(candidate));
  }
  for (const model::ZonePopulation& next : model::by_population(possible, question.populations)) {
    auto& place = question.sick.is_sick(next.zone, question.now.monotonic_ns) ? sick : well;
    place.push_back(std::move(waiting.at(next.zone)));
  }
  well.insert(well.end(), std::make_move_iterator(sick.begin()), std::make_move_iterator(sick.end()));
  well.insert(well.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
  return well;
}

// Why the first one is the first. What is behind a sick one is not compared with it.
void explain_first(std::vector<ZoneCandidate>& candidates) {
  ZoneCandidate& first = candidates.front();
  first.verdict = ZoneVerdict::chosen;
  const bool has_second = candidates.size() > 1 && candidates[1].verdict == ZoneVerdict::possible;
  std::string why = "fewest machines";
  if (!has_second) {
    why = "the only one that is left";
  } else if (first.reason.empty() && !candidates[1].reason.empty()) {
    why = "the only one that is not failing";
  } else if (first.machines == candidates[1].machines) {
    why = "fewest machines, first by name";
  }
  first.reason = first.reason.empty() ? why : message("{}; {}", why, first.reason);
}

}  // namespace

Result<bool> ZoneTries::note_failure(std::string_view zone, std::span<const std::string> possible) {
  if (zone.empty()) return fail(Code::invalid, "no zone provided");
  failed_.emplace(zone);
  return !forget_if_none_left(possible);
}

bool ZoneTries::forget_if_none_left(std::span<const std::string> possible) {
  const auto is_left = [&](const std::string& zone) { return !has_failed(zone); };
  if (failed_.empty() || std::any_of(possible.begin(), possible.end(), is_left)) return false;
  failed_.clear();
  return true;
}

std::vector<ZoneRestriction> zone_restrictions(const Constraints& constraints, const Placement& placement) {
  std::vector<ZoneRestriction> out;
  if (constraints.zones && !constraints.zones->empty()) {
    out.push_back({"constraint zones=" + text::join(*constraints.zones, ","), *constraints.zones});
  }
  if (placement.kind == PlacementKind::zone) {
    out.push_back({"placement zone=" + placement.target, {placement.target}});
  }
  return out;
}

Result<ZoneChoice> choose_zone(const ZoneQuestion& question) {
  if (question.zones.empty()) return ZoneChoice{};
  ZoneChoice choice;
  choice.candidates = ordered_candidates(question);
  if (choice.candidates.front().verdict == ZoneVerdict::possible) {
    explain_first(choice.candidates);
    choice.zone = choice.candidates.front().zone;
    return choice;
  }
  std::string reasons;
  for (const ZoneCandidate& candidate : choice.candidates) {
    reasons.append(reasons.empty() ? "" : "; ").append(candidate.zone).append(" ").append(candidate.reason);
  }
  return fail(Code::not_found,
              "suitable availability zone for machine {} not found: {}; change its zones= or placement, or "
              "wait "
              "until a zone is available",
              question.machine, reasons)
      .rejected();
}

std::vector<std::string> possible_zones(std::span<const Zone> zones,
                                        std::span<const ZoneRestriction> restrictions) {
  std::vector<std::string> out;
  for (const auto& [name, zone] : by_name(zones)) {
    if (zone->available && exclusion(name, restrictions).empty()) out.emplace_back(name);
  }
  return out;
}

bool add_machine(model::ZonePopulations& populations, std::span<const Zone> zones, std::string_view zone) {
  const bool is_known =
      !zone.empty() && std::any_of(zones.begin(), zones.end(), [&](const Zone& z) { return z.name == zone; });
  if (is_known) ++populations[std::string(zone)];
  return is_known;
}

}  // namespace slipway::provision
