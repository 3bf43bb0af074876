// SPDX-License-Identifier: Apache-2.0
// instance_test.cpp - the life of an instance over channels that a test plays, in virtual time.
#include "support/instance_fixture.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace slipway;
using namespace slipway::plugin;
using namespace std::chrono_literals;

TEST_CASE("calls wait while the instance opens, and then go in their order, no more than its limit at once",
          "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto a = on.call("a");
  const auto b = on.call("b");
  const auto c = on.call("c");
  CHECK(on.instance->status().waiting == 3);
  const auto channel = on.open();
  REQUIRE(channel->calls.size() == 2);
  CHECK(channel->calls[0].first.method == "a");
  CHECK(channel->calls[1].first.method == "b");
  channel->answer(1, SLIPWAY_OK);
  on.executor.run_ready();
  CHECK(a->status == SLIPWAY_OK);
  REQUIRE(channel->calls.size() == 3);
  CHECK(channel->calls[2].first.method == "c");
  CHECK(on.instance->status().running == 2);
  channel->answer(2, SLIPWAY_OK);
  channel->answer(3, SLIPWAY_OK);
  on.executor.run_ready();
  CHECK(b->status == SLIPWAY_OK);
  CHECK(c->status == SLIPWAY_OK);
}

TEST_CASE("a call whose deadline passes while it waits was not begun, which is proof", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto end = on.call("a", 5s);
  on.executor.run_for(6s);
  CHECK(end->status == SLIPWAY_DEADLINE);
  CHECK(end->error.outcome == Outcome::rejected);
  const auto channel = on.open();
  CHECK(channel->calls.empty());
}

TEST_CASE("after its deadline a call is cancelled, and its end is `deadline`, unknown", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto channel = on.open();
  const auto end = on.call("a", 5s);
  on.executor.run_for(6s);
  CHECK(channel->cancelled == std::vector<std::uint64_t>{1});
  CHECK(end->status == -1);  // the plugin has its word
  channel->answer(1, SLIPWAY_CANCELLED, R"({"message":"gave up"})");
  on.executor.run_ready();
  CHECK(end->status == SLIPWAY_DEADLINE);
  CHECK(end->error.outcome == Outcome::unknown);
}

TEST_CASE("a call that was cancelled by its caller ends as cancelled, or with what came first", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto channel = on.open();
  TicketId first{};
  TicketId second{};
  const auto a = on.call("a", 1h, &first);
  const auto b = on.call("b", 1h, &second);
  on.instance->cancel(first);
  on.instance->cancel(second);
  on.executor.run_ready();
  CHECK(channel->cancelled == std::vector<std::uint64_t>{1, 2});
  channel->answer(1, SLIPWAY_CANCELLED);
  channel->answer(2, SLIPWAY_OK);
  on.executor.run_ready();
  CHECK(a->status == SLIPWAY_CANCELLED);
  CHECK(b->status == SLIPWAY_OK);
}

TEST_CASE("a call that does not end after its cancel makes the instance stuck: it is ended and opened again",
          "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto channel = on.open();
  const auto end = on.call("a", 5s);
  const auto bystander = on.call("b");
  on.executor.run_for(14s);
  CHECK(channel->close_grace == -1ns);
  on.executor.run_for(2s);
  CHECK(channel->close_grace == 0ns);
  CHECK(on.instance->status().stuck == 1);
  channel->end_closing(false);
  on.executor.run_ready();
  CHECK(end->status == SLIPWAY_UNAVAILABLE);
  CHECK(bystander->status == SLIPWAY_UNAVAILABLE);
  CHECK(channel->is_dropped);
  CHECK(on.phase() == InstancePhase::backing_off);
  CHECK(on.instance->status().reason.find("a did not end 10000 ms after it was cancelled") !=
        std::string::npos);
  on.executor.run_for(2s);
  REQUIRE(on.next_events);
  CHECK(on.next_events->in_process_is_out);  // threads were lost: never again in this process
  static_cast<void>(on.open());
  CHECK(on.phase() == InstancePhase::ready);
}

TEST_CASE("after a crash calls are refused until it is opened again, later each time", "[plugin]") {
  InstanceFixture on;
  on.limits.restart.jitter = 0;
  on.start();
  auto channel = on.open();
  const auto lost = on.call("a");
  channel->crash("the plugin process was killed by SIGSEGV");
  on.executor.run_ready();
  CHECK(lost->status == SLIPWAY_UNAVAILABLE);
  CHECK(lost->error.outcome == Outcome::unknown);
  CHECK(on.phase() == InstancePhase::backing_off);
  CHECK(channel->is_dropped);
  const auto refused = on.call("b");
  CHECK(refused->status == SLIPWAY_UNAVAILABLE);
  CHECK(refused->error.outcome == Outcome::rejected);
  CHECK(refused->error.retry_after_ms == 1000);
  CHECK(refused->error.message.find("killed by SIGSEGV") != std::string::npos);
  on.executor.run_for(1s);
  channel = on.open();
  channel->crash("again");
  on.executor.run_ready();
  CHECK(on.call("c")->error.retry_after_ms == 2000);
  on.executor.run_for(2s);
  channel = on.open();
  on.executor.run_for(5min);  // long enough: that was a new beginning
  channel->crash("later");
  on.executor.run_ready();
  CHECK(on.call("d")->error.retry_after_ms == 1000);
}

