// SPDX-License-Identifier: Apache-2.0
#include "sim_fixture.hpp"

namespace slipway::sim {
namespace {

std::string with_fault(const std::string& fault, const std::string& more = {}) {
  return R"({"latency_ms": 20, )" + more + R"("faults": [)" + fault + "]}";
}

}  // namespace

TEST_CASE("an answer is due after the latency of its method") {
  SimFixture sim(R"({"latency_ms": 20, "latency_of_ms": {"instances.*": 50, "instances.start/1": 300}})");
  CHECK(sim.cloud.call(start_request("n1"), sim.now_ms).due_ms == sim.now_ms + 300);
  CHECK(sim.cloud.call(ListRequest{}, sim.now_ms).due_ms == sim.now_ms + 50);
  CHECK(sim.cloud.call(ZonesRequest{}, sim.now_ms).due_ms == sim.now_ms + 20);
}

TEST_CASE("a lost reply leaves the server, a lost request leaves nothing, and both look alike") {
  const bool is_done = GENERATE(true, false);
  SimFixture sim(with_fault(
      is_done ? R"({"method": "instances.start/1", "nth": 2, "action": "lose_reply", "hang_ms": 5})"
              : R"({"method": "instances.start/1", "nth": 2, "action": "lose_request", "hang_ms": 5})"));
  sim.start("n1");
  const auto answer = sim.cloud.call(start_request("n2"), sim.now_ms);
  REQUIRE_FALSE(answer.result);
  CHECK(answer.result.error().code == Code::unavailable);
  CHECK(answer.result.error().outcome == Outcome::unknown);
  CHECK(answer.due_ms == sim.now_ms + 25);
  CHECK(sim.list().items.size() == (is_done ? 2 : 1));
  sim.start("n3");
  const CallCount count = sim.audit().calls.at("instances.start/1");
  CHECK(count.received == 3);
  CHECK(count.lost == 1);
  CHECK(count.done == (is_done ? 3 : 2));
}

TEST_CASE("a late accept takes place the delay after its caller was left alone") {
  SimFixture sim(with_fault(
      R"({"method": "instances.start/1", "action": "late_accept", "hang_ms": 30, "delay_ms": 400, "times": 1})"));
  const auto answer = sim.cloud.call(start_request("n1"), sim.now_ms);
  CHECK(answer.result.error().outcome == Outcome::unknown);
  CHECK(answer.due_ms == sim.now_ms + 50);
  sim.now_ms += 449;
  CHECK(sim.list().items.empty());
  sim.now_ms += 100;
  const auto items = sim.list().items;
  REQUIRE(items.size() == 1);
  CHECK(items[0].created_ms == answer.due_ms + 400);  // at its own time, not when somebody looked
  CHECK(sim.audit().calls.at("instances.start/1").done == 1);
  CHECK(sim.cloud.requests().at(2).is_late);
  CHECK(sim.cloud.requests().at(2).nonce == "n1");
}

TEST_CASE("a scripted error is answered as it stands, before or after the effect") {
  const bool is_after = GENERATE(true, false);
  SimFixture sim(with_fault(
      std::string(R"({"action": ")") + (is_after ? "error_after" : "error") +
      R"(", "method": "instances.start/1", "error": {"code": "unauthenticated", "message": "token expired", "scope": "account"}})"));
  const auto reply = sim.ask(start_request("n1"));
  CHECK(reply.error().code == Code::unauthenticated);
  CHECK(reply.error().message == "token expired");
  CHECK(reply.error().scope == Scope::account);
  CHECK(sim.list().items.size() == (is_after ? 1 : 0));
}

TEST_CASE("throttling says when to come back, scripted and by rate") {
  SimFixture scripted(with_fault(R"({"action": "throttle", "delay_ms": 700, "times": 1})"));
  const auto reply = scripted.ask(start_request("n1"));
  CHECK(reply.error().code == Code::unavailable);
  CHECK(reply.error().outcome == Outcome::rejected);
  CHECK(reply.error().retry_after_ms == 700);
  CHECK(scripted.list().items.empty());

  SimFixture limited(R"({"rate_limit": {"per_s": 10, "burst": 2}})");
  limited.start("n1");
  limited.start("n2");
  CHECK(limited.ask(start_request("n3")).error().retry_after_ms == 100);
  limited.now_ms += 99;
  CHECK(limited.ask(start_request("n3")).error().retry_after_ms == 1);
  limited.now_ms += 1;
  CHECK(limited.ask(start_request("n3")));
}

TEST_CASE("a slow answer, garbage and an answer without an id have their effect at once") {
  SimFixture sim(with_fault(R"({"method": "instances.start/1", "nth": 1, "action": "slow", "delay_ms": 900},
                               {"method": "instances.start/1", "nth": 2, "action": "garbage"},
                               {"method": "instances.start/1", "nth": 3, "action": "garbage", "text": "{}"})"));
  CHECK(sim.cloud.call(start_request("n1"), sim.now_ms).due_ms == sim.now_ms + 920);
  for (const char* nonce : {"n2", "n3"}) {
    const auto reply = sim.ask(start_request(nonce));
    CHECK(reply.error().code == Code::unavailable);
    CHECK(reply.error().outcome == Outcome::unknown);
  }
  CHECK(sim.list().items.size() == 3);
}

TEST_CASE("a server that is doomed goes to failed instead of running") {
  SimFixture sim(with_fault(R"({"method": "instances.start/1", "zone": "az2", "action": "fail_server"})"));
  const std::string good = sim.start("n1", "az1").id;
  const std::string bad = sim.start("n2", "az2").id;
  CHECK(sim.look(bad).item->state == State::building);
  sim.now_ms += 2'000;
  CHECK(sim.look(good).item->state == State::running);
  CHECK(sim.look(bad).item->state == State::failed);
  CHECK(sim.look(bad).item->message == "no host was found that could run it");
}

TEST_CASE("a partial list says that it is one, a lying list does not") {
  const bool is_honest = GENERATE(true, false);
  SimFixture sim(R"({"faults": [{"method": "*.list/1", "action": "slow"}]})");
  const std::string action = is_honest ? "partial" : "lies";
  sim.cloud.set_script(
      script_of(
          R"({"faults": [{"method": "instances.list/1", "from_ms": 1000, "until_ms": 61000, "share": 0.1, "action": ")" +
          action + R"("}]})"),
      sim.now_ms);
  for (int i = 0; i < 10; ++i) sim.start("n" + std::to_string(i));
  CHECK(sim.list().items.size() == 10);
  sim.now_ms += 1'000;
  for (int i = 0; i < 20; ++i) {
    const ListReply reply = sim.list();
    CHECK(reply.items.size() < 10);  // always at least one is missing
    CHECK(reply.complete != is_honest);
  }
  sim.now_ms += 60'000;
  CHECK(sim.list().items.size() == 10);
  CHECK(sim.list().complete);
}

