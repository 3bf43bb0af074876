// SPDX-License-Identifier: Apache-2.0
// pool.cpp - the bounded pool: a queue for each key and a round of the keys that may start a job. Every
// operation but set_limits() takes logarithmic time in the number of keys. Thread-safe; no job is started or
// destroyed with the lock held.
#include "base/pool.hpp"

#include "base/crash.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace slipway {

struct BoundedPool::Key {
  std::string name;
  std::deque<Job> queue;
  std::size_t running = 0;
  std::optional<std::size_t> limit;
  bool in_round = false;
};

struct BoundedPool::State : std::enable_shared_from_this<State> {
  struct Start {
    Slot slot;
    Job job;
  };

  State(Executor& executor_given, Limits limits_given) : executor(executor_given), limits(limits_given) {}

  Key& key(std::string_view name) {
    const auto found = keys.find(name);
    if (found != keys.end()) return found->second;
    Key& added = keys[std::string(name)];
    added.name = name;
    return added;
  }

  [[nodiscard]] bool may_start(const Key& key) const {
    return !key.queue.empty() && key.running < key.limit.value_or(limits.per_key);
  }

  // After any change to a key: puts it at the end of the round if it may start a job now.
  void enter_round(Key& key) {
    if (!key.in_round && may_start(key)) {
      key.in_round = true;
      round.push_back(&key);
    }
  }

  // A key that nothing refers to is forgotten, so that names which come and go cost nothing.
  void forget_if_unused(const Key& key) {
    if (key.queue.empty() && key.running == 0 && !key.limit && !key.in_round) keys.erase(keys.find(key.name));
  }

  std::optional<Start> take_next() {
    while (running < limits.total && !round.empty()) {
      Key& key = *round.front();
      round.pop_front();
      key.in_round = false;
      if (!may_start(key)) {  // a limit fell or the queue was cancelled since it entered
        forget_if_unused(key);
        continue;
      }
      Start start{Slot(shared_from_this(), key), std::move(key.queue.front())};
      key.queue.pop_front();
      --queued;
      ++running;
      ++key.running;
      enter_round(key);
      return start;
    }
    return std::nullopt;
  }

  // Starts what may start. One thread at a time, so that jobs are posted in their order; what changes
  // meanwhile is seen by its next look. Also keeps the stack flat when the executor drops a job at once and
  // its slot comes back in here.
  void dispatch() {
    std::unique_lock lock(mutex);
    if (std::exchange(dispatching, true)) return;
    while (auto start = take_next()) {
      lock.unlock();
      post(std::move(*start));
      start.reset();
      lock.lock();
    }
    dispatching = false;
  }

  void post(Start start) {
    // A Task can be copied and a Slot cannot, hence the pointer.
    executor.post([start = std::make_shared<Start>(std::move(start))] {
      if (!start->slot.state_->is_closed()) start->job(std::move(start->slot));
    });
  }

  void give_back(Key& key) {
    {
      const std::lock_guard lock(mutex);
      --running;
      --key.running;
      enter_round(key);
      forget_if_unused(key);
    }
    dispatch();
  }

  bool is_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }

  Executor& executor;
  std::mutex mutex;  // guards all below
  Limits limits;
  std::map<std::string, Key, std::less<>> keys;
  std::deque<Key*> round;  // keys that could start a job when they entered, each once
  std::size_t queued = 0;
  std::size_t running = 0;
  bool dispatching = false;
  bool closed = false;  // the pool is gone, and the queues are empty
};

BoundedPool::Slot& BoundedPool::Slot::operator=(Slot&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
    key_ = other.key_;
  }
  return *this;
}

void BoundedPool::Slot::release() {
  if (const auto state = std::exchange(state_, nullptr)) state->give_back(*key_);
}

BoundedPool::BoundedPool(Executor& executor, Limits limits)
    : state_(std::make_shared<State>(executor, limits)) {}

BoundedPool::~BoundedPool() {
  std::map<std::string, std::deque<Job>> dropped;
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  for (auto& [name, key] : state_->keys) dropped[name].swap(key.queue);
  state_->queued = 0;
}

void BoundedPool::submit(std::string_view key, Job job) {
  SLIPWAY_ASSERT(job != nullptr);
  {
    const std::lock_guard lock(state_->mutex);
    Key& entry = state_->key(key);
    entry.queue.push_back(std::move(job));
    ++state_->queued;
    state_->enter_round(entry);
  }
  state_->dispatch();
}

std::size_t BoundedPool::cancel_queued(std::string_view key) {
  std::deque<Job> dropped;  // destroyed after the lock is gone
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->keys.find(key);
  if (found == state_->keys.end()) return 0;
  dropped.swap(found->second.queue);
  state_->queued -= dropped.size();
  state_->forget_if_unused(found->second);
  return dropped.size();
}

void BoundedPool::set_limits(Limits limits) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->limits = limits;
    for (auto& [name, key] : state_->keys) state_->enter_round(key);
  }
  state_->dispatch();
}

void BoundedPool::set_key_limit(std::string_view key, std::optional<std::size_t> limit) {
  {
    const std::lock_guard lock(state_->mutex);
    Key& entry = state_->key(key);
    entry.limit = limit;
    state_->enter_round(entry);
    state_->forget_if_unused(entry);
  }
  state_->dispatch();
}

BoundedPool::Load BoundedPool::load() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->queued, state_->running};
}

BoundedPool::Load BoundedPool::load(std::string_view key) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->keys.find(key);
  return found == state_->keys.end() ? Load{} : Load{found->second.queue.size(), found->second.running};
}

}  // namespace slipway
