// SPDX-License-Identifier: Apache-2.0
// instance.hpp - the life of one instance of a plugin: one credential, one pool, one crash domain. It opens
// the channel, bounds how many calls go on and how long, restarts after a crash, and gives a plugin up that
// keeps failing. What the calls mean is of no interest here.
#pragma once

#include "base/backoff.hpp"
#include "base/executor.hpp"
#include "base/random.hpp"
#include "plugin/channel.hpp"

#include <boost/describe/enum.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace slipway::plugin {

enum class InstancePhase {
  opening,  // calls wait for it
  ready,
  backing_off,  // ended by itself; opened again after a while, calls are refused until then
  quarantined,  // failed too often: refused until somebody lifts it
  closed
};
BOOST_DESCRIBE_ENUM(InstancePhase, opening, ready, backing_off, quarantined, closed)

struct InstanceLimits {
  unsigned max_calls = 16;  // that go on at once; more wait in their order. Never above the manifest's
  std::chrono::nanoseconds cancel_grace = std::chrono::seconds(10);  // then it is stuck
  Backoff restart = kPluginRestartBackoff;
  unsigned failures = 5;  // crashes, stuck calls and internal errors within `window`: quarantine
  std::chrono::nanoseconds window = std::chrono::minutes(10);
  std::chrono::nanoseconds drain =
      std::chrono::minutes(2);  // of a replaced instance, then its calls are cancelled
};

struct InstanceStatus {
  InstancePhase phase = InstancePhase::opening;
  std::string reason;  // of backing_off and quarantined, for people
  std::string place;   // "in process", "process 4711 (…)"
  unsigned running = 0;
  unsigned waiting = 0;
  std::uint64_t starts = 0;
  std::uint64_t crashes = 0;
  std::uint64_t stuck = 0;
  std::uint64_t internal_errors = 0;
  std::uint64_t late_completions = 0;
  std::uint64_t bad_requests = 0;
};

enum class TicketId : std::uint64_t {};

// Thread-safe. Works on a strand of `executor`; no callback runs under a lock. close() before the destructor.
class PluginInstance {
 public:
  // How a channel is made: the daemon's opens the verified version with the environment's settings. It fills
  // the callbacks into its OpenSpec. `in_process_is_out`: threads of this plugin in this process had to be
  // written off, so the next one is isolated or there is none.
  struct ChannelEvents {
    Executor& completions;
    std::function<void(Error)> ended;
    std::function<void(Sin)> misbehaved;
    bool in_process_is_out = false;
  };
  using Opener = std::function<void(ChannelEvents events, Done<std::unique_ptr<Channel>> opened)>;

  struct Hooks {
    // One call has ended. `took` from its begin (not from its waiting).
    std::function<void(std::string_view method, slipway_status status, std::chrono::nanoseconds took)>
        call_ended;
    std::function<void(const InstanceStatus&)> changed;  // of the phase
  };

  // `name` is for logs: "prod/openstack". Opens at once.
  PluginInstance(Executor& executor, Random& random, std::string name, InstanceLimits limits, Opener opener,
                 Hooks hooks = {});
  ~PluginInstance();

  // `done` exactly once. A call ends by the plugin's word; after its deadline the plugin is told, and has
  // cancel_grace; then the instance is stuck, and ended. An end that the plugin never began is `rejected`.
  TicketId call(PluginCall call, RawDone done);
  // Gives a call up; it still ends by its `done`.
  void cancel(TicketId ticket);

  // New settings, another credential or version: opens beside the old one, which drains and is closed. On
  // failure the old one stays. Of several that open at once the one that was asked for last stays.
  void replace(Opener opener, Done<Unit> replaced);
  // Out of quarantine, or of waiting for the next try.
  void retry();
  // Takes no more calls; what runs has `grace`, then it is cancelled. `closed` comes once, when no channel is
  // left, none that was just being opened either.
  void close(std::chrono::nanoseconds grace, std::function<void()> closed);

  [[nodiscard]] InstanceStatus status() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with tasks and timers, which may come late
};

}  // namespace slipway::plugin