TEST_CASE("five failures within ten minutes are a quarantine with its reason, until it is lifted",
          "[plugin]") {
  InstanceFixture on;
  on.start();
  for (int i = 0; i < 5; ++i) {
    on.open()->crash("crash " + std::to_string(i));
    on.executor.run_for(20s);
  }
  CHECK(on.phase() == InstancePhase::quarantined);
  CHECK(on.instance->status().reason == "5 failures within 10 minutes, the last one: crash 4");
  on.executor.run_for(1h);
  CHECK_FALSE(on.next_events);  // no try by itself
  CHECK(on.call("a")->error.message ==
        "the plugin is quarantined: 5 failures within 10 minutes, the last one: crash 4");
  on.instance->retry();
  on.executor.run_ready();
  static_cast<void>(on.open());
  CHECK(on.phase() == InstancePhase::ready);
}

TEST_CASE("failures that are far apart are no quarantine", "[plugin]") {
  InstanceFixture on;
  on.start();
  for (int i = 0; i < 8; ++i) {
    on.open()->crash("crash");
    on.executor.run_for(3min);
  }
  CHECK(on.phase() == InstancePhase::opening);
}

TEST_CASE("internal errors count against the plugin, other errors do not", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto channel = on.open();
  const auto answer = [&](std::uint64_t id, slipway_status status) {
    const auto end = on.call("a");
    channel->answer(id, status);
    on.executor.run_ready();
    return end;
  };
  std::uint64_t id = 0;
  for (int i = 0; i < 20; ++i) CHECK(answer(++id, SLIPWAY_EXHAUSTED)->status == SLIPWAY_EXHAUSTED);
  CHECK(on.phase() == InstancePhase::ready);
  for (int i = 0; i < 4; ++i) CHECK(answer(++id, SLIPWAY_INTERNAL)->status == SLIPWAY_INTERNAL);
  CHECK(on.phase() == InstancePhase::ready);
  static_cast<void>(answer(++id, 4711));  // a status that nobody knows is internal too
  CHECK(on.phase() == InstancePhase::quarantined);
  CHECK(on.instance->status().internal_errors == 5);
}

TEST_CASE("settings that the plugin refuses are not tried again", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto waiting = on.call("a");
  on.refuse_to_open(fail(Code::invalid, "region: unknown region \"eu1\""));
  CHECK(on.phase() == InstancePhase::quarantined);
  CHECK(waiting->error.message.find("unknown region") != std::string::npos);
  on.executor.run_for(1h);
  CHECK_FALSE(on.next_events);
}

TEST_CASE("an instance that cannot be opened for a while is tried again", "[plugin]") {
  InstanceFixture on;
  on.start();
  on.refuse_to_open(fail(Code::unavailable, "no process"));
  CHECK(on.phase() == InstancePhase::backing_off);
  on.executor.run_for(2s);
  static_cast<void>(on.open());
  CHECK(on.phase() == InstancePhase::ready);
}

TEST_CASE("a replaced instance drains beside the new one", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto old = on.open();
  const auto running = on.call("a");
  bool is_replaced = false;
  on.instance->replace(on.opener(), [&](const Status& status) { is_replaced = status.has_value(); });
  on.executor.run_ready();
  CHECK_FALSE(is_replaced);
  const auto next = on.open();
  CHECK(is_replaced);
  const auto later = on.call("b");
  CHECK(old->calls.size() == 1);
  CHECK(next->calls.size() == 1);
  CHECK_FALSE(old->is_dropped);
  old->answer(1, SLIPWAY_OK);
  next->answer(1, SLIPWAY_OK);
  on.executor.run_ready();
  CHECK(running->status == SLIPWAY_OK);
  CHECK(later->status == SLIPWAY_OK);
  CHECK(old->is_dropped);
}

TEST_CASE("a replacement that does not open leaves the old instance", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto old = on.open();
  std::string said;
  on.instance->replace(on.opener(), [&](const Status& status) { said = status.error().message; });
  on.executor.run_ready();
  on.refuse_to_open(fail(Code::invalid, "token: is required"));
  CHECK(said == "token: is required");
  static_cast<void>(on.call("a"));
  CHECK(old->calls.size() == 1);
}

