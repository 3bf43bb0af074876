// SPDX-License-Identifier: Apache-2.0
// feed.hpp - who follows the state, and what happened since: the newest changes in memory, older ones in the
// engine, and a wake-up for each subscriber. Never waits for the writer. Thread-safe.
#pragma once

#include "base/executor.hpp"
#include "model/change.hpp"
#include "store/engine.hpp"

#include <slipway/result.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace slipway::store {

// What happened after a revision.
struct Changes {
  std::vector<model::Change> changes;
  model::Revision up_to;  // go on from here; whole transactions only
  bool resync = false;    // what was asked for is trimmed: take a snapshot and go on from its revision
};

// Woken until it is destroyed, on the executor that it was made for (Store::subscribe).
class Subscription {
 public:
  struct Follower;
  explicit Subscription(std::shared_ptr<Follower> follower) : follower_(std::move(follower)) {}
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription();

 private:
  std::shared_ptr<Follower> follower_;  // shared with the feed and with a wake-up that is on its way
};

class Feed {
 public:
  // `recent_limit`: changes that are kept in memory.
  explicit Feed(std::size_t recent_limit) : recent_limit_(recent_limit) {}

  // The state was read from the engine: nothing is in memory, and changes up to `trimmed` are gone.
  void restart(model::Revision loaded, model::Revision trimmed);
  void trim(model::Revision trimmed);
  // `newest` is committed, and snapshots show it; `changes` led there. Wakes who follows.
  void publish(model::Revision newest, std::vector<model::Change> changes);

  // As Store::changes() and Store::subscribe(); `engine` has what is not in memory.
  [[nodiscard]] Result<Changes> changes(model::Revision after, std::size_t limit, Engine& engine) const;
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(Executor& where,
                                                        std::function<void(model::Revision)> wake);

 private:
  [[nodiscard]] Changes from_memory(model::Revision after, std::size_t limit) const;

  const std::size_t recent_limit_;

  mutable std::mutex mutex_;  // guards the following
  model::Revision newest_;
  std::deque<model::Change> recent_;
  model::Revision recent_after_;   // recent_ has everything after this one
  model::Revision trimmed_up_to_;  // changes up to here are gone
  std::vector<std::weak_ptr<Subscription::Follower>> followers_;
};

}  // namespace slipway::store
