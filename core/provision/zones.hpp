// SPDX-License-Identifier: Apache-2.0
// zones.hpp - in which zone a machine starts: the one with the fewest machines, ties by name, of those in
// which it may be and has not failed; zones that fail for everybody come last. All with reasons, because the
// choice is stored and shown. Pure.
#pragma once

#include "model/ids.hpp"
#include "model/spread.hpp"
#include "provision/sick_zones.hpp"

#include <slipway/vocabulary.hpp>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::provision {

// The zones in which one machine failed since all of them were last possible for it (rows T54, T58, T59).
// Value.
class ZoneTries {
 public:
  // The machine failed in `zone`; `possible` are the zones in which it may be at all (possible_zones). True
  // if one of them is left in which it has not failed. If none is, all failures are forgotten, and it is for
  // the caller to use up a try. invalid: "no zone provided".
  [[nodiscard]] Result<bool> note_failure(std::string_view zone, std::span<const std::string> possible);
  // For possible zones that changed since: forgets the failures if they leave none of them. True if so.
  bool forget_if_none_left(std::span<const std::string> possible);

  [[nodiscard]] bool has_failed(std::string_view zone) const { return failed_.contains(zone); }
  [[nodiscard]] bool is_empty() const { return failed_.empty(); }
  void clear() { failed_.clear(); }

  bool operator==(const ZoneTries&) const = default;

 private:
  std::set<std::string, std::less<>> failed_;
};

// One thing that says where a machine may be: only in these zones. Empty: anywhere (row T56).
struct ZoneRestriction {
  std::string by;  // for people: "constraint zones=a,b", "placement zone=b", "its volumes", "its subnets"
  std::vector<std::string> zones;

  bool operator==(const ZoneRestriction&) const = default;
};

// What constraints and placement say by themselves. Append what was derived by the plugin (zones.derive) and
// the zones of volumes, subnets and types.
[[nodiscard]] std::vector<ZoneRestriction> zone_restrictions(const Constraints& constraints,
                                                             const Placement& placement);

// What the choice is made from; all borrowed for the call.
struct ZoneQuestion {
  model::MachineId machine;
  std::span<const Zone> zones;  // of the cloud; empty: it has none. A name that comes twice counts once
  const model::ZonePopulations& populations;  // of its group, or of all (model/spread.hpp)
  std::span<const ZoneRestriction> restrictions;
  const ZoneTries& tries;
  const SickZones& sick;
  Now now;
};

enum class ZoneVerdict { chosen, possible, failed, excluded, unavailable };
BOOST_DESCRIBE_ENUM(ZoneVerdict, chosen, possible, failed, excluded, unavailable)

struct ZoneCandidate {
  std::string zone;
  std::uint64_t machines = 0;
  ZoneVerdict verdict = ZoneVerdict::possible;
  std::string reason;

  bool operator==(const ZoneCandidate&) const = default;
};
BOOST_DESCRIBE_STRUCT(ZoneCandidate, (), (zone, machines, verdict, reason))

struct ZoneChoice {
  std::string zone;                       // empty: the cloud has no zones (row T48)
  std::vector<ZoneCandidate> candidates;  // each zone once: in the order of trial, then those that are out
  std::uint64_t more_candidates = 0;      // that were cut to store it (choice.hpp)

  bool operator==(const ZoneChoice&) const = default;
};
BOOST_DESCRIBE_STRUCT(ZoneChoice, (), (zone, candidates, more_candidates))

// not_found: "suitable availability zone for machine 3 not found: …" with the reason of every zone and what
// to do (row T55).
[[nodiscard]] Result<ZoneChoice> choose_zone(const ZoneQuestion& question);

// The names of the zones that are available and that no restriction excludes, sorted, each once; whether the
// machine failed there does not matter. For ZoneTries.
[[nodiscard]] std::vector<std::string> possible_zones(std::span<const Zone> zones,
                                                      std::span<const ZoneRestriction> restrictions);

// A machine that was just given its zone counts there at once, so that starts of one pass spread (row T53).
// True if it does now; an empty or unknown zone changes nothing (row T96).
bool add_machine(model::ZonePopulations& populations, std::span<const Zone> zones, std::string_view zone);

}  // namespace slipway::provision
