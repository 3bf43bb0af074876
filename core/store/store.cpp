// SPDX-License-Identifier: Apache-2.0
#include "store/store.hpp"

#include "base/crash.hpp"
#include "base/crypto.hpp"
#include "base/failpoint.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "store/prepare.hpp"
#include "store/tables.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <future>
#include <limits>
#include <utility>

namespace slipway::store {
namespace {

using model::Change;
using model::Revision;

constexpr Logger kLog("store");
constexpr std::size_t kTrimBatch = 10'000;  // changes trimmed by one group, so that none of them waits long
constexpr std::int64_t kTrimEveryMs = 60'000;

const FailPoint before_commit("store.before_commit");
const FailPoint after_commit("store.after_commit");

std::uint64_t to_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Changes resync_from(Revision newest) { return {{}, newest, true}; }

// An error that belongs to one transaction; anything else ends its group.
bool is_about_transaction(const Error& error) {
  return error.code == Code::conflict || error.code == Code::invalid;
}

// Who had been accepted does not know; who had been refused may have been refused for what was never kept.
Store::Committed end_after_failed_commit(const Store::Committed& before, const Error& error) {
  if (!before) return fail(Code::unavailable, "the commit of its group failed: {}", error.message).rejected();
  return fail(Code::unavailable, "it is not known whether the transaction is kept: {}", error.message);
}

}  // namespace

// One subscription's mailbox: at most one wake-up is on its way.
struct Store::Follower {
  Follower(Executor& executor, std::function<void(Revision)> call) : where(executor), wake(std::move(call)) {}

  void post(const std::shared_ptr<Follower>& self, Revision revision) {
    const std::lock_guard lock(where_mutex_);
    newest = revision.value;
    if (is_over || is_posted.exchange(true)) return;
    where.post([self] {
      self->is_posted = false;
      if (!self->is_over) self->wake(Revision{self->newest});
    });
  }
  void end() {
    const std::lock_guard lock(where_mutex_);
    is_over = true;
  }