TEST_CASE("the auditor finds a planted double, and that one of the two is gone") {
  SimFixture sim(
      R"({"stop_ms": 0, "faults": [{"method": "instances.start/1", "nth": 2, "action": "duplicate"}]})");
  sim.start("n1");
  const std::string id = sim.start("n2").id;
  sim.start("n3");
  auto doubles = sim.audit().doubles();
  REQUIRE(doubles.size() == 1);
  CHECK(doubles[0].nonce == "n2");
  CHECK(doubles[0].kind == ResourceKind::server);
  CHECK(doubles[0].ids == std::vector<std::string>{id, "srv-00000003"});
  CHECK(doubles[0].alive == 2);
  sim.remove<StopRequest>("srv-00000003");
  doubles = sim.audit().doubles();
  REQUIRE(doubles.size() == 1);  // it was there all the same
  CHECK(doubles[0].alive == 1);
}

TEST_CASE("the auditor finds what nobody wants, what is missing, and leaves what is foreign") {
  SimFixture sim(R"({"stop_ms": 0})");
  sim.start("n1");
  sim.start("n2");
  const std::string gone = sim.start("n3").id;
  StartRequest foreign = start_request("f");
  foreign.marker = {{"environment", "other"}};
  sim.get(foreign);
  auto port = sim.make<InterfaceCreateRequest>("p1");
  port.subnet = "net-1";
  sim.get(port);
  sim.remove<StopRequest>(gone);
  const Marker owner{{"environment", "e1"}};
  const std::vector<Marker> live{start_request("n1").marker, start_request("n3").marker};
  Audit audit = sim.audit();
  const auto leaks = audit.leaks(owner, live);
  REQUIRE(leaks.size() == 2);
  CHECK(leaks[0].nonce == "n2");
  CHECK(leaks[1].nonce == "p1");
  CHECK(leaks[1].kind == ResourceKind::port);
  CHECK(audit.missing(ResourceKind::server, live) == std::vector<Marker>{start_request("n3").marker});
  // It travels.
  audit = decode<Audit>(encode(audit)).value();
  CHECK(audit.leaks(owner, live).size() == 2);
  CHECK(audit.resources.size() == 5);
}

