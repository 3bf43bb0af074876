// SPDX-License-Identifier: Apache-2.0
#include "store/feed.hpp"

#include "store/tables.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <utility>

namespace slipway::store {

using model::Change;
using model::Revision;

namespace {

Changes resync_from(Revision newest) { return {{}, newest, true}; }

}  // namespace

// One subscription's mailbox: at most one wake-up is on its way.
struct Subscription::Follower {
  Follower(Executor& executor, std::function<void(Revision)> call) : where(executor), wake(std::move(call)) {}

  void post(const std::shared_ptr<Follower>& self, Revision revision) {
    const std::lock_guard lock(where_mutex);
    newest = revision.value;
    if (is_over || is_posted.exchange(true)) return;
    where.post([self] {
      self->is_posted = false;
      if (!self->is_over) self->wake(Revision{self->newest});
    });
  }
  void end() {
    const std::lock_guard lock(where_mutex);
    is_over = true;
  }

  std::mutex where_mutex;  // guards `where`, which may go as soon as the subscription is over
  Executor& where;
  std::function<void(Revision)> wake;  // called and dropped on `where` only
  std::atomic<std::uint64_t> newest{0};
  std::atomic<bool> is_posted{false};
  std::atomic<bool> is_over{false};
};

Subscription::~Subscription() { follower_->end(); }

void Feed::restart(Revision loaded, Revision trimmed) {
  const std::lock_guard lock(mutex_);
  recent_.clear();
  recent_after_ = loaded;
  trimmed_up_to_ = trimmed;
}

void Feed::trim(Revision trimmed) {
  const std::lock_guard lock(mutex_);
  trimmed_up_to_ = trimmed;
}

void Feed::publish(Revision newest, std::vector<Change> changes) {
  std::vector<std::shared_ptr<Subscription::Follower>> to_wake;
  {
    const std::lock_guard lock(mutex_);
    newest_ = newest;
    std::move(changes.begin(), changes.end(), std::back_inserter(recent_));
    while (recent_.size() > recent_limit_) {
      recent_after_ = recent_.front().revision;
      while (!recent_.empty() && recent_.front().revision == recent_after_) recent_.pop_front();
    }
    for (const auto& weak : followers_) {
      if (auto follower = weak.lock()) to_wake.push_back(std::move(follower));
    }
  }
  for (const auto& follower : to_wake) follower->post(follower, newest);
}

std::unique_ptr<Subscription> Feed::subscribe(Executor& where, std::function<void(Revision)> wake) {
  auto follower = std::make_shared<Subscription::Follower>(where, std::move(wake));
  const std::lock_guard lock(mutex_);
  std::erase_if(followers_, [](const std::weak_ptr<Subscription::Follower>& gone) { return gone.expired(); });
  followers_.push_back(follower);
  return std::make_unique<Subscription>(std::move(follower));
}

// Called with the mutex held.
Changes Feed::from_memory(Revision after, std::size_t limit) const {
  Changes result;
  result.up_to = after;
  auto at =
      std::upper_bound(recent_.begin(), recent_.end(), after,
                       [](Revision revision, const Change& change) { return revision < change.revision; });
  while (at != recent_.end() && (result.changes.size() < limit || at->revision == result.up_to)) {
    result.up_to = at->revision;
    result.changes.push_back(*at++);
  }
  if (at == recent_.end()) result.up_to = newest_;
  return result;
}

Result<Changes> Feed::changes(Revision after, std::size_t limit, Engine& engine) const {
  Changes result;
  Revision newest;
  {
    const std::lock_guard lock(mutex_);
    newest = newest_;
    result.up_to = after;
    if (after >= newest) return result;
    if (after < trimmed_up_to_) return resync_from(newest);
    if (after >= recent_after_) return from_memory(after, limit);
  }
  const Values from{static_cast<std::int64_t>(after.value), std::numeric_limits<std::int64_t>::max()};
  SLIPWAY_TRY(auto rows, engine.read(kTableNumber<Change>, {}, from, std::max<std::size_t>(limit, 1) + 1));
  {
    // What was trimmed meanwhile may be missing in the rows.
    const std::lock_guard lock(mutex_);
    if (after < trimmed_up_to_) return resync_from(newest);
  }
  const bool is_cut = rows.size() > limit;
  for (Values& values : rows) {
    SLIPWAY_TRY(Change change, from_values<Change>(std::move(values)));
    if (change.revision > newest) break;  // committed, not published yet
    result.changes.push_back(std::move(change));
  }
  if (result.changes.empty()) {
    result.up_to = newest;
    return result;
  }
  if (is_cut) {
    // The last transaction may be cut off: leave it to the next call, unless it is all that was read.
    const Revision last = result.changes.back().revision;
    if (result.changes.front().revision == last) return changes(after, limit * 2 + 1, engine);
    std::erase_if(result.changes, [&](const Change& change) { return change.revision == last; });
  }
  result.up_to = result.changes.back().revision;
  return result;
}

}  // namespace slipway::store
