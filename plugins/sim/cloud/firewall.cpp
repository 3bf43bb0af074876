// SPDX-License-Identifier: Apache-2.0
// firewall.cpp - World: groups of firewall rules.
#include "sim/cloud/world.hpp"

#include <algorithm>

namespace slipway::sim {

// The one that the target names by id; else the only one that was ensured for the same mode and machine.
Result<World::Group*> World::group_of(const FirewallTarget& target) {
  if (!target.group_id.empty()) {
    if (Group* group = groups_.find(target.group_id)) return group;
    return fail(Code::not_found, "there is no group {}", target.group_id).rejected();
  }
  std::vector<Group*> fitting;
  groups_.for_each([&](Group& group) {
    if (group.target.mode == target.mode && group.target.machine == target.machine) fitting.push_back(&group);
  });
  if (fitting.size() == 1) return fitting.front();
  const char* mode = boost::describe::enum_to_string(target.mode, "?");
  if (fitting.empty()) {
    return fail(Code::not_found, "there is no group with mode {} for machine '{}'", mode, target.machine)
        .rejected();
  }
  return fail(Code::conflict, "{} groups fit mode {} and machine '{}'; give group_id", fitting.size(), mode,
              target.machine)
      .rejected();
}

Result<FirewallEnsureReply> World::apply(const FirewallEnsureRequest& request) {
  const Group* there = nullptr;
  groups_.for_each([&](const Group& group) {
    if (group.name == request.name && group.marker == request.marker) there = &group;
  });
  if (there != nullptr) return FirewallEnsureReply{*there};
  SLIPWAY_TRY(check_quota("firewall_groups", 1));
  Group group;
  group.target = request.target;
  group.parent = request.target.instance_id.value_or("");
  group.state = State::running;
  return FirewallEnsureReply{groups_.add(std::move(group), request, now_ms_)};
}

// A group that a server or a port is in stays, and says so.
Result<FirewallRemoveReply> World::apply(const FirewallRemoveRequest& request) {
  FirewallRemoveReply out;
  for (const std::string& id : request.ids) {
    std::string user;
    const auto look = [&](const auto& item) {
      const auto& groups = item.firewall_groups;
      if (std::find(groups.begin(), groups.end(), id) != groups.end()) user = item.id;
    };
    servers_.for_each(look);
    ports_.for_each(look);
    out.results.push_back({id, {}});
    if (user.empty()) {
      groups_.remove(id, now_ms_);
    } else {
      out.results.back().error = fail(Code::conflict, "group {} is in use by {}", id, user).rejected();
    }
  }
  return out;
}

Result<FirewallListReply> World::apply(const FirewallListRequest& request) {
  return groups_.list<FirewallListReply>(request, visible_ms(), script_.max_page);
}

Result<Unit> World::apply(const FirewallOpenRequest& request) {
  SLIPWAY_TRY(Group * group, group_of(request.target));
  for (const PortRange& ports : request.ports) {
    if (ports.protocol == Protocol::unknown || ports.from > ports.to) {
      return fail(Code::invalid, "ports: not a protocol with a range: {} to {}", ports.from, ports.to)
          .rejected();
    }
  }
  for (const PortRange& ports : request.ports) {
    if (std::find(group->rules.begin(), group->rules.end(), ports) == group->rules.end()) {
      group->rules.push_back(ports);
    }
  }
  return Unit{};
}

Result<Unit> World::apply(const FirewallCloseRequest& request) {
  SLIPWAY_TRY(Group * group, group_of(request.target));
  for (const PortRange& ports : request.ports) std::erase(group->rules, ports);
  return Unit{};
}

Result<FirewallRulesReply> World::apply(const FirewallRulesRequest& request) {
  SLIPWAY_TRY(const Group* group, group_of(request.target));
  return FirewallRulesReply{group->rules};
}

}  // namespace slipway::sim
