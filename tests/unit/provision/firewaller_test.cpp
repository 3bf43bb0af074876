// SPDX-License-Identifier: Apache-2.0
// firewaller_test - changes of a firewall against a model of one: a set of (protocol, source, port).
#include "provision/firewaller.hpp"

#include "base/random.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace slipway::provision {
namespace {

using Ports = std::vector<PortRange>;
using Flow = std::tuple<Protocol, std::string, std::uint32_t>;

PortRange tcp(std::uint16_t from, std::uint16_t to, std::string source = "0.0.0.0/0") {
  return {Protocol::tcp, from, to, std::move(source)};
}

std::set<Flow> flows(const Ports& ports) {
  std::set<Flow> out;
  for (const PortRange& range : ports) {
    for (std::uint32_t port = range.from; port <= range.to; ++port) {
      out.emplace(range.protocol, range.source, port);
    }
  }
  return out;
}

FirewallTarget group_of(std::string machine) { return {FirewallMode::instance, std::move(machine), {}, "g"}; }
const FirewallTarget kGlobal{FirewallMode::global, "", {}, "g"};

model::Environment environment(FirewallMode mode) {
  model::Environment e;
  e.id = {1};
  e.firewall_mode = mode;
  return e;
}

void put(model::Snapshot& snapshot, std::string id, Ports ports, model::Life life = model::Life::alive,
         std::int64_t environment_id = 1) {
  model::Machine m;
  m.environment = {environment_id};
  m.id = {std::move(id)};
  m.ports = std::move(ports);
  m.life = life;
  snapshot.put<model::Machine>(std::make_shared<const model::Machine>(std::move(m)));
}

// What a firewall has after a change: opened is added, closed is removed exactly.
Ports applied(const Ports& rules, const FirewallChange& change) {
  Ports after = rules;
  after.insert(after.end(), change.open.begin(), change.open.end());
  for (const PortRange& closed : change.close) std::erase(after, closed);
  return after;
}

TEST_CASE("ranges become the fewest ones and never wider") {
  CHECK(canonical_ports(Ports{}).empty());
  CHECK(canonical_ports(Ports{tcp(81, 90), tcp(80, 80), tcp(80, 80)}) == Ports{tcp(80, 90)});
  CHECK(canonical_ports(Ports{tcp(80, 80), tcp(82, 82)}) == Ports{tcp(80, 80), tcp(82, 82)});
  CHECK(canonical_ports(Ports{tcp(1, 65535), tcp(65535, 65535)}) == Ports{tcp(1, 65535)});
  CHECK(canonical_ports(Ports{tcp(1, 9), tcp(2, 3)}) == Ports{tcp(1, 9)});
  const Ports by_source{tcp(80, 80), tcp(80, 80, "10.0.0.0/8")};
  CHECK(canonical_ports(by_source) == by_source);
  CHECK(canonical_ports(Ports{tcp(80, 80, "FD00:0::/8"), tcp(80, 80, "fd00::/8")}) ==
        Ports{tcp(80, 80, "fd00::/8")});
  CHECK(canonical_ports(Ports{tcp(0, 9), tcp(9, 8), tcp(1, 2, "group-7")}).empty());
  const Ports icmp{{Protocol::icmp, 0, 0, "0.0.0.0/0"}};
  CHECK(canonical_ports(icmp) == icmp);
}

TEST_CASE("a wanted port is opened before a rule that has too much is closed, by its observed spelling") {
  const FirewallGroupRules group{group_of("1"), true, {tcp(80, 90, "FD00::/8"), tcp(22, 22)}};
  const auto change = change_of_group(Ports{tcp(80, 85, "fd00::/8"), tcp(22, 22)}, group);
  CHECK(change.open == Ports{tcp(80, 85, "fd00::/8")});
  CHECK(change.close == Ports{tcp(80, 90, "FD00::/8")});
}

TEST_CASE("ranges that a cloud split or merged are left as they are") {
  const FirewallGroupRules split{group_of("1"), true, {tcp(80, 82), tcp(83, 85), tcp(84, 85)}};
  CHECK(change_of_group(Ports{tcp(80, 85)}, split).open.empty());
  CHECK(change_of_group(Ports{tcp(80, 85)}, split).close.empty());
  const FirewallGroupRules merged{group_of("1"), true, {tcp(80, 85)}};
  CHECK(change_of_group(Ports{tcp(80, 82), tcp(83, 85)}, merged).close.empty());
}

TEST_CASE("nothing is closed that is not ours") {
  FirewallGroupRules group{group_of("1"), false, {tcp(22, 22)}};
  CHECK(change_of_group(Ports{tcp(80, 80)}, group).open.empty());
  CHECK(change_of_group(Ports{}, group).close.empty());
  group.is_ours = true;
  group.rules = {tcp(22, 22, "sg-default"), {Protocol::unknown, 0, 0, "0.0.0.0/0"}, tcp(23, 23)};
  CHECK(change_of_group(Ports{}, group).close == Ports{tcp(23, 23)});
}

TEST_CASE("mode none changes nothing, and a group of another mode or without a machine is left alone") {
  model::Snapshot snapshot;
  put(snapshot, "1", {tcp(80, 80)});
  const std::vector<FirewallGroupRules> groups{
      {group_of("1"), true, {}}, {kGlobal, true, {tcp(9, 9)}}, {group_of("7"), true, {tcp(9, 9)}}};
  CHECK(firewall_changes(snapshot, environment(FirewallMode::none), groups).empty());
  const auto changes = firewall_changes(snapshot, environment(FirewallMode::instance), groups);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].target.machine == "1");
  CHECK(changes[0].open == Ports{tcp(80, 80)});
  CHECK(changes[0].close.empty());
}

