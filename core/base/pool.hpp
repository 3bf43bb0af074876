// SPDX-License-Identifier: Apache-2.0
// pool.hpp - how much goes on at once: calls to a cloud are bounded in total and for each key (an
// environment, a zone), and a slow or full key delays no other. A job holds its place until it gives its Slot
// back, so an asynchronous call counts until its reply.
#pragma once

#include "base/executor.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace slipway {

// Jobs of one key start in the order of submission; keys take turns. The queue has no bound of its own: who
// submits keeps no more wishes than rows. Has no threads: jobs start on the executor, which must outlive the
// pool. Thread-safe.
class BoundedPool {
  struct State;
  struct Key;

 public:
  // 0 starts nothing more.
  struct Limits {
    std::size_t total = 0;
    std::size_t per_key = 0;
  };
  struct Load {
    std::size_t queued = 0;
    std::size_t running = 0;  // slots given out
    bool operator==(const Load&) const = default;
  };

  // A place in the pool, given back by the destructor; on any thread, also after the pool is gone.
  class Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept = default;
    Slot& operator=(Slot&& other) noexcept;
    ~Slot() { release(); }

    void release();
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend struct State;
    Slot(std::shared_ptr<State> state, Key& key) : state_(std::move(state)), key_(&key) {}

    std::shared_ptr<State> state_;
    Key* key_ = nullptr;  // lives in *state_ while a slot of it is out
  };

  using Job = std::function<void(Slot)>;

  BoundedPool(Executor& executor, Limits limits);
  BoundedPool(const BoundedPool&) = delete;
  BoundedPool& operator=(const BoundedPool&) = delete;
  // Drops the queued jobs unrun; does not wait for running ones.
  ~BoundedPool();

  void submit(std::string_view key, Job job);
  // Drops the queued jobs of a key unrun; returns how many there were.
  std::size_t cancel_queued(std::string_view key);

  // Limits are live: a higher one starts jobs at once, a lower one takes effect as slots come back.
  void set_limits(Limits limits);
  // Overrides per_key for one key; nullopt takes the override away.
  void set_key_limit(std::string_view key, std::optional<std::size_t> limit);

  [[nodiscard]] Load load() const;
  [[nodiscard]] Load load(std::string_view key) const;

 private:
  std::shared_ptr<State> state_;  // shared with the slots, which may outlive the pool
};

}  // namespace slipway