  std::mutex where_mutex_;  // guards `where`, which may go as soon as the subscription is over
  Executor& where;
  std::function<void(Revision)> wake;  // called and dropped on `where` only
  std::atomic<std::uint64_t> newest{0};
  std::atomic<bool> is_posted{false};
  std::atomic<bool> is_over{false};
};

Store::Subscription::~Subscription() { follower_->end(); }

Store::Store(std::unique_ptr<Engine> engine, Keys keys, StoreSettings settings, Executor& writer,
             Random& random)
    : engine_(std::move(engine)),
      keys_(std::move(keys)),
      settings_(settings),
      random_(random),
      writer_(writer) {}

Store::~Store() {
  {
    const std::lock_guard lock(queue_mutex_);
    is_closed_ = true;
  }
  writer_.close();
  std::vector<Pending> left(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
  fail_members(left, fail(Code::unavailable, "the store is closing").rejected());
  for (Pending& pending : left) pending.done(*std::move(pending.end));
}

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Engine> engine, Keys keys, StoreSettings settings,
                                           Executor& writer, Random& random) {
  std::unique_ptr<Store> store(new Store(std::move(engine), std::move(keys), settings, writer, random));
  SLIPWAY_TRY(store->load());
  SLIPWAY_TRY(store->start_epoch());
  return store;
}

// ---- Reading ----

model::Snapshot Store::snapshot() const {
  const std::lock_guard lock(published_mutex_);
  return published_;
}

StoreStatus Store::status() const {
  StoreStatus status;
  {
    const std::lock_guard lock(published_mutex_);
    status.health = health_;
    status.message = health_message_;
    status.revision = published_.revision;
  }
  {
    const std::lock_guard lock(queue_mutex_);
    status.queued = queue_.size();
  }
  status.bytes = engine_->size_bytes();
  return status;
}

Result<Changes> Store::changes(Revision after, std::size_t limit) const {
  Changes result;
  Revision newest;
  {
    const std::lock_guard lock(published_mutex_);
    newest = published_.revision;
    result.up_to = after;
    if (after >= newest) return result;
    if (after < trimmed_up_to_) return resync_from(newest);
    if (after >= recent_after_) {
      auto at = std::upper_bound(
          recent_.begin(), recent_.end(), after,
          [](Revision revision, const Change& change) { return revision < change.revision; });
      while (at != recent_.end() && (result.changes.size() < limit || at->revision == result.up_to)) {
        result.up_to = at->revision;
        result.changes.push_back(*at++);
      }
      if (at == recent_.end()) result.up_to = newest;
      return result;
    }
  }
  const Values from{static_cast<std::int64_t>(after.value), std::numeric_limits<std::int64_t>::max()};
  SLIPWAY_TRY(auto rows, engine_->read(kTableNumber<Change>, {}, from, std::max<std::size_t>(limit, 1) + 1));
  {
    // What was trimmed meanwhile may be missing in the rows.
    const std::lock_guard lock(published_mutex_);
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
    if (result.changes.front().revision == last) return changes(after, limit * 2 + 1);
    std::erase_if(result.changes, [&](const Change& change) { return change.revision == last; });
  }
  result.up_to = result.changes.back().revision;
  return result;
}

std::unique_ptr<Store::Subscription> Store::subscribe(Executor& where, std::function<void(Revision)> wake) {
  auto follower = std::make_shared<Follower>(where, std::move(wake));
  const std::lock_guard lock(published_mutex_);
  std::erase_if(followers_, [](const std::weak_ptr<Follower>& gone) { return gone.expired(); });
  followers_.push_back(follower);
  return std::make_unique<Subscription>(std::move(follower));
}

Result<Secret> Store::secret(const std::string& id) const {
  SLIPWAY_TRY(auto rows, engine_->read(kTableNumber<SecretRow>, Values{id}, {}, 1));
  if (rows.empty()) return fail(Code::not_found, "no secret {}", id);
  SLIPWAY_TRY(const SecretRow row, from_values<SecretRow>(std::move(rows.front())));
  auto secret = keys_.unseal(row.sealed.bytes, secret_identity(id));
  if (!secret) return std::move(secret).error().within(message("secret {}", id));
  return secret;
}

Status Store::copy_to(const std::string& path) { return engine_->copy_to(path); }

// ---- Opening ----

// Before any row that another key made is looked at: its checksum would be wrong, and say nothing of the
// cause.
Status Store::check_key(const std::string& wanted) const {
  if (wanted == keys_.id()) return ok();
  return fail(
      Code::denied,
      "this state belongs to the key {}, and slipway.key is {}; bring the slipway.key that was made with "
      "it, or restore a backup that has its key",
      wanted, keys_.id());
}

// Fills working_ from the engine; nobody else sees it before publish().
Status Store::load() {
  working_ = model::Snapshot();
  std::map<std::string, std::string> meta_values;
  Revision trimmed;
  SLIPWAY_TRY(engine_->load([&](std::size_t table, Values values) -> Status {
    if (table == kTableNumber<MetaRow>) {
      SLIPWAY_TRY(MetaRow row, from_values<MetaRow>(std::move(values)));
      if (row.name == "key_id") {
        if (auto known = check_key(row.value); !known) return known;
      }
      meta_values[row.name] = std::move(row.value);
      return ok();
    }
    Status end = ok();
    boost::mp11::mp_with_index<boost::mp11::mp_size<AllRows>::value>(table, [&](auto number) {
      using Row = boost::mp11::mp_at<AllRows, decltype(number)>;
      if constexpr (boost::mp11::mp_contains<model::Rows, Row>::value) end = load_row<Row>(std::move(values));
    });
    return end;
  }));
  working_.controller.uuid = meta_values["controller"];
  working_.controller.epoch = to_number(meta_values["epoch"]);
  working_.controller.incarnation = to_number(meta_values["incarnation"]);
  working_.revision.value = to_number(meta_values["revision"]);
  last_given_ = std::max(last_given_, working_.revision);
  trimmed.value = to_number(meta_values["trimmed_up_to"]);

  const std::lock_guard lock(published_mutex_);
  trimmed_up_to_ = trimmed;
  recent_.clear();
  recent_after_ = working_.revision;
  return ok();
}

template <class Row>
Status Store::load_row(Values values) {
  if constexpr (TableOf<Row>::is_checksummed) {
    if (values.empty()) return fail(Code::internal, "table {}: a row without columns", TableOf<Row>::name);
    const Value checksum = std::move(values.back());
    values.pop_back();
    if (checksum != Value(Blob{keys_.row_checksum(canonical_bytes(kTableNumber<Row>, values))})) {
      auto row = from_values<Row>(std::move(values));
      return fail(
          Code::internal,
          "{} has a wrong checksum: its row was changed from outside, or comes from a state of another "
          "key; restore a backup",
          row ? row_name<Row>(row->key()) : std::string(TableOf<Row>::name));
    }
  }
  SLIPWAY_TRY(Row row, from_values<Row>(std::move(values)));
  if (auto conflict = working_.index_conflict(row)) {
    return fail(Code::internal, "table {}: {}", TableOf<Row>::name, *conflict);
  }
  working_.put(std::make_shared<const Row>(std::move(row)));
  return ok();
}

// The first commit of a daemon's life: identity at the very first start, and one more epoch.
Status Store::start_epoch() {
  auto& controller = working_.controller;
  std::vector<RowChange> changes;
  if (controller.uuid.empty()) {
    controller.uuid = Uuid::make(random_).value;
    changes.push_back(meta_row("controller", controller.uuid));
    changes.push_back(meta_row("key_id", keys_.id()));
    changes.push_back(meta_row("revision", "0"));
  }
  changes.push_back(meta_row("epoch", std::to_string(++controller.epoch)));
  SLIPWAY_TRY(engine_->begin());
  auto end = engine_->apply(changes);
  if (!end) {
    engine_->rollback();
    return end;
  }
  SLIPWAY_TRY(engine_->commit());
  publish();
  return ok();
}

// ---- Writing ----

void Store::commit(Txn txn, OnCommitted done) {
  {
    const std::lock_guard lock(queue_mutex_);
    if (!is_closed_) {
      queue_.push_back({std::move(txn), std::move(done), std::nullopt});
      if (!std::exchange(is_scheduled_, true)) writer_.post([this] { run_group(); });
      return;
    }
  }
  done(fail(Code::unavailable, "the store is closing").rejected());
}

Store::Committed Store::commit(Txn txn) {
  SLIPWAY_ASSERT(!writer_.is_current());
  std::promise<Committed> end;
  commit(std::move(txn), [&](Committed committed) { end.set_value(std::move(committed)); });
  return end.get_future().get();
}

// What queued while the last group ran is the next group; no lingering.
void Store::run_group() {
  std::vector<Pending> group;
  {
    const std::lock_guard lock(queue_mutex_);
    const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), settings_.group_limit));
    group.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.begin() + count));
    queue_.erase(queue_.begin(), queue_.begin() + count);
  }
  run(group);
  for (Pending& pending : group) pending.done(*std::move(pending.end));
  engine_->maintain();
  const std::lock_guard lock(queue_mutex_);
  is_scheduled_ = !queue_.empty() && !is_closed_;
  if (is_scheduled_) writer_.post([this] { run_group(); });
}

