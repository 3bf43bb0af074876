// SPDX-License-Identifier: Apache-2.0
// channel_test.cpp - the same cases over a plugin in this process and in a child of it.
#include "support/channel_fixture.hpp"
#include "support/plugins/probe.hpp"

#include <catch2/catch.hpp>

#include <thread>
#include <vector>

using namespace slipway;
using namespace std::chrono_literals;

namespace {

struct Opened : ChannelFixture {
  explicit Opened(Where where, unsigned threads = 4) {
    const auto opened = open(where, SLIPWAY_PROBE_PLUGIN, {}, threads);
    INFO((opened ? std::string() : opened.error().message));
    REQUIRE(opened);
  }
  // The call has reached the plugin's own waiting.
  void wait_for_hanging(int count) {
    while (services.hanging < count) std::this_thread::sleep_for(1ms);
  }
};

Where either() {
  const Where where = GENERATE(Where::in_process, Where::isolated);
  CAPTURE(where == Where::isolated);
  return where;
}

}  // namespace

TEST_CASE("a call reaches the plugin and its answer comes back", "[plugin]") {
  Opened on(either());
  const auto reply = on.call(EchoRequest{"ä \"b\""});
  REQUIRE(reply);
  CHECK(reply->text == "ä \"b\"");
  CHECK(on.close());
}

TEST_CASE("describe gives the manifest", "[plugin]") {
  Opened on(either());
  const auto manifest = decode<Manifest>(on.channel->description());
  REQUIRE(manifest);
  CHECK(manifest->name == "probe");
  CHECK(manifest->version == "1.2.3");
  CHECK(manifest->settings.size() == 2);
}

