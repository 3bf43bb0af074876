// SPDX-License-Identifier: Apache-2.0
// types.hpp - which instance type a machine gets: the smallest that has what its constraints and its image
// need, or the one that is asked for by name. All with reasons. Pure.
#pragma once

#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::provision {

// What a type must have.
struct TypeNeed {
  Constraints constraints;              // merged with the environment's
  Arch image_arch = Arch::unknown;      // unknown: fits all
  std::uint64_t image_min_mem_mib = 0;  // images.resolve's minima; 0: none
  std::uint64_t image_min_disk_mib = 0;
  std::string zone = {};  // empty: in any
};

struct TypeCandidate {
  std::string name;
  bool fits = false;
  std::string reason;

  bool operator==(const TypeCandidate&) const = default;
};
BOOST_DESCRIBE_STRUCT(TypeCandidate, (), (name, fits, reason))

struct TypeChoice {
  std::string id;                         // for StartRequest::type; empty: the cloud has no types
  std::string name;                       // for people
  Hardware hardware;                      // what the type has; without types: what to ask for
  std::string reason;                     // "smallest of 2 that fit, of 6"
  std::vector<TypeCandidate> candidates;  // those that fit, smallest first, then the others, closest first
  std::uint64_t more_candidates = 0;      // that were cut to store it (choice.hpp)

  bool operator==(const TypeChoice&) const = default;
};
BOOST_DESCRIBE_STRUCT(TypeChoice, (), (id, name, hardware, reason, candidates, more_candidates))

// What a machine gets on a cloud without types, where neither constraints nor image say more.
inline constexpr std::uint32_t kDefaultCores = 1;
inline constexpr std::uint64_t kDefaultMemMib = 1024;
inline constexpr std::uint64_t kDefaultRootDiskMib = 8192;

// The smallest type is the one with the lowest cost, if every type that fits has a cost; then with the fewest
// cores, the least memory, the least disk, the first name, the first id. What is not known counts as most. A
// deprecated type is taken only by name. What of the hardware is not known does not meet a constraint, but it
// does meet an image's minimum: that is only a check against what is known to be too small.
//
// not_found, scope zone if only the zone is in the way of some type: nothing fits, with what each constraint
// removes, the ten closest types, and what to do. invalid: instance-type= names a type that is not there
// (with those near to it), or that does not fit.
[[nodiscard]] Result<TypeChoice> choose_type(std::span<const InstanceType> types, const TypeNeed& need);

// The zones in which a type fits, sorted: a restriction for the choice of a zone. Empty: some type that fits
// is in all zones, or none fits anywhere (then choose_type says so). Does not look at need.zone.
[[nodiscard]] std::vector<std::string> zones_with_fitting_type(std::span<const InstanceType> types,
                                                               const TypeNeed& need);

}  // namespace slipway::provision
