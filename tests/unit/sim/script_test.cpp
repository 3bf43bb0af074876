// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/script.hpp"

#include "sim/cloud/address_range.hpp"
#include "sim/cloud/faults.hpp"

#include <catch2/catch.hpp>

namespace slipway::sim {

TEST_CASE("an empty script is a small healthy cloud") {
  const Script script = parse_script("{}").value();
  CHECK(script.zones.size() == 3);
  CHECK(script.types.size() == 5);
  CHECK(script.images.size() == 4);
  CHECK(script.faults.empty());
  CHECK(script.quotas.empty());
}

TEST_CASE("what makes no sense in a script is refused with its place") {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"zone": []})", "zone: unknown field (did you mean"},
      {R"({"zones": []})", "zones: a cloud has at least one"},
      {R"({"zones": [{"name": "a"}, {"name": "a"}]})", "zones: a is there twice"},
      {R"({"zones": [{"name": "a", "outages": [{"from_ms": 5, "until_ms": 5}]}]})",
       "zones.a.outages: expected"},
      {R"({"quotas": {"servers": 5}})", "quotas.servers: no such resource"},
      {R"({"subnets": [{"id": "n", "cidr": "10.0.0.0"}]})", "subnets.n.cidr: expected an IPv4 range"},
      {R"({"public_cidr": "fd00::/64"})", "public_cidr: expected an IPv4 range"},
      {R"({"boot_ms": -1})", "boot_ms: expected 0 or more, got -1"},
      {R"({"max_page": 0})", "max_page: expected 1 or more"},
      {R"({"rate_limit": {"per_s": 0}})", "rate_limit: expected per_s above 0"},
      {R"({"latency_of_ms": {"instances.begin/1": 5}})", "latency_of_ms: no method"},
      {R"({"faults": [{}]})", "faults[0].action: is required"},
      {R"({"faults": [{"action": "explode"}]})", "faults[0].action: not one of"},
      {R"({"faults": [{"action": "slow", "method": "instance.*"}]})", "faults[0].method: no method"},
      {R"({"faults": [{"action": "slow", "nth": 0}]})", "faults[0].nth: calls are counted from 1"},
      {R"({"faults": [{"action": "slow", "rate": 1.5}]})", "faults[0]: rate and share"},
      {R"({"faults": [{"action": "slow", "delay_ms": -5}]})", "faults[0]: delay_ms and hang_ms"},
      {R"({"faults": [{"action": "error"}]})", "faults[0].error: missing"},
      {R"({"faults": [{"action": "late_accept", "delay_ms": 501}]})", "faults[0].delay_ms: 501 is beyond"},
      {R"({"faults": [{"action": "fail_server", "method": "volumes.*"}]})", "faults[0].method: fail_server"},
  };
  for (const auto& [text, message] : rows) {
    const auto script = parse_script(text);
    INFO(text);
    REQUIRE_FALSE(script);
    CHECK(script.error().code == Code::invalid);
    CHECK_THAT(script.error().message, Catch::StartsWith(message));
  }
}

TEST_CASE("a range of addresses gives each once, returns to the first, and says when it is empty") {
  AddressRange range = AddressRange::parse("10.0.0.0/29").value();  // .2 to .6
  for (const char* address : {"10.0.0.2", "10.0.0.3", "10.0.0.4"}) CHECK(range.take().value() == address);
  range.give_back("10.0.0.3");
  CHECK(range.take().value() == "10.0.0.5");
  CHECK(range.take("10.0.0.5").error().code == Code::conflict);
  CHECK(range.take("10.0.0.7").error().code == Code::invalid);
  CHECK(range.take("10.0.0.06x").error().code == Code::invalid);
  CHECK(range.take("10.0.0.6"));
  CHECK(range.take().value() == "10.0.0.3");
  CHECK(range.take().error().code == Code::exhausted);
}

TEST_CASE("a fault counts the calls that fit it and happens at its turn") {
  Random random(1);
  Fault third;
  third.action = FaultAction::slow;
  third.method = "instances.start/1";
  third.nth = 3;
  third.times = 2;
  Fault in_span;
  in_span.action = FaultAction::throttle;
  in_span.method = "instances.*";
  in_span.from_ms = 100;
  in_span.until_ms = 200;
  Fault in_zone;
  in_zone.action = FaultAction::garbage;
  in_zone.zone = "az2";
  FaultBook book({third, in_span, in_zone});
  const auto action = [&](const char* method, std::int64_t age_ms, const char* zone = "") {
    const Fault* fault = book.pick(method, zone, age_ms, random);
    return fault == nullptr ? FaultAction::unknown : fault->action;
  };
  CHECK(action("instances.start/1", 0) == FaultAction::unknown);
  CHECK(action("instances.stop/1", 99) == FaultAction::unknown);
  CHECK(action("instances.stop/1", 100) == FaultAction::throttle);
  CHECK(action("instances.stop/1", 200) == FaultAction::unknown);
  CHECK(action("instances.start/1", 150) == FaultAction::throttle);  // the second start
  CHECK(action("instances.start/1", 150) == FaultAction::slow);      // the first in the script wins
  CHECK(action("instances.start/1", 300) == FaultAction::slow);
  CHECK(action("instances.start/1", 300) == FaultAction::unknown);
  CHECK(action("instances.start/1", 300, "az1") == FaultAction::unknown);
  CHECK(action("instances.start/1", 300, "az2") == FaultAction::garbage);
}

TEST_CASE("a fault with a rate happens about that often, and for a seed at the same calls") {
  Fault fault;
  fault.action = FaultAction::lose_reply;
  fault.rate = 0.25;
  const auto hits = [&](std::uint64_t seed) {
    Random random(seed);
    FaultBook book({fault});
    std::string out;
    for (int i = 0; i < 2'000; ++i)
      out += book.pick("instances.start/1", "", 0, random) == nullptr ? '.' : 'x';
    return out;
  };
  CHECK(hits(1) == hits(1));
  CHECK(hits(1) != hits(2));
  const std::string drawn = hits(7);
  const auto count = std::count(drawn.begin(), drawn.end(), 'x');
  CHECK(count > 400);
  CHECK(count < 600);
}

}  // namespace slipway::sim
