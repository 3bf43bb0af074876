// SPDX-License-Identifier: Apache-2.0
// store.hpp - the state of a controller: snapshots out, transactions in, changes to whoever follows. No SQL
// and no file is visible here. One writer: transactions queue, and those that queued while the last commit
// ran share the next one (a group), so durability costs one fsync for many. Thread-safe, except where a
// comment says otherwise.
#pragma once

#include "base/executor.hpp"
#include "base/random.hpp"
#include "base/strand.hpp"
#include "model/change.hpp"
#include "model/snapshot.hpp"
#include "store/engine.hpp"
#include "store/feed.hpp"
#include "store/keys.hpp"
#include "store/txn.hpp"

#include <slipway/result.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace slipway::store {

struct StoreSettings {
  std::size_t group_limit = 512;       // transactions that share one commit
  std::size_t recent_changes = 16384;  // kept in memory for watchers; older ones are read from the engine
  std::chrono::hours change_age{30 * 24};
  std::uint64_t change_revisions = 1'000'000;  // the changes of so many transactions are kept
};

enum class Health { ok, read_only, failed };
BOOST_DESCRIBE_ENUM(Health, ok, read_only, failed)

struct StoreStatus {
  Health health = Health::ok;
  std::string message;  // why it is not ok and what to do
  model::Revision revision;
  std::size_t queued = 0;  // transactions that wait
  std::uint64_t bytes = 0;
};

class Store {
 public:
  // How a transaction ended. conflict: a precondition or an index did not hold, nothing was written; the
  // message says which. outcome unknown: nobody knows until the state was read again (a later snapshot shows
  // it). unavailable and rejected: nothing was written (read-only, failed, closing).
  using Committed = Result<model::Revision>;
  // Runs on the writer: it may only post work elsewhere.
  using OnCommitted = std::function<void(Committed)>;

  // Reads everything, starts a new epoch (durably). `writer` runs the groups, one at a time; in the daemon a
  // thread of its own, in the simulation the virtual executor. Errors: those of Engine::load, a broken
  // checksum (which row), a file of another key (which key is wanted, which came).
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(std::unique_ptr<Engine> engine, Keys keys,
                                                           StoreSettings settings, Executor& writer,
                                                           Random& random);
  // Refuses what is queued (unavailable, rejected) and waits for the group that runs.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The newest committed state. Costs a few pointers, whatever is in it.
  [[nodiscard]] model::Snapshot snapshot() const;

  void commit(Txn txn, OnCommitted done);
  // The same, waiting. Never from the writer (programmer error), not in virtual time.
  [[nodiscard]] Committed commit(Txn txn);

  // Changes after `after`, oldest first, whole transactions, about `limit` of them. Never waits for the
  // writer.
  [[nodiscard]] Result<Changes> changes(model::Revision after, std::size_t limit) const;

  // From now until it is destroyed, `wake` is posted to `where` after groups, with the newest revision; one
  // call may stand for many groups, and what happened is read with changes(). So a slow follower holds up
  // nobody and costs no memory. `where` runs one task at a time (a strand), and the subscription is destroyed
  // there.
  using Subscription = store::Subscription;
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(Executor& where,
                                                        std::function<void(model::Revision)> wake);

  // not_found: no such secret. internal: it does not open (another key, or bytes were changed).
  [[nodiscard]] Result<Secret> secret(const std::string& id) const;

  // A complete copy of the committed state in a new file. Blocks the caller; groups wait meanwhile at most
  // for a page.
  [[nodiscard]] Status copy_to(const std::string& path);

  [[nodiscard]] StoreStatus status() const;
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  struct Pending {
    Txn txn;
    OnCommitted done;
  };
  struct Member : Pending {
    std::optional<Committed> end;  // known while its group still runs
  };

  Store(std::unique_ptr<Engine> engine, Keys keys, StoreSettings settings, Executor& writer, Random& random);

  Status load();
  Status check_key(const std::string& wanted) const;
  template <class Row>
  Status load_row(Values values);
  Status start_epoch();
  void run_group();
  void run(std::vector<Member>& group);
  Committed apply(Txn txn);
  Committed write(Txn txn, Undo& undo);
  Status write_group_end();
  Result<model::Revision> trim_bound(std::int64_t now_ms) const;
  void abandon_group(std::vector<Member>& group, const Error& error);
  void publish();
  void recover(const Error& why);
  [[nodiscard]] bool is_failed() const;
  void set_health(Health health, std::string message);
  static void fail_members(std::vector<Member>& group, const Error& error);

  // Writer only.
  std::unique_ptr<Engine> engine_;  // read() from any thread
  const Keys keys_;
  const StoreSettings settings_;
  Random& random_;
  model::Snapshot working_;
  model::Revision last_given_;  // never goes back, also when a group came to nothing
  std::vector<model::Change> group_changes_;
  std::int64_t next_trim_ms_ = 0;

  mutable std::mutex queue_mutex_;  // guards the next three
  std::deque<Pending> queue_;
  bool is_scheduled_ = false;
  bool is_closed_ = false;

  mutable std::mutex published_mutex_;  // guards the following
  model::Snapshot published_;
  Health health_ = Health::ok;
  std::string health_message_;

  Feed feed_;

  Strand writer_;  // last: closes before the rest goes
};

}  // namespace slipway::store
