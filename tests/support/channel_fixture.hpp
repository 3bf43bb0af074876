// SPDX-License-Identifier: Apache-2.0
// channel_fixture.hpp - a plugin behind a channel of either kind, with fake services, for tests that wait.
#pragma once

#include "base/stop.hpp"
#include "base/strand.hpp"
#include "plugin/client.hpp"
#include "plugin/in_process.hpp"
#include "plugin/isolated.hpp"
#include "support/fake_services.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#ifndef SLIPWAY_PLUGIN_HOST
#define SLIPWAY_PLUGIN_HOST \
  "slipway-plugin-host"  // so that this header stands alone; the build says the path
#endif

namespace slipway {

enum class Where { in_process, isolated };
BOOST_DESCRIBE_ENUM(Where, in_process, isolated)

// One for the process: its thread makes all children.
inline plugin::Spawner& test_spawner() {
  static plugin::Spawner spawner;
  return spawner;
}

inline plugin::Isolation test_isolation(Executor& helpers, const std::string& library) {
  return {SLIPWAY_PLUGIN_HOST,
          {.profile = Profile::pure,
           .mode = plugin::SandboxMode::best_effort,
           .readable_paths = {library.substr(0, library.rfind('/'))},
           .limits = {}},
          test_spawner(),
          helpers};
}

class ChannelFixture {
 public:
  ChannelFixture() = default;
  ~ChannelFixture() {
    if (channel != nullptr) static_cast<void>(close());
  }

  // Waits until it is open.
  Result<Unit> open(Where where, const std::string& library, json::object settings = {},
                    unsigned threads = 4) {
    CreateMessage create;
    create.settings = std::move(settings);
    create.environment = {"test", "4f1c09d2"};
    plugin::OpenSpec spec{.library = library,
                          .create = std::move(create),
                          .threads = threads,
                          .services = services,
                          .completions = completions,
                          .ended =
                              [this](const Error& why) {
                                end_reason = why.message;
                                ended.set();
                              },
                          .misbehaved = [this](plugin::Sin) { ++sins; }};
    Event is_open(clock);
    Status status = ok();
    auto opened = [&](Result<std::unique_ptr<plugin::Channel>> result) {
      if (result) {
        channel = *std::move(result);
      } else {
        status = std::move(result).error();
      }
      is_open.set();
    };
    if (where == Where::in_process) {
      plugin::open_in_process(std::move(spec), nullptr, opened);
    } else {
      plugin::open_isolated(std::move(spec), test_isolation(executor, library), opened);
    }
    static_cast<void>(is_open.wait(Deadline::never()));
    return status;
  }

  template <Request R>
  struct Pending {
    explicit Pending(const Clock& clock) : has_ended(clock) {}
    Event has_ended;
    plugin::CallId id{};
    std::optional<Result<typename R::Reply>> end;
    Result<typename R::Reply> wait() {
      static_cast<void>(has_ended.wait(Deadline::never()));
      return *std::move(end);
    }
  };

  template <Request R>
  std::shared_ptr<Pending<R>> start(const R& request, Deadline deadline = Deadline::never()) {
    auto pending = std::make_shared<Pending<R>>(clock);
    pending->id = channel->call({std::string(R::method), encode(request), deadline},
                                [pending](slipway_status status, const std::string& body) {
                                  pending->end.emplace(plugin::read_reply<R>(status, body));
                                  pending->has_ended.set();
                                });
    return pending;
  }
  template <Request R>
  Result<typename R::Reply> call(const R& request, Deadline deadline = Deadline::never()) {
    return start(request, deadline)->wait();
  }

  // Whether it was clean.
  bool close(std::chrono::nanoseconds grace = std::chrono::seconds(5)) {
    Event is_closed(clock);
    bool was_clean = false;
    channel->close(grace, [&](bool is_clean) {
      was_clean = is_clean;
      is_closed.set();
    });
    static_cast<void>(is_closed.wait(Deadline::never()));
    channel.reset();
    return was_clean;
  }

  SystemClock clock;
  ThreadExecutor executor{clock, 2, "test"};
  Strand completions{executor};
  FakeServices services{executor};
  std::atomic<int> sins{0};
  std::string end_reason;  // read after `ended`
  Event ended{clock};
  std::unique_ptr<plugin::Channel> channel;
};

}  // namespace slipway
