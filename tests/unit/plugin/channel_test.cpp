// SPDX-License-Identifier: Apache-2.0
// channel_test.cpp - the same cases over a plugin in this process and in a child of it.
#include "plugin/call_table.hpp"
#include "plugin/frame.hpp"
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
  void wait_for_hanging(std::size_t count) {
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
  Event is_closed(on.clock);
  bool was_clean = true;
  bool had_ended = false;
  on.channel->close(50ms, [&](bool is_clean) {
    was_clean = is_clean;
    had_ended = call->has_ended.is_set();
    is_closed.set();
  });
  static_cast<void>(is_closed.wait(Deadline::never()));
  on.channel.reset();
  CHECK_FALSE(was_clean);
  CHECK(had_ended);  // the ends of calls come first
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
  CHECK(after.error().outcome == Outcome::rejected);
}

TEST_CASE("what a plugin in this process does after it was written off touches nothing that is gone",
          "[plugin]") {
  {
    Opened on(Where::in_process);
    const auto call = on.start(NapRequest{30, true});
    std::this_thread::sleep_for(5ms);
    CHECK_FALSE(on.close(1ms));
    CHECK(call->wait().error().outcome == Outcome::unknown);
  }
  std::this_thread::sleep_for(
      50ms);  // it comes back while nobody is there; ASan and TSan see what it touches
}

TEST_CASE("a channel that is being closed takes no calls, and says so with proof", "[plugin]") {
  Opened on(either());
  const auto open = on.start(FetchRequest{"hang"});
  on.wait_for_hanging(1);
  Event is_closed(on.clock);
  on.channel->close(5s, [&](bool) { is_closed.set(); });
  const auto late = on.call(EchoRequest{"x"});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Code::unavailable);
  CHECK(late.error().outcome == Outcome::rejected);
  static_cast<void>(is_closed.wait(Deadline::never()));
  on.channel.reset();
  CHECK(open->wait().error().code == Code::cancelled);
}

TEST_CASE("a plugin has a bounded number of service calls open, and none after its end", "[plugin]") {
  Opened on(either());
  REQUIRE(on.call(FloodRequest{"hang", plugin::kMaxOpenServices + 100}));
  on.wait_for_hanging(plugin::kMaxOpenServices);
  const auto refused = on.call(FetchRequest{"a"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::exhausted);
  CHECK(on.services.hanging == plugin::kMaxOpenServices);
  CHECK(on.close());
  CHECK(on.services.hanging == 0);
}

TEST_CASE("services that a crashed plugin asked for are given up", "[plugin]") {
  Opened on(Where::isolated);
  REQUIRE(on.call(FloodRequest{"hang", 3}));
  on.wait_for_hanging(3);
  CHECK_FALSE(on.call(DieRequest{"abort"}));
  static_cast<void>(on.ended.wait(Deadline::never()));
  CHECK(on.services.hanging == 0);
}

TEST_CASE("services that a plugin asked for before its creation failed are given up", "[plugin]") {
  ChannelFixture on;
  const auto refused = on.open(either(), SLIPWAY_PROBE_PLUGIN, {{"region", "hasty"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("not while a service answers") != std::string::npos);
  CHECK(on.services.hanging == 0);
}

TEST_CASE("instances that share their services get each their own answers", "[plugin]") {
  Opened first(either());
  REQUIRE(first.call(FloodRequest{"hang", 1}));
  first.wait_for_hanging(1);
  auto old = std::move(first.channel);
  REQUIRE(first.open(Where::in_process, SLIPWAY_PROBE_PLUGIN));
  const auto hanging = first.start(FetchLaterRequest{"hang"});
  first.wait_for_hanging(2);
  std::swap(old, first.channel);
  CHECK(first.close());
  first.channel = std::move(old);
  CHECK(first.services.hanging == 1);
  first.channel->cancel(hanging->id);
  CHECK(hanging->wait().error().code == Code::cancelled);
}

TEST_CASE("a request or a reply that no message may be is refused, and the next call works", "[plugin]") {
  Opened on(either());
  const auto end_of = [&](std::string method, std::string body) {
    Event ended(on.clock);
    Error error;
    on.channel->call({std::move(method), std::move(body)},
                     [&](slipway_status status, const std::string& said) {
                       error = decode_error(status, said);
                       ended.set();
                     });
    static_cast<void>(ended.wait(Deadline::never()));
    return error;
  };
  for (const Error& error : {end_of("", "{}"), end_of(std::string(257, 'm'), "{}"),
                             end_of("test.echo/1", std::string(SLIPWAY_MESSAGE_MAX_BYTES + 1, ' '))}) {
    CHECK(error.code == Code::invalid);
    CHECK(error.outcome == Outcome::rejected);
  }
  const auto huge = on.call(FetchRequest{"huge"});
  REQUIRE_FALSE(huge);
  CHECK(huge.error().code == Code::internal);
  CHECK(on.call(EchoRequest{"x"}));
}

TEST_CASE("a child that says what only a host says, or no frame at all, is killed with that reason",
          "[plugin]") {
  struct Row {
    std::string bytes;
    const char* words;
  };
  using plugin::FrameKind;
  const Row row =
      GENERATE(Row{plugin::encode_frame_head({.kind = FrameKind::open}), "what only a host sends"},
               Row{plugin::encode_frame_head({.kind = FrameKind::cancel}), "what only a host sends"},
               Row{std::string(40, '\x7f'), "unknown kind"});
  Opened on(Where::isolated);
  const auto bystander = on.start(FetchRequest{"hang"});
  on.wait_for_hanging(1);
  static_cast<void>(on.call(ForgeRequest{Bytes{row.bytes}}).has_value());  // its answer may come first
  const auto end = bystander->wait();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::unknown);
  CHECK(end.error().message.find("was killed: ") != std::string::npos);
  CHECK(end.error().message.find(row.words) != std::string::npos);
  CHECK(on.sins == 1);
}

TEST_CASE("a child says only once what it is", "[plugin]") {
  Opened on(Where::isolated);
  const std::string before = on.channel->description();
  const std::string body = R"({"description":"another","layers":[],"missing":[]})";
  plugin::Frame frame{.kind = plugin::FrameKind::done, .body = body};
  REQUIRE(on.call(ForgeRequest{Bytes{plugin::encode_frame_head(frame) + body}}));
  CHECK(on.call(EchoRequest{"x"}));
  CHECK(on.channel->description() == before);
  CHECK(on.sins == 1);
}