// Every member has an end when this returns.
void Store::run(std::vector<Pending>& group) {
  if (is_failed()) recover(fail(Code::unavailable, "the store failed earlier"));
  if (is_failed()) return fail_members(group, fail(Code::unavailable, "{}", status().message).rejected());
  group_changes_.clear();
  if (auto begun = engine_->begin(); !begun) return abandon_group(group, begun.error());

  bool is_anything_written = false;
  for (Pending& pending : group) {
    pending.end = apply(std::move(pending.txn));
    if (pending.end->has_value()) {
      is_anything_written = true;
    } else if (!is_about_transaction(pending.end->error())) {
      return abandon_group(group, Error(pending.end->error()));
    }
  }
  if (!is_anything_written) return engine_->rollback();
  if (auto end = write_group_end(); !end) return abandon_group(group, end.error());

  auto committed = before_commit.hit();
  if (committed) committed = engine_->commit();
  if (!committed && committed.error().outcome == Outcome::rejected)
    return abandon_group(group, committed.error());
  if (!committed) {
    for (Pending& pending : group) pending.end = end_after_failed_commit(*pending.end, committed.error());
    return recover(committed.error());
  }
  if (auto hit = after_commit.hit(); !hit) kLog.warn("fail point", {{"message", hit.error().message}});
  publish();
}

Store::Committed Store::apply(Txn txn) {
  model::Snapshot next = working_;
  const PrepareContext context{Revision{last_given_.value + 1}, writer_.clock().utc_ms(), keys_, random_};
  SLIPWAY_TRY(Prepared prepared, prepare(std::move(txn), next, context));
  last_given_ = context.revision;
  SLIPWAY_TRY(engine_->apply(prepared.rows));
  working_ = std::move(next);
  std::move(prepared.changes.begin(), prepared.changes.end(), std::back_inserter(group_changes_));
  return context.revision;
}

