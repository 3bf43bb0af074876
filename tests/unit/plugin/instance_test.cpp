// SPDX-License-Identifier: Apache-2.0
// instance_test.cpp - the life of an instance over channels that a test plays, in virtual time.
#include "plugin/client.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace slipway;
using namespace slipway::plugin;
using namespace std::chrono_literals;

namespace {

// What the test holds of a channel that the instance owns.
struct Played {
  explicit Played(PluginInstance::ChannelEvents of) : events(std::move(of)) {}

  std::deque<std::pair<PluginCall, RawDone>> calls;  // that have reached it
  std::map<std::uint64_t, RawDone> open;
  std::vector<std::uint64_t> cancelled;
  PluginInstance::ChannelEvents events;
  std::function<void(bool)> closed;
  std::chrono::nanoseconds close_grace{-1};
  bool is_dropped = false;

  void answer(std::uint64_t id, slipway_status status, std::string body = "{}") {
    auto done = std::move(open.at(id));
    open.erase(id);
    events.completions.post([done, status, body] { done(status, body); });
  }
  void crash(const std::string& why) {
    const Error error = fail(Code::unavailable, "{}", why);
    while (!open.empty()) answer(open.begin()->first, SLIPWAY_UNAVAILABLE, encode_error(error));
    events.completions.post([this, error] { events.ended(error); });
  }
  void end_closing(bool is_clean) {
    while (!open.empty()) answer(open.begin()->first, SLIPWAY_UNAVAILABLE);
    events.completions.post([this, is_clean] { closed(is_clean); });
  }
};

class PlayedChannel final : public Channel {
 public:
  explicit PlayedChannel(std::shared_ptr<Played> played) : played_(std::move(played)) {}
  ~PlayedChannel() override { played_->is_dropped = true; }
  CallId call(PluginCall call, RawDone done) override {
    const std::uint64_t id = ++last_;
    played_->open[id] = std::move(done);
    played_->calls.emplace_back(std::move(call), nullptr);
    return CallId{id};
  }
  void cancel(CallId id) override { played_->cancelled.push_back(static_cast<std::uint64_t>(id)); }
  void close(std::chrono::nanoseconds grace, std::function<void(bool)> closed) override {
    played_->closed = std::move(closed);
    played_->close_grace = grace;
    if (played_->open.empty()) played_->end_closing(true);
  }
  const std::string& description() const override { return description_; }
  std::string place() const override { return "in process"; }

 private:
  const std::shared_ptr<Played> played_;
  const std::string description_ = "{}";
  std::uint64_t last_ = 0;
};

struct End {
  slipway_status status = -1;
  Error error;
};

class InstanceFixture {
 public:
  InstanceFixture() { limits.max_calls = 2; }
  ~InstanceFixture() {
    if (instance == nullptr) return;
    if (instance->status().phase != InstancePhase::closed) close();
  }

  void start() {
    instance = std::make_unique<PluginInstance>(executor, random, "test/played", limits, opener());
    executor.run_ready();
  }
  PluginInstance::Opener opener() {
    return [this](PluginInstance::ChannelEvents events, Done<std::unique_ptr<Channel>> opened) {
      opening = std::move(opened);
      next_events.emplace(std::move(events));
    };
  }
  // The channel that is being opened is there.
  std::shared_ptr<Played> open() {
    auto played = std::make_shared<Played>(*next_events);
    next_events.reset();
    all.push_back(played);
    executor.post([done = std::move(opening), played] {
      done(std::unique_ptr<Channel>(std::make_unique<PlayedChannel>(played)));
    });
    executor.run_ready();
    return played;
  }
  void refuse_to_open(Error error) {
    next_events.reset();
    executor.post([done = std::move(opening), error] { done(error); });
    executor.run_ready();
  }
  std::shared_ptr<End> call(std::string method, std::chrono::nanoseconds within = 1h,
                            TicketId* ticket = nullptr) {
    auto end = std::make_shared<End>();
    const TicketId id = instance->call({std::move(method), "{}", Deadline::after(executor.clock(), within)},
                                       [end](slipway_status status, const std::string& body) {
                                         REQUIRE(end->status == -1);  // once
                                         end->status = status;
                                         if (status != SLIPWAY_OK) end->error = decode_error(status, body);
                                       });
    if (ticket != nullptr) *ticket = id;
    executor.run_ready();
    return end;
  }
  void close() {
    bool is_closed = false;
    instance->close(0s, [&] { is_closed = true; });
    executor.run_for(1s);
    if (opening) refuse_to_open(fail(Code::cancelled, "the test is over"));
    for (int i = 0; i < 2 && !is_closed; ++i) {  // the second time: what had to become stuck first
      for (const auto& played : all) {
        if (played->closed && !played->is_dropped) played->end_closing(false);
      }
      executor.run_for(15s);
    }
    CHECK(is_closed);
  }
  InstancePhase phase() const { return instance->status().phase; }

  VirtualExecutor executor;
  SeededRandom random{7};
  InstanceLimits limits;
  Done<std::unique_ptr<Channel>> opening;
  std::optional<PluginInstance::ChannelEvents> next_events;
  std::vector<std::shared_ptr<Played>> all;
  std::unique_ptr<PluginInstance> instance;
};

}  // namespace

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
