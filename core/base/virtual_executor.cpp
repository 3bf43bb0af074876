// SPDX-License-Identifier: Apache-2.0
// virtual_executor.cpp - the executor of tests and of the simulation: one thread, its own clock, a fixed
// order. One strand.
#include "base/crash.hpp"
#include "base/executor.hpp"

#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

namespace slipway {

struct VirtualExecutor::Impl {
  // By time, then by order of posting.
  using TimerKey = std::pair<std::int64_t, std::uint64_t>;

  explicit Impl(std::int64_t utc_ms) : clock(utc_ms) {}

  // The next thing to run now: ready tasks go before due timers. Empty: the clock must move first.
  Task take_next() {
    if (!ready.empty()) {
      Task task = std::move(ready.front());
      ready.pop_front();
      return task;
    }
    if (timers.empty() || timers.begin()->first.first > clock.monotonic_ns()) return {};
    auto node = timers.extract(timers.begin());
    timer_times.erase(node.key().second);
    return std::move(node.mapped());
  }

  std::size_t run_ready() {
    std::size_t count = 0;
    while (const Task task = take_next()) {
      task();
      ++count;
    }
    return count;
  }

  void move_clock_to(std::int64_t monotonic_ns) {
    clock.advance(std::chrono::nanoseconds(monotonic_ns - clock.monotonic_ns()));
  }

  // Runs everything up to and including the end, and leaves the clock where the last of it ran.
  std::size_t run_until(Deadline end) {
    std::size_t count = run_ready();
    while (!timers.empty() && timers.begin()->first.first <= end.ns()) {
      move_clock_to(timers.begin()->first.first);
      count += run_ready();
    }
    return count;
  }

  FakeClock clock;
  std::deque<Task> ready;
  std::map<TimerKey, Task> timers;
  std::unordered_map<std::uint64_t, std::int64_t> timer_times;  // to find a timer by its id
  std::uint64_t last_timer = 0;
};

VirtualExecutor::VirtualExecutor(std::int64_t utc_ms) : impl_(std::make_unique<Impl>(utc_ms)) {}

VirtualExecutor::~VirtualExecutor() { drop_all(); }

void VirtualExecutor::post(Task task) {
  SLIPWAY_ASSERT(task != nullptr);
  impl_->ready.push_back(std::move(task));
}

TimerId VirtualExecutor::post_at(Deadline when, Task task) {
  SLIPWAY_ASSERT(task != nullptr && !when.is_never());
  const std::uint64_t id = ++impl_->last_timer;
  impl_->timers.emplace(Impl::TimerKey(when.ns(), id), std::move(task));
  impl_->timer_times.emplace(id, when.ns());
  return TimerId{id};
}

bool VirtualExecutor::cancel(TimerId timer) {
  const auto found = impl_->timer_times.find(static_cast<std::uint64_t>(timer));
  if (found == impl_->timer_times.end()) return false;
  // Out of both maps before the task is destroyed, which may call back.
  const auto node = impl_->timers.extract(Impl::TimerKey(found->second, found->first));
  impl_->timer_times.erase(found);
  return true;
}

const Clock& VirtualExecutor::clock() const { return impl_->clock; }

std::size_t VirtualExecutor::run_ready() { return impl_->run_ready(); }

std::size_t VirtualExecutor::run_for(std::chrono::nanoseconds span) {
  const Deadline end = Deadline::after(impl_->clock, span);
  SLIPWAY_ASSERT(span.count() >= 0 && !end.is_never());
  const std::size_t count = impl_->run_until(end);
  impl_->move_clock_to(end.ns());
  return count;
}

bool VirtualExecutor::run_until_idle(std::chrono::nanoseconds limit) {
  const Deadline end = Deadline::after(impl_->clock, limit);
  impl_->run_until(end);
  if (impl_->timers.empty()) return true;
  impl_->move_clock_to(end.ns());
  return false;
}

void VirtualExecutor::drop_all() {
  // What is destroyed may post again; that is dropped too.
  while (!impl_->ready.empty() || !impl_->timers.empty()) {
    const auto ready = std::exchange(impl_->ready, {});
    const auto timers = std::exchange(impl_->timers, {});
    impl_->timer_times.clear();
  }
}

}  // namespace slipway