TEST_CASE("with one group for all a port stays until the last machine closes it") {
  const auto global = environment(FirewallMode::global);
  model::Snapshot snapshot;
  put(snapshot, "1", {tcp(80, 80), tcp(443, 443)});
  put(snapshot, "2", {tcp(80, 80)});
  put(snapshot, "2/lxc/0", {tcp(81, 81)});
  put(snapshot, "3", {tcp(82, 82)}, model::Life::dead);
  put(snapshot, "1", {tcp(83, 83)}, model::Life::alive, 2);
  CHECK(wanted_ports(snapshot, global, kGlobal) == Ports{tcp(80, 80), tcp(443, 443)});

  const std::vector<FirewallGroupRules> groups{{kGlobal, true, {tcp(80, 80), tcp(443, 443)}}};
  put(snapshot, "1", {});
  auto changes = firewall_changes(snapshot, global, groups);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].close == Ports{tcp(443, 443)});
  put(snapshot, "2", {}, model::Life::dying);
  changes = firewall_changes(snapshot, global, groups);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].close == Ports{tcp(80, 80), tcp(443, 443)});
}

TEST_CASE("applied changes leave exactly the wanted ports open and nothing to do") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    const auto some_ports = [&] {
      Ports ports;
      for (auto count = random.below(8); count > 0; --count) {
        const auto from = static_cast<std::uint16_t>(1 + random.below(40));
        const auto to = static_cast<std::uint16_t>(from + random.below(12));
        const bool is_udp = random.below(3) == 0;
        ports.push_back({is_udp ? Protocol::udp : Protocol::tcp, from, to,
                         random.below(2) == 0 ? "0.0.0.0/0" : "10.0.0.0/8"});
      }
      return ports;
    };
    const Ports wanted = some_ports();
    FirewallGroupRules group{group_of("1"), true, some_ports()};
    const std::set<Flow> before = flows(group.rules);

    const Ports canonical = canonical_ports(wanted);
    CHECK(flows(canonical) == flows(wanted));
    CHECK(canonical_ports(canonical) == canonical);

    const auto change = change_of_group(wanted, group);
    for (const Flow& flow : flows(change.open)) CHECK(flows(wanted).count(flow) == 1);
    group.rules = applied(group.rules, change);
    CHECK(flows(group.rules) == flows(wanted));
    const auto next = change_of_group(wanted, group);
    CHECK(next.open.empty());
    CHECK(next.close.empty());
    if (before == flows(wanted) && change.close.empty()) CHECK(change.open.empty());
  }
}

}  // namespace
}  // namespace slipway::provision
