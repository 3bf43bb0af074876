// SPDX-License-Identifier: Apache-2.0
// stop.cpp - the one-shot event. Thread-safe.
#include "base/stop.hpp"

namespace slipway {

void Event::set() {
  // Notified under the lock: a waiter may destroy the event as soon as it can take the lock.
  const std::lock_guard lock(set_mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Event::is_set() const {
  const std::lock_guard lock(set_mutex_);
  return set_;
}

WaitEnd Event::wait(Deadline deadline, const std::stop_token& stop) const {
  std::unique_lock lock(set_mutex_);
  return slipway::wait(changed_, lock, clock_, deadline, stop, [this] { return set_; });
}

}  // namespace slipway
