// SPDX-License-Identifier: Apache-2.0
#include "model/spread.hpp"

#include <algorithm>
#include <tuple>

namespace slipway::model {
namespace {

template <class Wanted>
ZonePopulations count(const Snapshot& snapshot, EnvironmentId environment, Wanted is_wanted) {
  ZonePopulations populations;
  snapshot.for_each_in<Machine>(environment, [&](const RowPtr<Machine>& machine) {
    if (!is_wanted(*machine)) return;
    if (auto zone = occupied_zone(snapshot, *machine)) ++populations[*std::move(zone)];
  });
  return populations;
}

bool is_in_group(const Machine& machine) {
  return !machine.group.empty() || machine.role == MachineRole::controller;
}

}  // namespace

bool are_spread_together(const Machine& a, const Machine& b) {
  if (a.environment != b.environment) return false;
  const bool are_controllers = a.role == MachineRole::controller && b.role == MachineRole::controller;
  return are_controllers || (!a.group.empty() && a.group == b.group);
}

std::optional<std::string> occupied_zone(const Snapshot& snapshot, const Machine& machine) {
  if (machine.id.is_container()) return std::nullopt;
  std::string zone = machine.instance_id.empty() ? std::string() : machine.zone;
  if (zone.empty()) {
    const auto attempt = snapshot.find_by<Attempt, Attempt::Active>(
        {machine.environment, machine.id, ResourceKind::server, 0});
    if (attempt) zone = attempt->zone;
  }
  return zone.empty() ? std::nullopt : std::optional(std::move(zone));
}

ZonePopulations zone_populations(const Snapshot& snapshot, EnvironmentId environment) {
  return count(snapshot, environment, [](const Machine&) { return true; });
}

ZonePopulations zone_populations(const Snapshot& snapshot, const Machine& machine) {
  return count(snapshot, machine.environment, [&](const Machine& other) {
    return other.id != machine.id && (!is_in_group(machine) || are_spread_together(machine, other));
  });
}

std::vector<ZonePopulation> by_population(std::span<const std::string> zones,
                                          const ZonePopulations& populations) {
  std::vector<ZonePopulation> ordered;
  for (const std::string& zone : zones) {
    const auto known = populations.find(zone);
    ordered.push_back({zone, known == populations.end() ? 0 : known->second});
  }
  std::sort(ordered.begin(), ordered.end(), [](const ZonePopulation& a, const ZonePopulation& b) {
    return std::tie(a.machines, a.zone) < std::tie(b.machines, b.zone);
  });
  return ordered;
}

std::vector<std::string> spread_instances(const Snapshot& snapshot, const Machine& machine) {
  std::vector<std::string> instances;
  snapshot.for_each_in<Machine>(machine.environment, [&](const RowPtr<Machine>& other) {
    if (!other->instance_id.empty() && are_spread_together(machine, *other))
      instances.push_back(other->instance_id);
  });
  std::sort(instances.begin(), instances.end());
  return instances;  // each once: Machine::ByInstance is unique
}

}  // namespace slipway::model