TEST_CASE("settings that the plugin refuses are no channel", "[plugin]") {
  ChannelFixture on;
  const auto where = either();
  const auto refused = on.open(where, SLIPWAY_PROBE_PLUGIN, {{"region", "nowhere"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("no such region: nowhere") != std::string::npos);
  const auto mistyped = on.open(where, SLIPWAY_PROBE_PLUGIN, {{"regoin", "eu-1"}});
  REQUIRE_FALSE(mistyped);
  CHECK(mistyped.error().code == Code::invalid);
  CHECK(mistyped.error().message.find("regoin") != std::string::npos);
}

TEST_CASE("a file that is no plugin is refused with its name", "[plugin]") {
  ChannelFixture on;
  const auto refused = on.open(either(), "/etc/hostname");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().message.find("/etc/hostname") != std::string::npos);
}

TEST_CASE("many calls at once each get their own answer", "[plugin]") {
  Opened on(either());
  std::vector<std::shared_ptr<ChannelFixture::Pending<EchoRequest>>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(on.start(EchoRequest{std::to_string(i)}));
  for (int i = 0; i < 200; ++i) {
    const auto reply = calls[static_cast<std::size_t>(i)]->wait();
    REQUIRE(reply);
    CHECK(reply->text == std::to_string(i));
  }
}

TEST_CASE("a message of a megabyte goes there and back", "[plugin]") {
  Opened on(either());
  const std::string text(1U << 20U, 'x');
  const auto reply = on.call(EchoRequest{text});
  REQUIRE(reply);
  CHECK(reply->text == text);
}

TEST_CASE("an unknown method is unsupported, a bad body invalid", "[plugin]") {
  Opened on(either());
  Event ended(on.clock);
  slipway_status unknown = SLIPWAY_OK;
  slipway_status bad = SLIPWAY_OK;
  on.channel->call({"test.nothing/1", "{}"}, [&](slipway_status status, const std::string&) {
    unknown = status;
    on.channel->call({"test.echo/1", "{\"text\":7}"}, [&](slipway_status next, const std::string&) {
      bad = next;
      ended.set();
    });
  });
  static_cast<void>(ended.wait(Deadline::never()));
  CHECK(unknown == SLIPWAY_UNSUPPORTED);
  CHECK(bad == SLIPWAY_INVALID);
}

TEST_CASE("a plugin that waits for a service on its only thread gets its answer", "[plugin]") {
  Opened on(either(), 1);
  const auto reply = on.call(FetchRequest{"a"});
  REQUIRE(reply);
  CHECK(reply->text == "http://cloud.test/a");
}

TEST_CASE("an asynchronous method answers from another thread, many at once on one", "[plugin]") {
  Opened on(either(), 1);
  std::vector<std::shared_ptr<ChannelFixture::Pending<FetchLaterRequest>>> hanging;
  for (int i = 0; i < 10; ++i) hanging.push_back(on.start(FetchLaterRequest{"hang"}));
  on.wait_for_hanging(10);
  const auto reply = on.call(FetchLaterRequest{"b"});
  REQUIRE(reply);
  CHECK(reply->text == "http://cloud.test/b");
  for (const auto& call : hanging) on.channel->cancel(call->id);
  for (const auto& call : hanging) CHECK(call->wait().error().code == Code::cancelled);
}

TEST_CASE("a call that is given up gives up the services that were called for it", "[plugin]") {
  Opened on(either());
  const auto call = on.start(FetchRequest{"hang"});
  on.wait_for_hanging(1);
  on.channel->cancel(call->id);
  CHECK(call->wait().error().code == Code::cancelled);
  CHECK(on.services.hanging == 0);
}

TEST_CASE("cancel reaches a plugin that computes", "[plugin]") {
  Opened on(either());
  const auto call = on.start(NapRequest{60'000});
  std::this_thread::sleep_for(5ms);
  on.channel->cancel(call->id);
  const auto end = call->wait();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::cancelled);
}

TEST_CASE("a call that was given up before it began is rejected and never seen", "[plugin]") {
  Opened on(either(), 1);
  const auto first = on.start(NapRequest{60'000});
  const auto second = on.start(EchoRequest{"x"});
  on.channel->cancel(second->id);
  on.channel->cancel(first->id);
  CHECK(first->wait().error().code == Code::cancelled);
  const auto end = second->wait();
  REQUIRE_FALSE(end);
  CHECK(end.error().outcome == Outcome::rejected);
}

TEST_CASE("a service call is bounded by the deadline of the call that it is for", "[plugin]") {
  Opened on(either());
  const Deadline deadline = Deadline::after(on.clock, 1min);
  REQUIRE(on.call(FetchRequest{"a"}, deadline));
  const std::lock_guard lock(on.services.mutex);
  REQUIRE(on.services.deadlines.size() == 1);
  CHECK(on.services.deadlines[0] == deadline);
}

TEST_CASE("what a plugin tells is told with its call", "[plugin]") {
  Opened on(either());
  const auto call = on.start(TellRequest{"half way"});
  REQUIRE(call->wait());
  CHECK(on.close());  // notes come before it
  const std::lock_guard lock(on.services.mutex);
  REQUIRE(on.services.notes.size() == 2);
  CHECK(on.services.notes[0].call == static_cast<std::uint64_t>(call->id));
  CHECK(on.services.notes[0].text.find("half way") != std::string::npos);
  CHECK(on.services.notes[1].text.starts_with("progress "));
}

TEST_CASE("an exception of the plugin is internal, and the next call works", "[plugin]") {
  Opened on(either());
  const auto end = on.call(DieRequest{"throw"});
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::internal);
  CHECK(end.error().message.find("a bug of the plugin") != std::string::npos);
  CHECK(on.call(EchoRequest{"x"}));
}

TEST_CASE("closing waits for what runs, and cancels it", "[plugin]") {
  Opened on(either());
  const auto call = on.start(FetchRequest{"hang"});
  on.wait_for_hanging(1);
  CHECK(on.close());
  CHECK(call->wait().error().code == Code::cancelled);
}

TEST_CASE("a plugin that does not end is not waited for when it is closed", "[plugin]") {
  const auto where = either();
  Opened on(where);
  const auto call = on.start(NapRequest{3000, true});
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(on.close(50ms));
  const auto end = call->wait();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::unknown);
}

TEST_CASE("a crash ends all calls with its reason and this process lives", "[plugin]") {
  struct Row {
    const char* how;
    const char* words;
  };
  const Row row = GENERATE(Row{"abort", "killed by SIGABRT"}, Row{"trap", "killed by SIGILL"},
                           Row{"exit", "exited with code 3"});
  Opened on(Where::isolated);
  const auto bystander = on.start(FetchRequest{"hang"});
  on.wait_for_hanging(1);
  const auto end = on.call(DieRequest{row.how});
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::unknown);
  CHECK(end.error().message.find(row.words) != std::string::npos);
  CHECK(bystander->wait().error().message == end.error().message);
  static_cast<void>(on.ended.wait(Deadline::never()));
  CHECK(on.end_reason == end.error().message);
  const auto after = on.call(EchoRequest{"x"});
  REQUIRE_FALSE(after);
  CHECK(after.error().code == Code::unavailable);
}
