// SPDX-License-Identifier: Apache-2.0
#include "sim_fixture.hpp"

namespace slipway::sim {

TEST_CASE("a server builds, runs with an address, stops and is gone") {
  SimFixture sim;
  const Instance made = sim.start("n1", "az2");
  CHECK(made.state == State::building);
  CHECK(made.zone == "az2");
  CHECK(made.addresses.empty());
  CHECK(made.marker.at("nonce") == "n1");
  CHECK(made.hardware.mem_mib == 1'024U);
  sim.now_ms += 1'999;
  CHECK(sim.look(made.id).item->state == State::building);
  sim.now_ms += 1;
  const Instance running = *sim.look(made.id).item;
  CHECK(running.state == State::running);
  REQUIRE(running.addresses.size() == 1);
  CHECK(running.addresses[0].value == "10.20.0.2");
  CHECK(running.addresses[0].scope == AddressScope::cloud_local);
  CHECK_FALSE(sim.remove<StopRequest>(made.id).error);
  CHECK(sim.look(made.id).item->state == State::stopping);
  sim.now_ms += 499;
  CHECK_FALSE(sim.remove<StopRequest>(made.id).error);  // again: success, and no later end
  sim.now_ms += 1;
  CHECK(sim.look(made.id).error->code == Code::not_found);
  CHECK(sim.list().items.empty());
  CHECK_FALSE(sim.remove<StopRequest>(made.id).error);  // not there is success
}

TEST_CASE("a server that is stopped while it builds does not come up") {
  SimFixture sim(R"({"boot_ms": 100, "stop_ms": 1000})");
  const std::string id = sim.start("n1").id;
  sim.remove<StopRequest>(id);
  sim.now_ms += 200;
  CHECK(sim.look(id).item->state == State::stopping);
  sim.now_ms += 800;
  CHECK(sim.look(id).error);
}

TEST_CASE("what a start names must exist, and nothing is made when it does not") {
  SimFixture sim;
  const auto code_of = [&](const auto& change) {
    StartRequest request = start_request("n");
    change(request);
    const auto reply = sim.ask(request);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().outcome == Outcome::rejected);
    return reply.error().code;
  };
  CHECK(code_of([](StartRequest& r) { r.type = "tiny"; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.image = "img-beos"; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.zone = "az9"; }) == Code::invalid);
  CHECK(code_of([](StartRequest& r) { r.subnets = {"net-9"}; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.interfaces = {"port-9"}; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.firewall_groups = {"fwg-9"}; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.public_addresses = {"ip-9"}; }) == Code::not_found);
  CHECK(code_of([](StartRequest& r) { r.name = std::string(64, 'x'); }) == Code::invalid);
  CHECK(code_of([](StartRequest& r) { r.user_data.data = std::string(16'385, 'x'); }) == Code::invalid);
  CHECK(code_of([](StartRequest& r) { r.volumes.resize(1); }) == Code::invalid);
  CHECK(sim.audit().resources.empty());
  CHECK(sim.audit().calls.at("instances.start/1").refused == 10);
}

TEST_CASE("a full zone is exhausted for itself, a zone that is out is unavailable, others go on") {
  SimFixture sim(
      R"({"zones": [{"name": "a", "capacity": 1}, {"name": "b", "outages": [{"from_ms": 1000, "until_ms": 2000}]}]})");
  sim.start("n1", "a");
  const auto full = sim.ask(start_request("n2", "a"));
  CHECK(full.error().code == Code::exhausted);
  CHECK(full.error().scope == Scope::zone);
  CHECK(sim.start("n3").zone == "b");  // without a zone the cloud finds room
  sim.now_ms += 1'000;
  const auto out = sim.ask(start_request("n4", "b"));
  CHECK(out.error().code == Code::unavailable);
  CHECK(out.error().scope == Scope::zone);
  CHECK_FALSE(sim.get(ZonesRequest{}).zones.at(1).available);
  const auto nowhere = sim.ask(start_request("n5"));
  CHECK(nowhere.error().code == Code::exhausted);
  CHECK(nowhere.error().scope == Scope::region);
  sim.now_ms += 1'000;
  CHECK(sim.get(ZonesRequest{}).zones.at(1).available);
  CHECK(sim.start("n6", "b").zone == "b");
}

TEST_CASE("a quota names itself and its figures, and is free again when a server is gone") {
  SimFixture sim(R"({"quotas": {"instances": 3, "cores": 5}})");
  const std::string first = sim.start("n1").id;
  StartRequest large = start_request("n2");
  large.type = "large";
  CHECK(sim.ask(large));
  const auto refused = sim.ask(start_request("n3"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(refused.error().scope == Scope::account);
  CHECK(refused.error().quota == Quota{"cores", 5, 5});
  CHECK(sim.get(QuotaRequest{}).quotas == std::vector<Quota>{{"cores", 5, 5}, {"instances", 3, 2}});
  sim.remove<StopRequest>(first);
  CHECK_FALSE(sim.ask(start_request("n3")));
  sim.now_ms += 500;
  CHECK(sim.ask(start_request("n3")));
}

TEST_CASE("a new server is absent from lists and get for the visibility lag, and can be stopped meanwhile") {
  SimFixture sim(R"({"visibility_lag_ms": 200, "stop_ms": 0})");
  const std::string id = sim.start("n1").id;
  sim.now_ms += 199;
  CHECK(sim.list().items.empty());
  CHECK(sim.look(id).error->code == Code::not_found);
  sim.now_ms += 1;
  CHECK(sim.list().items.size() == 1);
  CHECK(sim.look(id).item);
  const std::string second = sim.start("n2").id;
  sim.remove<StopRequest>(second);
  sim.now_ms += 500;
  CHECK(sim.list().items.size() == 1);
}

TEST_CASE("lists are by owner and in pages that neither skip nor repeat") {
  SimFixture sim(R"({"max_page": 3, "stop_ms": 0})");
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(sim.start("n" + std::to_string(i)).id);
  StartRequest foreign = start_request("f");
  foreign.marker = {{"environment", "other"}};
  sim.get(foreign);
  CHECK(sim.list({{"environment", "other"}}).items.size() == 1);
  CHECK(sim.list({{"environment", "e2"}}).items.empty());
  ListRequest request;
  request.owner = {{"environment", "e1"}};
  std::vector<std::string> seen;
  do {
    const ListReply page = sim.get(request);
    CHECK(page.items.size() <= 3);
    CHECK(page.complete);
    for (const Instance& item : page.items) seen.push_back(item.id);
    if (seen.size() == 3) sim.remove<StopRequest>(seen.back());  // the last one seen goes between two pages
    request.page = page.next_page;
  } while (!request.page.empty());
  CHECK(seen == ids);
}

TEST_CASE("a start that is sent again makes a second server, unless the cloud knows the nonce") {
  const bool is_idempotent = GENERATE(false, true);
  SimFixture sim(is_idempotent ? R"({"start_is_idempotent": true})" : "{}");
  const std::string first = sim.start("n1").id;
  const std::string second = sim.start("n1").id;
  CHECK((first == second) == is_idempotent);
  CHECK(sim.audit().doubles().size() == (is_idempotent ? 0 : 1));
  if (!is_idempotent) return;
  sim.remove<StopRequest>(first);
  sim.now_ms += 500;
  CHECK(sim.ask(start_request("n1")).error().code == Code::conflict);
}

TEST_CASE("disks that a start asks for come and go with the server") {
  SimFixture sim;
  StartRequest request = start_request("n1");
  request.volumes.resize(2);
  for (auto& volume : request.volumes) volume.size_mib = 100;
  const std::string id = sim.get(request).instance.id;
  const VolumeListReply volumes = sim.get(VolumeListRequest{});
  REQUIRE(volumes.items.size() == 2);
  CHECK(volumes.items[0].parent == id);
  CHECK_FALSE(volumes.items[0].persistent);
  AttachmentsRequest of;
  of.instance_ids = {id};
  const auto attachments = sim.get(of).attachments;
  REQUIRE(attachments.size() == 2);
  CHECK(attachments[0].device == "/dev/sdb");
  CHECK(attachments[1].device == "/dev/sdc");
  CHECK(sim.audit().doubles().empty());  // they are covered by the server's nonce
  sim.remove<StopRequest>(id);
  sim.now_ms += 500;
  CHECK(sim.get(VolumeListRequest{}).items.empty());
}

TEST_CASE("exec, log and maintain answer for a server that runs and say so for one that does not") {
  SimFixture sim;
  ExecRequest exec;
  exec.id = sim.start("n1").id;
  exec.command = {"echo", "a", "b"};
  CHECK(sim.ask(exec).error().code == Code::conflict);
  sim.now_ms += 2'000;
  CHECK(sim.get(exec).output.data == "a b\n");
  exec.command = {"cat"};
  exec.input.data = std::string("\0\xff", 2);
  CHECK(sim.get(exec).output == exec.input);
  exec.command = {"false"};
  CHECK(sim.get(exec).exit_code == 1);
  exec.command = {"rm"};
  CHECK(sim.get(exec).exit_code == 127);
  LogRequest log;
  log.id = exec.id;
  CHECK_THAT(sim.get(log).text.data, Catch::Contains("cloud-init read 0 bytes") && Catch::EndsWith("login:"));
  log.max_bytes = 6;
  CHECK(sim.get(log).text.data == "login:");
  MaintainRequest maintain;
  maintain.ids = {exec.id, "srv-9"};
  const auto results = sim.get(maintain).results;
  CHECK_FALSE(results.at(0).error);
  CHECK(results.at(1).error->code == Code::not_found);
}

}  // namespace slipway::sim
