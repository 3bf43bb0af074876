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

  // The call's number, unique in this process; `id`: the one that it must be (a child takes its host's). 0:
  // the table is closed, and `done` gets the reason.
  [[nodiscard]] std::uint64_t open(Deadline deadline, RawDone done, std::uint64_t id = 0);
  // False: not open; counted.
  bool complete(std::uint64_t id, slipway_status status, std::string body);
  // True: the call is open and was not cancelled before; its service calls are.
  bool cancel(std::uint64_t id);
  // Also true of a call that is open no longer: nobody waits for it either.
  [[nodiscard]] bool is_cancelled(std::uint64_t id) const;
  // Calls that are open and that come later end with this.
  void close(const Error& why);

  // A service call is made for `parent`: the time that bounds it, or nothing when the parent is not open or
  // was cancelled. 0 as parent has no bound.
  [[nodiscard]] std::optional<Deadline> add_service(std::uint64_t parent, std::uint64_t service);
  void remove_service(std::uint64_t parent, std::uint64_t service);

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
  std::optional<Error> closed_;
  std::function<void()> drained_;
};

}  // namespace slipway::plugin
