// SPDX-License-Identifier: Apache-2.0
// channel.hpp - the way to one instance of a plugin, in this process (in_process.hpp) or in a child of it
// (isolated.hpp), with one behaviour. A channel carries bytes and knows no deadline but to pass it on; who
// waits how long, and what follows a crash, is Instance's (instance.hpp).
#pragma once

#include "base/executor.hpp"
#include "plugin/services.hpp"

#include <slipway/messages/manifest.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace slipway::plugin {

enum class CallId : std::uint64_t {};

struct PluginCall {
  std::string method;
  std::string body;  // JSON
  Deadline deadline = Deadline::never();
  std::uint64_t id = 0;  // in a child: the number that the host gave; else 0, and the channel gives one
};

// What a plugin did that it must not; each is a bug of its author, and counted.
enum class Sin { late_completion, bad_request, broken_frame };
BOOST_DESCRIBE_ENUM(Sin, late_completion, bad_request, broken_frame)

// Thread-safe. close() before the destructor.
class Channel {
 public:
  virtual ~Channel() = default;

  // Never blocks. `done` is called exactly once, on the completions executor, with what the plugin said or
  // with the reason why it says nothing more.
  virtual CallId call(PluginCall call, RawDone done) = 0;
  // Tells the plugin that nobody waits any more; the call still ends by its `done`. Not open: ignored.
  virtual void cancel(CallId id) = 0;

  // Takes no more calls, cancels the open ones, waits for them at most `grace`, then ends the instance.
  // `closed(is_clean)` comes once, on the completions executor. Not clean: something of the plugin still ran
  // at the end; a child was killed, threads in this process were written off. Afterwards no completion comes,
  // and nothing of the channel touches the completions executor.
  virtual void close(std::chrono::nanoseconds grace, std::function<void(bool is_clean)> closed) = 0;

  // The plugin's manifest as describe answered it.
  [[nodiscard]] virtual const std::string& description() const = 0;
  // For people: "in process", or "process 4711 (user namespace, seccomp, …)".
  [[nodiscard]] virtual std::string place() const = 0;
};

// What an instance is made of. The references outlive the channel, and what a plugin still uses after an
// unclean end in this process (services, executors) lives until the process ends: see InProcess.
struct OpenSpec {
  std::string library;  // the file that was verified
  CreateMessage create;
  unsigned threads = 4;  // of the pool that calls run on, at least 1
  HostServices& services;
  Executor& completions;  // never runs plugin code; one task at a time, in their order
  // The instance is gone although nobody closed it. At most once, on the completions executor, after all open
  // calls have got the same reason.
  std::function<void(Error why)> ended;
  // On any thread; must not block.
  std::function<void(Sin sin)> misbehaved;

  // Of a child only, where the ends of calls become frames: they may then be written on the plugin's own
  // threads, and one number names a call on both sides.
  bool is_child = false;
  std::uint64_t table_number = 0;
};

}  // namespace slipway::plugin
