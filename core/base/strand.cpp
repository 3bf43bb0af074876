// SPDX-License-Identifier: Apache-2.0
// strand.cpp - a queue of tasks and timers that is worked off in turns, each turn one task of the executor,
// so that many strands share the threads evenly. Thread-safe; no task is run or destroyed with the lock held.
#include "base/strand.hpp"

#include "base/crash.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

namespace slipway {

namespace {
constexpr std::size_t kTasksPerTurn = 32;  // then other strands have theirs
}

struct Strand::State : std::enable_shared_from_this<State> {
  // A due timer keeps its task in `timers` until it runs, so that it can be cancelled until then.
  struct Queued {
    std::uint64_t timer = 0;  // 0: a posted task
    Task task;
  };
  struct Timer {
    std::optional<TimerId> below;  // the executor's timer; absent while it is being set
    Task task;
  };

  explicit State(Executor& executor_given) : executor(executor_given) {}

  void enqueue(Queued entry) {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      queue.push_back(std::move(entry));
      if (std::exchange(turn_posted, true)) return;
    }
    post_turn();
  }

  void post_turn() {
    executor.post([state = shared_from_this()] { state->run_turn(); });
  }

  void run_turn() noexcept {
    std::unique_lock lock(mutex);
    const std::size_t count = std::min(queue.size(), kTasksPerTurn);
    for (std::size_t i = 0; i < count && !closed; ++i) run_first(lock);
    turn_posted = !closed && !queue.empty();
    if (!turn_posted) return;
    lock.unlock();
    post_turn();
  }

  // Called, and returns, with the lock held.
  void run_first(std::unique_lock<std::mutex>& lock) {
    Queued entry = std::move(queue.front());
    queue.pop_front();
    if (entry.timer != 0) {
      const auto node = timers.extract(entry.timer);
      if (!node) return;  // cancelled
      entry.task = std::move(node.mapped().task);
    }
    running_on = std::this_thread::get_id();
    lock.unlock();
    entry.task();
    entry.task = nullptr;  // what it holds goes while the strand is still its own
    lock.lock();
    running_on.reset();
    if (closed) idle.notify_all();
  }

  TimerId post_at(Deadline when, Task task) {
    std::uint64_t id = 0;
    {
      const std::lock_guard lock(mutex);
      id = ++last_timer;
      if (closed) return TimerId{id};
      timers.emplace(id, Timer{{}, std::move(task)});
    }
    const TimerId below = executor.post_at(when, [state = shared_from_this(), id] {
      state->enqueue({id, {}});
    });
    std::unique_lock lock(mutex);
    if (const auto found = timers.find(id); found != timers.end()) {
      found->second.below = below;
      return TimerId{id};
    }
    // It ran, was cancelled or the strand was closed meanwhile.
    lock.unlock();
    executor.cancel(below);
    return TimerId{id};
  }

  bool cancel(std::uint64_t id) {
    std::unique_lock lock(mutex);
    const auto node = timers.extract(id);
    lock.unlock();
    if (!node) return false;
    if (node.mapped().below) executor.cancel(*node.mapped().below);
    return true;
  }

  bool is_current() {
    const std::lock_guard lock(mutex);
    return is_running_here();
  }
  [[nodiscard]] bool is_running_here() const { return running_on == std::this_thread::get_id(); }

  void close() {
    std::unique_lock lock(mutex);
    closed = true;
    const auto dropped_queue = std::exchange(queue, {});
    const auto dropped_timers = std::exchange(timers, {});
    if (!is_running_here()) idle.wait(lock, [this] { return !running_on; });
    lock.unlock();
    for (const auto& [id, timer] : dropped_timers) {
      if (timer.below) executor.cancel(*timer.below);
    }
  }

  Executor& executor;
  std::mutex mutex;              // guards all below
  std::condition_variable idle;  // notified when a task has ended after close()
  std::deque<Queued> queue;
  std::unordered_map<std::uint64_t, Timer> timers;
  std::uint64_t last_timer = 0;
  std::optional<std::thread::id> running_on;  // absent: no task runs
  bool turn_posted = false;                   // a turn is on the executor, or runs
  bool closed = false;
};

Strand::Strand(Executor& executor) : state_(std::make_shared<State>(executor)) {}

Strand::~Strand() { close(); }

void Strand::post(Task task) {
  SLIPWAY_ASSERT(task != nullptr);
  state_->enqueue({0, std::move(task)});
}

TimerId Strand::post_at(Deadline when, Task task) {
  SLIPWAY_ASSERT(task != nullptr && !when.is_never());
  return state_->post_at(when, std::move(task));
}

bool Strand::cancel(TimerId timer) { return state_->cancel(static_cast<std::uint64_t>(timer)); }

const Clock& Strand::clock() const { return state_->executor.clock(); }

bool Strand::is_current() const { return state_->is_current(); }

void Strand::close() { state_->close(); }

}  // namespace slipway
