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
#include <charconv>
#include <future>
#include <utility>

namespace slipway::store {
namespace {

using model::Change;
using model::Revision;

constexpr Logger kLog("store");
constexpr std::size_t kTrimBatch = 10'000;  // changes trimmed by one group, so that none of them waits long
constexpr std::int64_t kTrimEveryMs = 60'000;

const FailPoint kBeforeCommit("store.before_commit");
const FailPoint kAfterCommit("store.after_commit");

std::uint64_t to_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Error is_closing() { return fail(Code::unavailable, "the store is closing").rejected(); }

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

Store::Store(std::unique_ptr<Engine> engine, Keys keys, StoreSettings settings, Executor& writer,
             Random& random)
    : engine_(std::move(engine)),
      keys_(std::move(keys)),
      settings_(settings),
      random_(random),
      feed_(settings.recent_changes),
      writer_(writer) {}

Store::~Store() {
  {
    const std::lock_guard lock(queue_mutex_);
    is_closed_ = true;
  }
  writer_.close();
  for (Pending& pending : queue_) pending.done(is_closing());
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
  return feed_.changes(after, limit, *engine_);
}

std::unique_ptr<Subscription> Store::subscribe(Executor& where, std::function<void(Revision)> wake) {
  return feed_.subscribe(where, std::move(wake));
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
  feed_.restart(working_.revision, trimmed);
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
      queue_.push_back({std::move(txn), std::move(done)});
      if (!std::exchange(is_scheduled_, true)) writer_.post([this] { run_group(); });
      return;
    }
  }
  done(is_closing());
}

Store::Committed Store::commit(Txn txn) {
  SLIPWAY_ASSERT(!writer_.is_current());
  std::promise<Committed> end;
  commit(std::move(txn), [&](Committed committed) { end.set_value(std::move(committed)); });
  return end.get_future().get();
}

// What queued while the last group ran is the next group; no lingering.
void Store::run_group() {
  std::vector<Member> group;
  {
    const std::lock_guard lock(queue_mutex_);
    const std::size_t count = std::min(queue_.size(), settings_.group_limit);
    group.reserve(count);
    while (group.size() < count) {
      group.push_back({std::move(queue_.front()), std::nullopt});
      queue_.pop_front();
    }
  }
  run(group);
  for (Member& member : group) member.done(*std::move(member.end));
  engine_->maintain();
  const std::lock_guard lock(queue_mutex_);
  is_scheduled_ = !queue_.empty() && !is_closed_;
  if (is_scheduled_) writer_.post([this] { run_group(); });
}

// Every member has an end when this returns.
void Store::run(std::vector<Member>& group) {
  if (is_failed()) recover(fail(Code::unavailable, "the store failed earlier"));
  if (is_failed()) return fail_members(group, fail(Code::unavailable, "{}", status().message).rejected());
  group_changes_.clear();
  if (auto begun = engine_->begin(); !begun) return abandon_group(group, begun.error());

  bool is_anything_written = false;
  for (Member& member : group) {
    member.end = apply(std::move(member.txn));
    if (member.end->has_value()) {
      is_anything_written = true;
    } else if (!is_about_transaction(member.end->error())) {
      return abandon_group(group, Error(member.end->error()));
    }
  }
  if (!is_anything_written) return engine_->rollback();
  if (auto end = write_group_end(); !end) return abandon_group(group, end.error());

  auto committed = kBeforeCommit.hit();
  if (committed) committed = engine_->commit();
  if (!committed && committed.error().outcome == Outcome::rejected)
    return abandon_group(group, committed.error());
  if (!committed) {
    for (Member& member : group) member.end = end_after_failed_commit(*member.end, committed.error());
    return recover(committed.error());
  }
  if (auto hit = kAfterCommit.hit(); !hit) kLog.warn("fail point", {{"message", hit.error().message}});
  publish();
}

Store::Committed Store::apply(Txn txn) {
  Undo undo(working_);
  Committed end = write(std::move(txn), undo);
  if (!end) undo.take_back(working_);
  return end;
}

Store::Committed Store::write(Txn txn, Undo& undo) {
  const PrepareContext context{Revision{last_given_.value + 1}, writer_.clock().utc_ms(), keys_, random_};
  SLIPWAY_TRY(Prepared prepared, prepare(std::move(txn), working_, undo, context));
  last_given_ = context.revision;
  SLIPWAY_TRY(engine_->apply(prepared.rows));
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
    if (erased > 0) {
      rows.push_back(meta_row("trimmed_up_to", std::to_string(bound.value - 1)));
      feed_.trim(Revision{bound.value - 1});
    }
  }
  return engine_->apply(rows);
}

// Nothing of the group is kept: back to what was published.
void Store::abandon_group(std::vector<Member>& group, const Error& error) {
  engine_->rollback();
  working_ = snapshot();
  set_health(Health::read_only, error.message);
  Error to_members = error;
  to_members.code = Code::unavailable;
  to_members.outcome = Outcome::rejected;
  fail_members(group, to_members);
}

void Store::fail_members(std::vector<Member>& group, const Error& error) {
  for (Member& member : group) member.end = error;
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

// The snapshot first: who is woken, or reads changes, finds it.
void Store::publish() {
  bool was_unhealthy = false;
  {
    const std::lock_guard lock(published_mutex_);
    published_ = working_;
    was_unhealthy = health_ != Health::ok;
    health_ = Health::ok;
    health_message_.clear();
  }
  if (was_unhealthy) kLog.info("the store takes writes again", {});
  feed_.publish(working_.revision, std::exchange(group_changes_, {}));
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
