// SPDX-License-Identifier: Apache-2.0
#include "support/store_fixture.hpp"

#include "base/crash.hpp"
#include "store/sqlite_engine.hpp"

namespace slipway::testing {

using store::Engine;
using store::Keys;
using store::MemoryDisk;
using store::MemoryEngine;
using store::SqliteEngine;
using store::Store;
using store::Txn;

// ---- In memory ----

Result<std::unique_ptr<Engine>> MemoryBackend::open() {
  return std::unique_ptr<Engine>(std::make_unique<MemoryEngine>(disk_));
}

void MemoryBackend::restart() {
  disk_->set_broken(false);
  disk_->set_lying(false);
}

void MemoryBackend::fail_next_commit(CommitFault fault) {
  switch (fault) {
    case CommitFault::refused:
      return disk_->fail_commit_after(0, MemoryDisk::CommitFault::refused);
    case CommitFault::unknown:
      return disk_->fail_commit_after(0, MemoryDisk::CommitFault::lost);
    case CommitFault::kept:
      return disk_->fail_commit_after(0, MemoryDisk::CommitFault::kept);
  }
}

// ---- SQLite ----

Result<std::unique_ptr<Engine>> SqliteBackend::open() {
  store::SqliteOptions options;
  options.path = path();
  options.may_create = true;
  SLIPWAY_TRY(auto engine, SqliteEngine::open(std::move(options), store::schema(), clock_));
  return std::unique_ptr<Engine>(std::move(engine));
}

// The log is what a commit writes: its frames, then a sync, which comes too late to take the frames back.
void SqliteBackend::fail_next_commit(CommitFault fault) {
  FaultPlan plan;
  plan.suffix = "-wal";
  plan.call = fault == CommitFault::kept ? DiskCall::sync : DiskCall::write;
  plan.fault = fault == CommitFault::refused ? DiskFault::full : DiskFault::io_error;
  disk_.arm(plan);
}

void SqliteBackend::set_broken(bool is_broken) {
  if (!is_broken) return disk_.disarm();
  FaultPlan plan;
  plan.call = DiskCall::write;
  plan.for_good = true;
  disk_.arm(plan);
}

// ---- The store ----

Keys test_keys(char key) {
  auto root = Key32::from_bytes(std::string(Key32::size, key));
  SLIPWAY_ASSERT(root.has_value());
  return Keys::from_bytes(*root);
}

StoreFixture::StoreFixture(Backend& backend, store::StoreSettings settings, Writer writer)
    : backend_(backend), settings_(settings) {
  if (writer == Writer::thread) thread_.emplace(clock_, 1, "store");
}

StoreFixture::~StoreFixture() { close(); }

Status StoreFixture::open() { return open_with_key('k'); }

Status StoreFixture::open_with_key(char key) {
  SLIPWAY_ASSERT(!store_);
  SLIPWAY_TRY(auto engine, backend_.open());
  Executor& writer = thread_ ? static_cast<Executor&>(*thread_) : virtual_;
  SLIPWAY_TRY(store_, Store::open(std::move(engine), test_keys(key), settings_, writer, random_));
  return ok();
}

void StoreFixture::close() {
  store_.reset();
  virtual_.drop_all();
}

void StoreFixture::reopen() {
  close();
  const Status opened = open();
  INFO((opened ? std::string() : opened.error().message));
  REQUIRE(opened);
}

void StoreFixture::crash_and_reopen() {
  backend_.kill();
  close();
  backend_.restart();
  reopen();
}

void StoreFixture::lose_power_and_reopen() {
  backend_.lose_power();
  close();
  backend_.restart();
  reopen();
}

StoreFixture::Committed StoreFixture::commit(Txn txn) {
  if (thread_) return store_->commit(std::move(txn));
  std::optional<Committed> end;
  store_->commit(std::move(txn), [&](Committed committed) { end = std::move(committed); });
  virtual_.run_ready();
  SLIPWAY_ASSERT(end.has_value());
  return *std::move(end);
}

std::vector<StoreFixture::Committed> StoreFixture::commit_group(std::vector<Txn> txns) {
  std::vector<Committed> ends;
  for (Txn& txn : txns) {
    store_->commit(std::move(txn), [&](Committed committed) { ends.push_back(std::move(committed)); });
  }
  virtual_.run_ready();
  REQUIRE(ends.size() == txns.size());
  return ends;
}

model::Revision StoreFixture::committed(Txn txn) {
  Committed end = commit(std::move(txn));
  INFO((end ? std::string() : end.error().message));
  REQUIRE(end);
  return *end;
}

std::string StoreFixture::conflict(Txn txn) {
  Committed end = commit(std::move(txn));
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::conflict);
  return end.error().message;
}

std::vector<model::Change> StoreFixture::changes_after(model::Revision after, std::size_t page) {
  std::vector<model::Change> all;
  const model::Revision newest = store_->status().revision;
  while (after < newest) {
    auto next = store_->changes(after, page);
    INFO((next ? std::string() : next.error().message));
    REQUIRE(next);
    REQUIRE_FALSE(next->resync);
    REQUIRE(next->up_to > after);
    after = next->up_to;
    all.insert(all.end(), next->changes.begin(), next->changes.end());
  }
  return all;
}

void add_environment(StoreFixture& fixture) {
  auto row = environment(1);
  row.credential = model::CredentialId{1};
  fixture.committed(inserting(credential(1), std::move(row)));
}

}  // namespace slipway::testing
