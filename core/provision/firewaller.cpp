// SPDX-License-Identifier: Apache-2.0
#include "provision/firewaller.hpp"

#include "model/address.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace slipway::provision {
namespace {

// With its source in the canonical spelling; nothing if Slipway makes no such rule.
std::optional<PortRange> normalized(const PortRange& ports) {
  if (!model::validate(ports)) return std::nullopt;
  PortRange copy = ports;
  copy.source = model::Cidr::parse(ports.source).value().text();
  return copy;
}

bool is_one_flow(const PortRange& a, const PortRange& b) {
  return a.protocol == b.protocol && a.source == b.source;
}

// `covering` is canonical, so that no two ranges share what one alone does not have.
bool is_within(const PortRange& ports, std::span<const PortRange> covering) {
  return std::any_of(covering.begin(), covering.end(), [&](const PortRange& range) {
    return is_one_flow(ports, range) && range.from <= ports.from && ports.to <= range.to;
  });
}

// The ports of `wanted` that no range of `open` has; both canonical.
std::vector<PortRange> missing_ports(std::span<const PortRange> wanted, std::span<const PortRange> open) {
  std::vector<PortRange> missing;
  for (const PortRange& range : wanted) {
    std::uint32_t next = range.from;  // wider than a port: one past the last one
    const auto add_until = [&](std::uint32_t end) {
      if (next >= end) return;
      PortRange gap = range;
      gap.from = static_cast<std::uint16_t>(next);
      gap.to = static_cast<std::uint16_t>(end - 1);
      missing.push_back(std::move(gap));
    };
    for (const PortRange& there : open) {
      if (!is_one_flow(range, there) || there.to < range.from || there.from > range.to) continue;
      add_until(there.from);
      next = std::max<std::uint32_t>(next, there.to + 1U);
    }
    add_until(range.to + 1U);
  }
  return missing;
}

bool has_ports(const model::Machine& machine) {
  return machine.life != model::Life::dead && !machine.id.is_container();
}

}  // namespace

std::vector<PortRange> canonical_ports(std::span<const PortRange> ports) {
  std::vector<PortRange> sorted;
  for (const PortRange& range : ports) {
    if (auto known = normalized(range)) sorted.push_back(*std::move(known));
  }
  std::sort(sorted.begin(), sorted.end(), [](const PortRange& a, const PortRange& b) {
    return std::tie(a.protocol, a.source, a.from, a.to) < std::tie(b.protocol, b.source, b.from, b.to);
  });
  std::vector<PortRange> merged;
  for (PortRange& range : sorted) {
    if (!merged.empty() && is_one_flow(merged.back(), range) && range.from <= merged.back().to + 1U) {
      merged.back().to = std::max(merged.back().to, range.to);
    } else {
      merged.push_back(std::move(range));
    }
  }
  return merged;
}

std::vector<PortRange> wanted_ports(const model::Snapshot& snapshot, const model::Environment& environment,
                                    const FirewallTarget& target) {
  std::vector<PortRange> ports;
  const auto add = [&](const model::Machine& machine) {
    if (has_ports(machine)) ports.insert(ports.end(), machine.ports.begin(), machine.ports.end());
  };
  switch (target.mode) {
    case FirewallMode::instance:
      if (const auto machine =
              snapshot.find<model::Machine>({environment.id, model::MachineId{target.machine}})) {
        add(*machine);
      }
      break;
    case FirewallMode::global:
      snapshot.for_each_in<model::Machine>(
          environment.id, [&](const model::RowPtr<model::Machine>& machine) { add(*machine); });
      break;
    case FirewallMode::none:
      break;
  }
  return canonical_ports(ports);
}

FirewallChange change_of_group(std::span<const PortRange> wanted, const FirewallGroupRules& group) {
  FirewallChange change{group.target, {}, {}};
  if (!group.is_ours || group.target.mode == FirewallMode::none) return change;
  const std::vector<PortRange> needed = canonical_ports(wanted);
  std::vector<PortRange> kept;
  for (const PortRange& rule : group.rules) {
    auto known = normalized(rule);
    if (!known) continue;
    if (is_within(*known, needed)) {
      kept.push_back(*std::move(known));
    } else {
      change.close.push_back(rule);
    }
  }
  change.open = missing_ports(needed, canonical_ports(kept));
  std::sort(change.close.begin(), change.close.end());
  change.close.erase(std::unique(change.close.begin(), change.close.end()), change.close.end());
  return change;
}

std::vector<FirewallChange> firewall_changes(const model::Snapshot& snapshot,
                                             const model::Environment& environment,
                                             std::span<const FirewallGroupRules> groups) {
  std::vector<FirewallChange> changes;
  if (environment.firewall_mode == FirewallMode::none) return changes;
  for (const FirewallGroupRules& group : groups) {
    if (group.target.mode != environment.firewall_mode) continue;
    const bool is_of_machine = group.target.mode == FirewallMode::instance;
    if (is_of_machine &&
        !snapshot.find<model::Machine>({environment.id, model::MachineId{group.target.machine}})) {
      continue;
    }
    auto change = change_of_group(wanted_ports(snapshot, environment, group.target), group);
    if (!change.open.empty() || !change.close.empty()) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace slipway::provision