TEST_CASE("of two replacements the one that was asked for last stays, whichever opens first", "[plugin]") {
  InstanceFixture on;
  on.start();
  static_cast<void>(on.open());
  std::vector<std::string> ends(2);
  std::vector<Done<std::unique_ptr<Channel>>> openings;
  std::vector<PluginInstance::ChannelEvents> events;
  for (std::string& end : ends) {
    on.instance->replace(on.opener(), [&](const Status& s) { end = s ? "ok" : s.error().message; });
    on.executor.run_ready();
    openings.push_back(std::move(on.opening));
    events.push_back(*on.next_events);
  }
  on.opening = openings[1];
  on.next_events.emplace(events[1]);
  const auto later = on.open();
  on.opening = openings[0];
  on.next_events.emplace(events[0]);
  const auto earlier = on.open();
  CHECK(ends == std::vector<std::string>{"test/played: a later replacement was faster", "ok"});
  CHECK(earlier->is_dropped);
  static_cast<void>(on.call("a"));
  CHECK(later->calls.size() == 1);
}

TEST_CASE("what an instance does after it was replaced is not held against the new one", "[plugin]") {
  InstanceFixture on;
  on.limits.failures = 1;
  on.start();
  const auto old = on.open();
  const auto failing = on.call("a");
  on.instance->replace(on.opener(), [](const Status& status) { CHECK(status); });
  on.executor.run_ready();
  static_cast<void>(on.open());
  old->answer(1, SLIPWAY_INTERNAL);
  on.executor.run_ready();
  CHECK(failing->status == SLIPWAY_INTERNAL);
  CHECK(on.phase() == InstancePhase::ready);
}

TEST_CASE("an instance that is stuck is replaced before its end has come, and the new one stays",
          "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto stuck = on.open();
  static_cast<void>(on.call("a", 1s));
  on.executor.run_for(12s);
  REQUIRE(stuck->close_grace == 0ns);
  on.instance->replace(on.opener(), [](const Status& status) { CHECK(status); });
  on.executor.run_ready();
  const auto next = on.open();
  stuck->end_closing(false);
  on.executor.run_for(1min);
  CHECK(on.phase() == InstancePhase::ready);
  CHECK_FALSE(on.next_events);
  static_cast<void>(on.call("b"));
  CHECK(next->calls.size() == 1);
}

TEST_CASE("calls of a replaced instance that never end are cancelled after the drain", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto old = on.open();
  static_cast<void>(on.call("a"));
  on.instance->replace(on.opener(), [](const Status& status) { CHECK(status); });
  on.executor.run_ready();
  static_cast<void>(on.open());
  on.executor.run_for(2min);
  CHECK(old->cancelled == std::vector<std::uint64_t>{1});
}

TEST_CASE("closing takes no more calls, lets the open ones end, and cancels them after the grace",
          "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto channel = on.open();
  const auto running = on.call("a");
  bool is_closed = false;
  on.instance->close(30s, [&] { is_closed = true; });
  on.executor.run_ready();
  const auto refused = on.call("b");
  CHECK(refused->status == SLIPWAY_UNAVAILABLE);
  CHECK(refused->error.outcome == Outcome::rejected);
  on.executor.run_for(29s);
  CHECK(channel->cancelled.empty());
  on.executor.run_for(2s);
  CHECK(channel->cancelled.size() == 1);
  CHECK_FALSE(is_closed);
  channel->answer(1, SLIPWAY_CANCELLED);
  on.executor.run_ready();
  CHECK(running->status == SLIPWAY_CANCELLED);
  CHECK(is_closed);
  CHECK(channel->is_dropped);
}

TEST_CASE("an instance is closed while it opens", "[plugin]") {
  InstanceFixture on;
  on.start();
  const auto waiting = on.call("a");
  bool is_closed = false;
  on.instance->close(0s, [&] { is_closed = true; });
  on.executor.run_ready();
  CHECK(waiting->status == SLIPWAY_UNAVAILABLE);
  CHECK_FALSE(is_closed);  // what opens uses the services of the instance's owner
  const auto late = on.open();
  CHECK(late->is_dropped);
  CHECK(is_closed);
}

TEST_CASE("a reply that cannot be read is internal, and what was asked for may have happened", "[plugin]") {
  const auto reply = read_reply<StartRequest>(SLIPWAY_OK, R"({"instance":{"name":"web"}})");
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::internal);
  CHECK(reply.error().outcome == Outcome::unknown);
  CHECK(reply.error().message ==
        "the plugin's reply to instances.start/1 cannot be read: instance.id: is required");
}
