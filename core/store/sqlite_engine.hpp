// SPDX-License-Identifier: Apache-2.0
// sqlite_engine.hpp - the engine of the daemon: one SQLite file in WAL mode, synchronous=FULL. README.md says
// why, and tells the life of a commit. Thread rule: that of Engine; copy_to() may be called from any thread
// too.
#pragma once

#include "base/clock.hpp"
#include "store/engine.hpp"
#include "store/sqlite.hpp"

#include <slipway/result.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace slipway::store {

struct SqliteOptions {
  std::string path;
  bool may_create = false;
  std::string vfs = {};  // SQLite's virtual file system, for tests that break it; empty: the system's
  bool quick_check = true;
  std::string backup_dir = {};  // where a copy goes before a migration; empty: none is made
};

class SqliteEngine final : public Engine {
 public:
  // Opens the file, replays what a crash left, checks it, brings its schema up to date and holds it against
  // `schema`. Both references outlive the engine. Each error says the path, what was wrong and what to do.
  [[nodiscard]] static Result<std::unique_ptr<SqliteEngine>> open(SqliteOptions options, const Schema& schema,
                                                                  const Clock& clock);
  // What open() says of the path before it opens or makes anything there.
  [[nodiscard]] static Status check_file(const SqliteOptions& options);
  ~SqliteEngine() override;

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
  void maintain() override;
  [[nodiscard]] Status copy_to(const std::string& path) override;
  [[nodiscard]] std::uint64_t size_bytes() const override;

 private:
  // The connection that writes, and its prepared statements.
  struct Writer;

  SqliteEngine(SqliteOptions options, const Schema& schema);

  Status open_checked(const Clock& clock);
  Status take(sqlite::Database database);
  Status apply_one(const RowChange& change);
  Status undo_to_savepoint();
  Status erase_again(std::span<const RowChange> inserted);
  [[nodiscard]] Error refusal(const RowChange& change);
  [[nodiscard]] std::string foreign_key_words(const RowChange& change);
  [[nodiscard]] Error closed() const;

  const SqliteOptions options_;
  const Schema& schema_;

  std::unique_ptr<Writer> writer_;  // null after a recovery that failed
  bool is_base_due_ = true;         // the log was moved into the database: wal_guard.hpp
  bool is_checkpoint_failing_ = false;
  int pages_moved_ = 0;  // of the log, by the last checkpoint

  std::mutex reader_mutex_;  // guards reader_
  std::optional<sqlite::Database> reader_;
};

}  // namespace slipway::store
