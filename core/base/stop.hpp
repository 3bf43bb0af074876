// SPDX-License-Identifier: Apache-2.0
// stop.hpp - how a thread waits: until something is ready, a deadline passes or a std::stop_token asks to
// stop, whichever is first. Only for real threads; what runs on an Executor does not wait, it posts.
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace slipway {

enum class WaitEnd { ready, deadline, stopped };

// Waits with `lock` held until ready() is true, which wins over the other two. `changed` is notified whenever
// ready() may have become true. The deadline is on `clock`, whose time must run as the machine's does.
template <class Ready>
[[nodiscard]] WaitEnd wait(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock,
                           const Clock& clock, Deadline deadline, const std::stop_token& stop, Ready ready) {
  constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::hours(1);  // a span that cannot overflow
  while (true) {
    if (ready()) return WaitEnd::ready;
    if (stop.stop_requested()) return WaitEnd::stopped;
    if (deadline.has_passed(clock)) return WaitEnd::deadline;
    changed.wait_for(lock, stop, std::min(deadline.left(clock), kLongestSleep), ready);
  }
}

// Something that happens once, for any number of threads that wait for it: the result of a commit or of a
// call is there. What was written before set() is seen after wait() says ready. Thread-safe; may be destroyed
// as soon as wait() has said ready.
class Event {
 public:
  // The clock must outlive the event.
  explicit Event(const Clock& clock) : clock_(clock) {}

  void set();
  [[nodiscard]] bool is_set() const;
  [[nodiscard]] WaitEnd wait(Deadline deadline, const std::stop_token& stop = {}) const;

 private:
  const Clock& clock_;
  mutable std::mutex set_mutex_;  // guards set_
  mutable std::condition_variable_any changed_;
  bool set_ = false;
};

}  // namespace slipway
