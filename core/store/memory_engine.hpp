// SPDX-License-Identifier: Apache-2.0
// memory_engine.hpp - an engine without a file, for the simulation and for tests: it behaves as SQLite does,
// and can be told to fail as a disk does. The same conformance suite holds both to one behaviour.
#pragma once

#include "base/persistent_map.hpp"
#include "store/engine.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace slipway::store {

// What outlives a process: the rows on the disk, and those that the disk was not yet made to keep. Give the
// same disk to a new engine to start again after a crash. Thread-safe.
class MemoryDisk {
 public:
  // How the next commit fails.
  enum class CommitFault {
    refused,     // an error, and the proof that nothing was written
    lost,        // an error; nothing was written
    kept,        // an error; everything was written
    crash_lost,  // as lost, and every call after it fails: the process is gone
    crash_kept   // as kept, and so on
  };

  explicit MemoryDisk(const Schema& schema)
      : schema_(schema), committed_(schema.size()), synced_(schema.size()) {}

  void fail_commit_after(std::size_t commits, CommitFault fault);
  // From now on begin(), apply() or read() fail, as on a disk that broke; false heals it.
  void set_broken(bool is_broken);
  // A disk that says "synced" and lies, as SQLite does with synchronous=NORMAL: what is committed after this
  // call is on the disk only from sync() on. For proving that a suite notices.
  void set_lying(bool is_lying);
  void sync();
  // The power goes: what is not on the disk is lost.
  void lose_power();
  [[nodiscard]] std::uint64_t commits() const;

 private:
  friend class MemoryEngine;
  using Table = PersistentMap<Values, Values>;  // key to whole row

  const Schema& schema_;
  mutable std::mutex tables_mutex_;  // guards the following
  std::vector<Table> committed_;
  std::vector<Table> synced_;
  std::optional<CommitFault> fault_;
  std::size_t commits_until_fault_ = 0;
  std::uint64_t commits_ = 0;
  bool is_broken_ = false;
  bool is_crashed_ = false;
  bool is_lying_ = false;
};

class MemoryEngine final : public Engine {
 public:
  explicit MemoryEngine(std::shared_ptr<MemoryDisk> disk);

  [[nodiscard]] Status load(const LoadRow& row) override;
  [[nodiscard]] Status begin() override;
  [[nodiscard]] Status apply(std::span<const RowChange> changes) override;
  [[nodiscard]] Status commit() override;
  void rollback() noexcept override;
  [[nodiscard]] Status recover() override;
  [[nodiscard]] Result<std::vector<Values>> read(std::size_t table, const Values& prefix, const Values& after,
                                                 std::size_t limit) override;
  [[nodiscard]] Result<std::size_t> erase_below(std::size_t table, std::int64_t bound,
                                                std::size_t limit) override;
  void maintain() override {}
  // unsupported: there is no file.
  [[nodiscard]] Status copy_to(const std::string& path) override;
  [[nodiscard]] std::uint64_t size_bytes() const override;

 private:
  using Tables = std::vector<MemoryDisk::Table>;

  [[nodiscard]] Status check_disk() const;
  [[nodiscard]] Status apply_one(const RowChange& change, Tables& tables) const;
  [[nodiscard]] Status check_parents(std::size_t table, const Values& row, const Tables& tables) const;
  [[nodiscard]] Status check_children(std::size_t table, const Values& key, const Tables& tables) const;
  [[nodiscard]] Values key_of(std::size_t table, const Values& row) const;

  const Schema& schema_;
  std::shared_ptr<MemoryDisk> disk_;  // shared with the test that breaks it
  std::optional<Tables> group_;       // open: the tables as the group sees them
};

}  // namespace slipway::store
