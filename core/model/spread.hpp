// SPDX-License-Identifier: Apache-2.0
// spread.hpp - how many machines each zone has, and which zones come first by that: the arithmetic of
// spreading, from state alone, so that it is the same after a restart. What excludes a zone is for whoever
// decides. Pure.
#pragma once

#include "model/ids.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::model {

// Whether the two are kept apart: both in one spread group of one environment, or both controllers of it.
[[nodiscard]] bool are_spread_together(const Machine& a, const Machine& b);

// The zone that a machine takes part of: its instance's, else the one in which its server is being made or
// may yet turn up (an active attempt), so that starts that run at once spread. Nothing: none yet, or its
// cloud has no zones. A machine inside another one takes no place of its own.
[[nodiscard]] std::optional<std::string> occupied_zone(const Snapshot& snapshot, const Machine& machine);

// By zone name; zones without machines are absent.
using ZonePopulations = std::map<std::string, std::size_t, std::less<>>;
// Of all machines of an environment. Takes time with its machines; who starts many keeps the result and adds
// to it.
[[nodiscard]] ZonePopulations zone_populations(const Snapshot& snapshot, EnvironmentId environment);
// Of the machines with which this one is spread; of all if it is in no group. The machine itself is not
// counted: its own last try must not push it away.
[[nodiscard]] ZonePopulations zone_populations(const Snapshot& snapshot, const Machine& machine);

struct ZonePopulation {
  std::string zone;
  std::size_t machines = 0;

  bool operator==(const ZonePopulation&) const = default;
};
// The zones in the order in which they are tried: fewest machines first, ties by name.
[[nodiscard]] std::vector<ZonePopulation> by_population(std::span<const std::string> zones,
                                                        const ZonePopulations& populations);

// The ids of the instances with which the machine's own is to be spread, sorted, each once, its own among
// them: what a plugin gets that can keep instances on different hosts. Empty without a group.
[[nodiscard]] std::vector<std::string> spread_instances(const Snapshot& snapshot, const Machine& machine);

}  // namespace slipway::model
