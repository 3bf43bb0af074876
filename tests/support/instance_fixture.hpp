// SPDX-License-Identifier: Apache-2.0
// instance_fixture.hpp - an instance over channels that a test plays, in virtual time. One thread.
#pragma once

#include "plugin/client.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway {

// What the test holds of a channel that the instance owns.
struct Played {
  explicit Played(plugin::PluginInstance::ChannelEvents of) : events(std::move(of)) {}

  std::deque<std::pair<plugin::PluginCall, plugin::RawDone>> calls;  // that have reached it
  std::map<std::uint64_t, plugin::RawDone> open;
  std::vector<std::uint64_t> cancelled;
  plugin::PluginInstance::ChannelEvents events;
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

class PlayedChannel final : public plugin::Channel {
 public:
  explicit PlayedChannel(std::shared_ptr<Played> played) : played_(std::move(played)) {}
  ~PlayedChannel() override { played_->is_dropped = true; }
  plugin::CallId call(plugin::PluginCall call, plugin::RawDone done) override {
    const std::uint64_t id = ++last_;
    played_->open[id] = std::move(done);
    played_->calls.emplace_back(std::move(call), nullptr);
    return plugin::CallId{id};
  }
  void cancel(plugin::CallId id) override { played_->cancelled.push_back(static_cast<std::uint64_t>(id)); }
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
    if (instance->status().phase != plugin::InstancePhase::closed) close();
  }

  void start() {
    instance = std::make_unique<plugin::PluginInstance>(executor, random, "test/played", limits, opener());
    executor.run_ready();
  }
  plugin::PluginInstance::Opener opener() {
    return [this](plugin::PluginInstance::ChannelEvents events,
                  plugin::Done<std::unique_ptr<plugin::Channel>> opened) {
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
      done(std::unique_ptr<plugin::Channel>(std::make_unique<PlayedChannel>(played)));
    });
    executor.run_ready();
    return played;
  }
  void refuse_to_open(Error error) {
    next_events.reset();
    executor.post([done = std::move(opening), error] { done(error); });
    executor.run_ready();
  }
  std::shared_ptr<End> call(std::string method, std::chrono::nanoseconds within = std::chrono::hours(1),
                            plugin::TicketId* ticket = nullptr) {
    auto end = std::make_shared<End>();
    const plugin::TicketId id =
        instance->call({std::move(method), "{}", Deadline::after(executor.clock(), within)},
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
    instance->close(std::chrono::seconds(0), [&] { is_closed = true; });
    executor.run_for(std::chrono::seconds(1));
    if (opening) refuse_to_open(fail(Code::cancelled, "the test is over"));
    for (int i = 0; i < 2 && !is_closed; ++i) {  // the second time: what had to become stuck first
      for (const auto& played : all) {
        if (played->closed && !played->is_dropped) played->end_closing(false);
      }
      executor.run_for(std::chrono::seconds(15));
    }
    CHECK(is_closed);
  }
  plugin::InstancePhase phase() const { return instance->status().phase; }

  VirtualExecutor executor;
  SeededRandom random{7};
  plugin::InstanceLimits limits;
  plugin::Done<std::unique_ptr<plugin::Channel>> opening;
  std::optional<plugin::PluginInstance::ChannelEvents> next_events;
  std::vector<std::shared_ptr<Played>> all;
  std::unique_ptr<plugin::PluginInstance> instance;
};

}  // namespace slipway
