// SPDX-License-Identifier: Apache-2.0
// store_fixture.hpp - a store on a backend that can be stopped, killed, unplugged and made to fail, for the
// suite that holds both engines to one behaviour. One owner, one thread.
#pragma once

#include "base/executor.hpp"
#include "store/memory_engine.hpp"
#include "store/store.hpp"
#include "store/tables.hpp"
#include "support/fault_vfs.hpp"
#include "support/store_rows.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway::testing {

// How the next commit fails.
enum class CommitFault {
  refused,  // with the proof that nothing was written (the disk is full)
  unknown,  // an error without proof; nothing was written
  kept      // an error without proof, and everything was written
};

// What a store stands on, and what outlives its process.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual Result<std::unique_ptr<store::Engine>> open() = 0;
  // The process dies; the store that still uses the backend is destroyed next, without effect.
  virtual void kill() = 0;
  // As kill(), and what was not synced is lost.
  virtual void lose_power() = 0;
  // After either of them.
  virtual void restart() = 0;
  virtual void fail_next_commit(CommitFault fault) = 0;
  // Every write fails until it is healed.
  virtual void set_broken(bool is_broken) = 0;
  // Syncs are not made: for proving that a suite notices.
  virtual void set_lying(bool is_lying) = 0;
};

class MemoryBackend final : public Backend {
 public:
  Result<std::unique_ptr<store::Engine>> open() override;
  void kill() override {}
  void lose_power() override { disk_->lose_power(); }
  void restart() override;
  void fail_next_commit(CommitFault fault) override;
  void set_broken(bool is_broken) override { disk_->set_broken(is_broken); }
  void set_lying(bool is_lying) override { disk_->set_lying(is_lying); }

 private:
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>(store::schema());
};

class SqliteBackend final : public Backend {
 public:
  Result<std::unique_ptr<store::Engine>> open() override;
  void kill() override { disk_.kill(); }
  void lose_power() override { disk_.lose_power(); }
  void restart() override { disk_.restart(); }
  void fail_next_commit(CommitFault fault) override;
  void set_broken(bool is_broken) override;
  void set_lying(bool is_lying) override { disk_.set_lying(is_lying); }

  [[nodiscard]] std::string path() const { return dir_.path("slipway.db"); }
  [[nodiscard]] std::string log_path() const { return path() + "-wal"; }
  [[nodiscard]] FaultVfs& disk() { return disk_; }

 private:
  SystemClock clock_;
  TempDir dir_;
  FaultVfs disk_;  // the default one of this process
};

enum class Writer { virtual_time, thread };

class StoreFixture {
 public:
  using Committed = store::Store::Committed;

  // Not open yet.
  explicit StoreFixture(Backend& backend, store::StoreSettings settings = {},
                        Writer writer = Writer::virtual_time);
  ~StoreFixture();

  // A new process on the same state: after a clean end (or the first), after kill -9, after a power cut.
  void reopen();
  void crash_and_reopen();
  void lose_power_and_reopen();
  // The parts of these.
  void close();
  [[nodiscard]] Status open();
  [[nodiscard]] Status open_with_key(char key);

  [[nodiscard]] bool is_open() const { return store_ != nullptr; }
  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] store::Store* operator->() { return store_.get(); }
  [[nodiscard]] VirtualExecutor& executor() { return virtual_; }

  [[nodiscard]] Committed commit(store::Txn txn);
  // All queued before the writer runs: one group.
  [[nodiscard]] std::vector<Committed> commit_group(std::vector<store::Txn> txns);
  // Has to work.
  model::Revision committed(store::Txn txn);
  // Has to be refused as a conflict; the message.
  [[nodiscard]] std::string conflict(store::Txn txn);

  // Has to be there.
  template <class Row>
  [[nodiscard]] Row get(const typename Row::Key& key) {
    const auto row = store_->snapshot().find<Row>(key);
    REQUIRE(row != nullptr);
    return *row;
  }
  template <class Row>
  [[nodiscard]] bool has(const typename Row::Key& key) {
    return store_->snapshot().find<Row>(key) != nullptr;
  }
  [[nodiscard]] model::Machine get_machine(std::string id) {
    return get<model::Machine>({{1}, {std::move(id)}});
  }
  [[nodiscard]] bool has_machine(std::string id) { return has<model::Machine>({{1}, {std::move(id)}}); }
  // Everything after a revision, page by page; fails on a resync.
  [[nodiscard]] std::vector<model::Change> changes_after(model::Revision after, std::size_t page = 1000);

 private:
  Backend& backend_;
  store::StoreSettings settings_;
  SystemClock clock_;
  SeededRandom random_{7};
  VirtualExecutor virtual_;
  std::optional<ThreadExecutor> thread_;
  std::unique_ptr<store::Store> store_;
};

// With a backend of its own: the suite's cases are written once and run with both.
template <class B>
class StoreOn {
 public:
  explicit StoreOn(store::StoreSettings settings = {}, Writer writer = Writer::virtual_time)
      : fixture(backend, settings, writer) {
    fixture.reopen();
  }

  B backend;
  StoreFixture fixture;
};

// A case of the conformance suite: runs on both engines, as TestType.
#define SLIPWAY_STORE_CASE(name) \
  TEMPLATE_TEST_CASE(name, "[conformance]", slipway::testing::SqliteBackend, slipway::testing::MemoryBackend)

// ---- Transactions in one line ----

template <class... Row>
[[nodiscard]] store::Txn inserting(Row... rows) {
  store::Txn txn("test");
  (txn.insert(std::move(rows)), ...);
  return txn;
}
template <class... Row>
[[nodiscard]] store::Txn updating(Row... rows) {
  store::Txn txn("test");
  (txn.update(std::move(rows)), ...);
  return txn;
}
template <class... Row>
[[nodiscard]] store::Txn erasing(Row... rows) {
  store::Txn txn("test");
  (txn.erase(std::move(rows)), ...);
  return txn;
}
template <class... T>
[[nodiscard]] std::vector<store::Txn> group_of(T... txns) {
  std::vector<store::Txn> group;
  (group.push_back(std::move(txns)), ...);
  return group;
}

// A key of 32 times this character.
[[nodiscard]] store::Keys test_keys(char key = 'k');

// Once without an environment, a store has none to put machines in: credential 1 and environment 1.
void add_environment(StoreFixture& fixture);

}  // namespace slipway::testing