TEST_CASE("what is no request is refused before anything happens") {
  SimFixture sim;
  const auto code = [&](const char* method, const char* body) {
    return sim.cloud.handle(method, body, sim.now_ms).error->code;
  };
  CHECK(code("instances.begin/1", "{}") == Code::unsupported);
  CHECK(code("config.validate/1", "{}") == Code::unsupported);
  CHECK(code("instances.start/1", "{") == Code::invalid);
  CHECK(code("instances.start/1", "[]") == Code::invalid);
  CHECK(code("instances.start/1", R"({"name": "x"})") == Code::invalid);
  CHECK(sim.cloud.handle("instances.start/1", R"({"name": "x"})", sim.now_ms).error->outcome ==
        Outcome::rejected);
  CHECK(sim.audit().resources.empty());
}

namespace {

// Everything that a run gives: answers, their times, the requests, the books.
std::string transcript(std::uint64_t seed) {
  SimFixture sim(R"({"latency_ms": 20, "latency_spread_ms": 200, "visibility_lag_ms": 100, "faults": [
                     {"method": "instances.start/1", "rate": 0.2, "action": "lose_reply"},
                     {"method": "instances.start/1", "rate": 0.2, "action": "late_accept", "delay_ms": 300},
                     {"method": "instances.start/1", "rate": 0.1, "action": "fail_server"},
                     {"method": "*.list/1", "rate": 0.3, "action": "partial"},
                     {"rate": 0.05, "action": "throttle", "delay_ms": 50}]})",
                 seed);
  Random choices(99);  // what is called does not depend on the cloud's seed
  std::string out;
  const auto call = [&](std::string_view method, const std::string& body) {
    const Handled handled = sim.cloud.handle(method, body, sim.now_ms);
    out += message("{} {} {}\n", handled.due_ms - sim.now_ms, handled.is_lost,
                   handled.error ? handled.error->message : handled.reply);
  };
  for (int i = 0; i < 300; ++i) {
    sim.now_ms += static_cast<std::int64_t>(choices.below(100));
    const auto what = choices.below(4);
    if (what <= 1) call(StartRequest::method, encode(start_request("n" + std::to_string(i))));
    if (what == 2) call(ListRequest::method, "{}");
    if (what == 3)
      call(StopRequest::method, message(R"({{"ids": ["srv-000000{}"]}})", 10 + choices.below(80)));
  }
  for (const RequestTrace& request : sim.cloud.requests()) out += encode(request) + "\n";
  return out + encode(sim.audit());
}

}  // namespace

TEST_CASE("a seed gives the same run, bit for bit, and another seed another one") {
  CHECK(transcript(1) == transcript(1));
  CHECK(transcript(1) != transcript(2));
}

TEST_CASE("a time before the last one is taken as the last one") {
  SimFixture sim;
  const std::string id = sim.start("n1").id;
  sim.now_ms += 2'000;
  CHECK(sim.look(id).item->state == State::running);
  sim.now_ms -= 10'000;
  CHECK(sim.look(id).item->state == State::running);
  CHECK(sim.audit().now_ms == sim.now_ms + 10'000);
}

}  // namespace slipway::sim
