// SPDX-License-Identifier: Apache-2.0
// start_contents_test - what a start is told of tags, volumes, subnets and spread groups.
#include "provision/start_contents.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace slipway::provision {
namespace {

constexpr model::EnvironmentId kProd{1};

template <class Row>
void put(model::Snapshot& snapshot, Row row) {
  snapshot.put<Row>(std::make_shared<const Row>(std::move(row)));
}

model::Machine machine(std::string id, std::string group = "", std::string instance = "") {
  model::Machine m;
  m.environment = kProd;
  m.id = {std::move(id)};
  m.group = std::move(group);
  m.instance_id = std::move(instance);
  return m;
}

model::Subnet subnet(std::string cidr, std::string space, std::string id, std::vector<std::string> zones) {
  model::Subnet s;
  s.environment = kProd;
  s.cidr = std::move(cidr);
  s.space = std::move(space);
  s.provider_id = std::move(id);
  s.zones = std::move(zones);
  return s;
}

void put_volume(model::Snapshot& snapshot, std::string id, std::string pool, std::string provider_id = "",
                InstanceState attached = InstanceState::unknown, bool is_read_only = false) {
  model::Volume v;
  v.environment = kProd;
  v.id = id;
  v.pool = std::move(pool);
  v.size_mib = 1024;
  v.provider_id = std::move(provider_id);
  put(snapshot, v);
  model::Attachment a;
  a.environment = kProd;
  a.volume = std::move(id);
  a.machine = {"1"};
  a.is_read_only = is_read_only;
  a.state = attached;
  put(snapshot, a);
}

model::Environment environment() {
  model::Environment e;
  e.id = kProd;
  return e;
}

StartChoice choice() {
  StartChoice c;
  c.type.id = "m1.small";
  c.type.hardware.cores = 2;
  c.zone = "az1";
  c.image = "image-1";
  c.marker = {{"slipway-nonce", "n"}};
  c.storage = {{"loop", false}, {"cinder", true}};
  return c;
}

Constraints spaces(std::vector<std::string> include, std::vector<std::string> exclude = {}) {
  Constraints c;
  c.spaces = Selection{std::move(include), std::move(exclude)};
  return c;
}

TEST_CASE("a start has everything that is known of its machine", "[A30]") {
  model::Snapshot snapshot;
  put(snapshot, model::Space{kProd, "db", "", {}});
  put(snapshot, subnet("10.0.1.0/24", "db", "subnet-1", {"az1"}));
  put(snapshot, subnet("10.0.2.0/24", "db", "subnet-2", {"az2"}));
  put_volume(snapshot, "0", "loop");
  auto prod = environment();
  prod.constraints.mem_mib = 2048;
  prod.constraints.cores = 1;
  auto m = machine("1", "web");
  m.labels = {{"team", "red"}};
  m.constraints = spaces({"db"});
  m.constraints.cores = 2;
  m.constraints.root_disk_mib = 8192;
  put(snapshot, m);
  put(snapshot, machine("2", "web", "i-2"));

  const auto contents = start_contents(snapshot, prod, m, choice());
  REQUIRE(contents);
  const StartRequest& request = contents->request;
  CHECK(request.machine == "1");
  CHECK(request.type == "m1.small");
  CHECK(request.image == "image-1");
  CHECK(request.zone == "az1");
  CHECK(request.constraints.cores == 2U);
  CHECK(request.constraints.mem_mib == 2048U);
  CHECK(request.hardware.cores == 2U);
  CHECK(request.hardware.mem_mib == 2048U);
  CHECK(request.root_disk_mib == 8192U);
  CHECK(request.marker == Marker{{"slipway-nonce", "n"}, {"slipway-groups", "web"}, {"team", "red"}});
  CHECK(request.subnets == std::vector<std::string>{"subnet-1"});
  CHECK(contents->subnets_to_zones == SubnetZones{{"subnet-1", {"az1"}}, {"subnet-2", {"az2"}}});
  REQUIRE(request.volumes.size() == 1);
  CHECK(contents->spread_instances == std::vector<std::string>{"i-2"});
  CHECK(contents->warnings.empty());
  CHECK(request.nonce.empty());
}

TEST_CASE("the spread groups of a machine and its containers go out sorted; without any there is no tag",
          "[A32]") {
  model::Snapshot snapshot;
  put(snapshot, machine("1", "web"));
  put(snapshot, machine("1/lxc/0", "db"));
  put(snapshot, machine("1/lxc/1", "web"));
  put(snapshot, machine("10", "other"));
  put(snapshot, machine("2"));
  CHECK(start_contents(snapshot, environment(), machine("1", "web"), choice())
            ->request.marker.at("slipway-groups") == "db web");
  CHECK(start_contents(snapshot, environment(), machine("2"), choice())
            ->request.marker.count("slipway-groups") == 0);

  // Machine 10 is the environment's last, so that the next row is the other environment's.
  auto elsewhere = machine("10/lxc/0", "theirs");
  elsewhere.environment = {kProd.value + 1};
  put(snapshot, elsewhere);
  CHECK(start_contents(snapshot, environment(), machine("10", "other"), choice())
            ->request.marker.at("slipway-groups") == "other");
}

TEST_CASE("labels never displace the marker, and what the cloud has no room for is said", "[A32]") {
  model::Snapshot snapshot;
  auto m = machine("1");
  m.labels = {{"a", "1"}, {"b", std::string(256, 'x')}, {"c", "3"}, {"slipway-nonce", "forged"}};
  auto c = choice();
  c.form.max_entries = 2;
  const auto contents = start_contents(snapshot, environment(), m, c);
  REQUIRE(contents);
  CHECK(contents->request.marker == Marker{{"slipway-nonce", "n"}, {"a", "1"}});
  CHECK(contents->warnings.size() == 3);
  c.form.max_entries = 8;
  c.form.place = MarkerPlace::name;
  CHECK(start_contents(snapshot, environment(), m, c)->request.marker == c.marker);
  c.form.place = MarkerPlace::labels;
  CHECK(start_contents(snapshot, environment(), m, c)->request.marker ==
        Marker{{"slipway-nonce", "n"}, {"a", "1"}, {"c", "3"}});
}

TEST_CASE("a machine without volumes starts without any, also where no storage is known", "[A33]") {
  auto c = choice();
  c.storage.clear();
  const auto contents = start_contents({}, environment(), machine("1"), c);
  REQUIRE(contents);
  CHECK(contents->request.volumes.empty());
  CHECK(contents->attachments.empty());
}

TEST_CASE("static volumes come with the instance, dynamic ones are the storage worker's", "[A34][A36][T89]") {
  model::Snapshot snapshot;
  put(snapshot, model::Pool{kProd, "fast", "loop", {{"kind", "ssd"}}, {}});
  put_volume(snapshot, "0", "fast", "", InstanceState::unknown, true);
  put_volume(snapshot, "1", "cinder");
  const auto contents = start_contents(snapshot, environment(), machine("1"), choice());
  REQUIRE(contents);
  REQUIRE(contents->request.volumes.size() == 1);
  const VolumeParameters& volume = contents->request.volumes[0];
  CHECK(volume.tag == "0");
  CHECK(volume.size_mib == 1024);
  CHECK(volume.attributes == std::map<std::string, std::string>{{"kind", "ssd"}});
  CHECK(volume.read_only);
}

TEST_CASE("volumes that exist go out as attachments with their ids and without an instance", "[T89]") {
  model::Snapshot snapshot;
  put_volume(snapshot, "0", "cinder", "vol-9", InstanceState::unknown, true);
  const auto contents = start_contents(snapshot, environment(), machine("1"), choice());
  REQUIRE(contents);
  CHECK(contents->request.volumes.empty());
  REQUIRE(contents->attachments.size() == 1);
  CHECK(contents->attachments[0].volume_id == "vol-9");
  CHECK(contents->attachments[0].instance_id.empty());
  CHECK(contents->attachments[0].read_only);
}

TEST_CASE("a volume that is attached already is an error", "[A35]") {
  model::Snapshot snapshot;
  const std::string id = GENERATE("", "vol-9");
  put_volume(snapshot, "7", "loop", id, InstanceState::running);
  const auto contents = start_contents(snapshot, environment(), machine("1"), choice());
  REQUIRE(!contents);
  CHECK(contents.error().message == "volume 7 already attached to machine 1");
}

TEST_CASE("errors of a volume, its pool and its provider name the volume", "[A37]") {
  model::Snapshot snapshot;
  SECTION("no such volume") {
    model::Attachment a;
    a.environment = kProd;
    a.volume = "7";
    a.machine = {"1"};
    put(snapshot, a);
  }
  SECTION("no such pool") { put_volume(snapshot, "7", "nowhere"); }
  SECTION("no such provider") {
    put(snapshot, model::Pool{kProd, "old", "removed", {}, {}});
    put_volume(snapshot, "7", "old");
  }
  const auto contents = start_contents(snapshot, environment(), machine("1"), choice());
  REQUIRE(!contents);
  CHECK(contents.error().code == Code::not_found);
  CHECK_THAT(contents.error().message, Catch::StartsWith("volume 7: "));
}

TEST_CASE("a pool's name may be a provider's, which then has no attributes; a pool of that name wins",
          "[A38]") {
  model::Snapshot snapshot;
  put_volume(snapshot, "0", "loop");
  CHECK(start_contents(snapshot, environment(), machine("1"), choice())
            ->request.volumes.at(0)
            .attributes.empty());
  put(snapshot, model::Pool{kProd, "loop", "loop", {{"a", "b"}}, {}});
  CHECK(start_contents(snapshot, environment(), machine("1"), choice())
            ->request.volumes.at(0)
            .attributes.size() == 1);
}

TEST_CASE("without a positive space any subnet will do", "[A39]") {
  model::Snapshot snapshot;
  put(snapshot, subnet("10.0.1.0/24", "db", "subnet-1", {"az1"}));
  CHECK(match_subnets(snapshot, machine("1"), {})->zones.empty());
  CHECK(match_subnets(snapshot, machine("1"), spaces({}, {"db"}))->zones.empty());
}

// The original takes the first space only and ignores the rest; ours takes the union, because a machine that
// asks for two spaces is as good in a subnet of either.
TEST_CASE("several positive spaces give the subnets of all of them", "[A40][A42]") {
  model::Snapshot snapshot;
  put(snapshot, model::Space{kProd, "db", "", {}});
  put(snapshot, model::Space{kProd, "web", "", {}});
  put(snapshot, subnet("10.0.1.0/24", "db", "subnet-1", {"az1"}));
  put(snapshot, subnet("10.0.2.0/24", "web", "subnet-2", {"az2"}));
  put(snapshot, subnet("10.0.3.0/24", "other", "subnet-3", {"az1"}));
  CHECK(match_subnets(snapshot, machine("1"), spaces({"db", "web"}))->zones ==
        SubnetZones{{"subnet-1", {"az1"}}, {"subnet-2", {"az2"}}});
}

// The original also skips a subnet without a zone. Here no zones means all of them (subnets.list/1): clouds
// whose networks have no zones could not use spaces otherwise.
TEST_CASE("a subnet without a provider id is skipped with a warning, one without zones is in all", "[A41]") {
  model::Snapshot snapshot;
  put(snapshot, model::Space{kProd, "db", "", {}});
  put(snapshot, subnet("10.0.1.0/24", "db", "", {"az1"}));
  const auto nothing = match_subnets(snapshot, machine("1"), spaces({"db"}));
  REQUIRE(!nothing);
  CHECK_THAT(nothing.error().message, Catch::StartsWith("cannot match subnets to zones: "));
  put(snapshot, subnet("10.0.2.0/24", "db", "subnet-2", {}));
  const auto matched = match_subnets(snapshot, machine("1"), spaces({"db"}));
  REQUIRE(matched);
  CHECK(matched->zones == SubnetZones{{"subnet-2", {}}});
  REQUIRE(matched->warnings.size() == 1);
  for (const char* word : {"10.0.1.0/24", "db", "machine 1"})
    CHECK_THAT(matched->warnings[0], Catch::Contains(word));
}

TEST_CASE("an unknown space is an error of its machine", "[A31][A43]") {
  auto m = machine("1");
  m.constraints = spaces({"db"});
  const auto contents = start_contents({}, environment(), m, choice());
  REQUIRE(!contents);
  CHECK(contents.error().message == "cannot match subnets to zones: there is no space db");
}

TEST_CASE("a machine goes into a subnet of its zone, and into the one of its placement") {
  model::Snapshot snapshot;
  put(snapshot, model::Space{kProd, "db", "", {}});
  put(snapshot, subnet("10.0.1.0/24", "db", "subnet-1", {"az2"}));
  auto m = machine("1");
  m.constraints = spaces({"db"});
  CHECK(!start_contents(snapshot, environment(), m, choice()));
  auto anywhere = choice();
  anywhere.zone.reset();
  CHECK(start_contents(snapshot, environment(), m, anywhere)->request.subnets ==
        std::vector<std::string>{"subnet-1"});

  put(snapshot, subnet("10.0.2.0/24", "", "subnet-2", {}));
  m.placement = {PlacementKind::subnet, GENERATE("10.0.2.0/24", "subnet-2"), ContainerKind::unknown};
  CHECK(start_contents(snapshot, environment(), m, choice())->request.subnets ==
        std::vector<std::string>{"subnet-2"});
  m.placement.target = "10.0.9.0/24";
  CHECK(!start_contents(snapshot, environment(), m, choice()));
}

TEST_CASE("controllers are spread with controllers, others with their group, the own instance among them",
          "[A44][A45][A46]") {
  model::Snapshot snapshot;
  auto one = machine("1", "", "i-1");
  auto two = machine("2");
  one.role = two.role = model::MachineRole::controller;
  put(snapshot, one);
  put(snapshot, two);
  put(snapshot, machine("3", "web", "i-3"));
  put(snapshot, machine("4", "web", "i-04"));
  put(snapshot, machine("5", "db", "i-5"));
  const auto instances = [&](const model::Machine& m) {
    return start_contents(snapshot, environment(), m, choice())->spread_instances;
  };
  CHECK(instances(two) == std::vector<std::string>{"i-1"});
  CHECK(instances(machine("3", "web", "i-3")) == std::vector<std::string>{"i-04", "i-3"});
  CHECK(instances(machine("6")).empty());
}

TEST_CASE("only failed machines without an instance whose error may pass are tried again", "[A25][A26]") {
  model::Snapshot snapshot;
  const auto add = [&](std::string id, model::MachineState state, bool is_transient, std::string instance) {
    auto m = machine(std::move(id), "", std::move(instance));
    m.state = state;
    m.is_transient = is_transient;
    m.message = "no capacity";
    put(snapshot, m);
  };
  add("0", model::MachineState::failed, false, "");
  add("1", model::MachineState::failed, true, "i-1");
  add("2", model::MachineState::failed, true, "");
  add("3", model::MachineState::pending, true, "");
  auto elsewhere = machine("4");
  elsewhere.environment = {2};
  elsewhere.state = model::MachineState::failed;
  elsewhere.is_transient = true;
  put(snapshot, elsewhere);
  const auto machines = machines_with_transient_errors(snapshot, kProd);
  REQUIRE(machines.size() == 1);
  CHECK(machines[0]->id.value == "2");
  CHECK(machines[0]->life == model::Life::alive);
  CHECK(machines[0]->message == "no capacity");
}

}  // namespace
}  // namespace slipway::provision