// Changes below this revision are not kept any longer: too many of them, or too old.
Result<Revision> Store::trim_bound(std::int64_t now_ms) const {
  const std::uint64_t newest = working_.revision.value;
  Revision bound{newest > settings_.change_revisions ? newest - settings_.change_revisions : 0};
  const std::int64_t oldest_ms = now_ms - std::chrono::milliseconds(settings_.change_age).count();
  // Mostly the oldest is young enough, and one row says so.
  for (const std::size_t limit : {std::size_t{1}, kTrimBatch}) {
    SLIPWAY_TRY(auto rows, engine_->read(kTableNumber<Change>, {}, {}, limit));
    for (Values& values : rows) {
      SLIPWAY_TRY(const Change change, from_values<Change>(std::move(values)));
      if (change.at_ms >= oldest_ms) return std::max(bound, change.revision);
      if (limit > 1) bound = std::max(bound, change.revision);
    }
    if (rows.empty()) break;
  }
  return bound;
}

// What a group writes once: the newest revision, and now and then the removal of old changes.
Status Store::write_group_end() {
  std::vector<RowChange> rows{meta_row("revision", std::to_string(working_.revision.value))};
  const std::int64_t now_ms = writer_.clock().utc_ms();
  if (now_ms >= next_trim_ms_) {
    SLIPWAY_TRY(const Revision bound, trim_bound(now_ms));
    SLIPWAY_TRY(
        const std::size_t erased,
        engine_->erase_below(kTableNumber<Change>, static_cast<std::int64_t>(bound.value), kTrimBatch));
    // A full batch: there is more, and the next group takes it.
    next_trim_ms_ = erased == kTrimBatch ? now_ms : now_ms + kTrimEveryMs;
    if (erased > 0) rows.push_back(meta_row("trimmed_up_to", std::to_string(bound.value - 1)));
    const std::lock_guard lock(published_mutex_);
    if (erased > 0) trimmed_up_to_ = Revision{bound.value - 1};
  }
  return engine_->apply(rows);
}

// Nothing of the group is kept: back to what was published.
void Store::abandon_group(std::vector<Pending>& group, const Error& error) {
  engine_->rollback();
  working_ = snapshot();
  set_health(Health::read_only, error.message);
  Error to_members = error;
  to_members.code = Code::unavailable;
  to_members.outcome = Outcome::rejected;
  fail_members(group, to_members);
}

void Store::fail_members(std::vector<Pending>& group, const Error& error) {
  for (Pending& pending : group) pending.end = error;
}

// Nobody knows what a failed commit left: look again, and show what is there.
void Store::recover(const Error& why) {
  kLog.error("a commit failed; the state is read again", {{"message", why.message}});
  auto end = engine_->recover();
  if (end) end = load();
  if (!end) {
    set_health(Health::failed, end.error().message);
    working_ = snapshot();
    return;
  }
  group_changes_.clear();
  publish();
}

void Store::publish() {
  std::vector<std::shared_ptr<Follower>> to_wake;
  bool was_unhealthy = false;
  {
    const std::lock_guard lock(published_mutex_);
    published_ = working_;
    was_unhealthy = health_ != Health::ok;
    health_ = Health::ok;
    health_message_.clear();
    for (Change& change : group_changes_) recent_.push_back(std::move(change));
    while (recent_.size() > settings_.recent_changes) {
      recent_after_ = recent_.front().revision;
      while (!recent_.empty() && recent_.front().revision == recent_after_) recent_.pop_front();
    }
    for (const auto& weak : followers_) {
      if (auto follower = weak.lock()) to_wake.push_back(std::move(follower));
    }
  }
  group_changes_.clear();
  if (was_unhealthy) kLog.info("the store takes writes again", {});
  for (const auto& follower : to_wake) follower->post(follower, working_.revision);
}

bool Store::is_failed() const {
  const std::lock_guard lock(published_mutex_);
  return health_ == Health::failed;
}

void Store::set_health(Health health, std::string text) {
  const std::lock_guard lock(published_mutex_);
  if (health_ != health)
    kLog.error("the store does not take writes", {{"health", message("{}", health)}, {"message", text}});
  health_ = health;
  health_message_ = std::move(text);
}

}  // namespace slipway::store
