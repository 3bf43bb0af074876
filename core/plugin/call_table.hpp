// SPDX-License-Identifier: Apache-2.0
// call_table.hpp - the open calls of one instance, and the calls to the host that are made for them. A call
// is found by its number alone: a plugin's late or second completion finds nothing and is counted, whatever
// it was given to hold.
#pragma once

#include "plugin/channel.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace slipway::plugin {

// What one instance may have open at its host. A plugin that works needs a handful for each of its calls.
inline constexpr std::size_t kMaxOpenServices = 1024;
inline constexpr std::size_t kMaxOpenServiceBytes = std::size_t{64} << 20U;

// Thread-safe. No callback runs with its lock held.
class CallTable : public std::enable_shared_from_this<CallTable> {
 public:
  struct Hooks {
    Executor* completions = nullptr;  // where `done` runs; nullptr: on the thread that completes
    // Gives up a service call: of a call that was cancelled, or that ended before it.
    std::function<void(std::uint64_t)> cancel_service;
    std::function<void()> late_completion;
  };
  // `number`: of the table in the process, the upper bits of its calls' numbers; 0: a new one.
  [[nodiscard]] static std::shared_ptr<CallTable> make(Hooks hooks, std::uint64_t number = 0);
  ~CallTable();

  // The number under which the call is open, unique in this process; call.id if it has one (a child takes its
  // host's). 0: it cannot be made, and `done` gets the reason, which is proof that nothing came of it.
  [[nodiscard]] std::uint64_t open(const PluginCall& call, RawDone done);
  // By the plugin's word. False: not open; counted, but not after close().
  bool complete(std::uint64_t id, slipway_status status, std::string body);
  // Ends a call that the plugin has not seen. Not open: ignored.
  void reject(std::uint64_t id, const Error& why);
  // True: the call is open and was not cancelled before; its service calls are.
  bool cancel(std::uint64_t id);
  // Open and not cancelled.
  [[nodiscard]] bool is_wanted(std::uint64_t id) const;
  // The `cancelled` of abi.h. After close() true of all: what the plugin still works at was given up.
  [[nodiscard]] bool is_given_up(std::uint64_t id) const;
  // Calls that come later end with this, as rejected.
  void refuse(const Error& why);
  // Also the open ones, with the outcome that it says; and all services are given up, and refused.
  void close(const Error& why);

  // A service call of so many bytes is made for `parent` (0: for none): the time that bounds it. cancelled:
  // the parent is not open or was cancelled; exhausted: too many are open. What was added is removed.
  [[nodiscard]] Result<Deadline> add_service(std::uint64_t parent, std::uint64_t service, std::size_t bytes);
  void remove_service(std::uint64_t parent, std::uint64_t service, std::size_t bytes);

  [[nodiscard]] std::vector<std::uint64_t> open_calls() const;
  // Calls `drained` once, as soon as no call is open; on the thread that ended the last one, or at once.
  void when_drained(std::function<void()> drained);
  [[nodiscard]] std::uint64_t number() const { return number_; }

  // slipway_done for a plugin in this process: the token is the call's number.
  static void complete_by_token(void* token, slipway_status status, slipway_bytes body) noexcept;
  [[nodiscard]] static void* token_of(std::uint64_t id);

 private:
  struct Open {
    RawDone done;
    Deadline deadline = Deadline::never();
    bool is_cancelled = false;
    std::vector<std::uint64_t> services;
  };

  CallTable(Hooks hooks, std::uint64_t number) : hooks_(std::move(hooks)), number_(number) {}
  // Takes a call out and ends it; false: not open.
  bool end(std::uint64_t id, slipway_status status, std::string body);
  void finish(RawDone done, slipway_status status, std::string body);

  const Hooks hooks_;
  const std::uint64_t number_;

  mutable std::mutex open_mutex_;  // guards what follows
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t next_ = 1;
  std::optional<Error> refusal_;
  bool is_closed_ = false;
  std::vector<std::uint64_t> own_services_;  // for no call
  std::size_t services_ = 0;                 // open ones of all calls and of none, and their bytes
  std::size_t service_bytes_ = 0;
  std::function<void()> drained_;
};

}  // namespace slipway::plugin
