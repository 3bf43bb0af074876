// SPDX-License-Identifier: Apache-2.0
// sqlite.hpp - SQLite's C interface with owners and Errors. Every error names the file, SQLite's words and
// code, and what to do. One user at a time: a Database and its Statements belong to one thread or stand under
// one mutex.
#pragma once

#include "store/engine.hpp"

#include <slipway/result.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace slipway::store::sqlite {

// What a file of ours has as application_id: "SLWY".
inline constexpr std::int64_t kApplicationId = 0x534c5759;

struct Connection;  // an open handle, its path, and what its hooks count

// A prepared statement. Belongs to its Database, which outlives it.
class Statement {
 public:
  Statement() = default;

  // Sets ?1, ?2, ...; what is not given stays as it was. Keeps a copy, and tells SQLite only what is not as
  // before: most columns of a row are what they were in the row before it.
  Status bind(std::span<const Value> values);
  // True: a row can be read. False: it is over.
  [[nodiscard]] Result<bool> step();
  // To its end, then reset; for what gives no rows.
  Status run(std::span<const Value> values = {});
  void reset() noexcept;

  // Of the row that step() reached.
  [[nodiscard]] Value column(int at) const;
  [[nodiscard]] Values row() const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  const Connection* connection_ = nullptr;
  Values bound_;  // what ?1, ?2, ... are now: NULL at first, as SQLite has it
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class Access {
  read_write,  // the file must be there, at least empty
  read_only,   // beside a writer of this process
  frozen       // read-only, nobody writes meanwhile; what stands in a write-ahead log is not seen
};

class Database {
 public:
  // `vfs`: empty for SQLite's own. The file itself is looked at by the first statement only.
  [[nodiscard]] static Result<Database> open(const std::string& path, Access access,
                                             const std::string& vfs = {});

  // Several statements, rows are dropped.
  Status execute(const std::string& sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  [[nodiscard]] Result<std::vector<Values>> query(std::string_view sql);
  // The first column of the first row, an integer.
  [[nodiscard]] Result<std::int64_t> number(std::string_view sql);

  // Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  // SQLite's extended code of the last call that failed.
  [[nodiscard]] int last_code() const;
  // SQLite's own words for it.
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] bool is_in_transaction() const;
  // A write that the device cut short harms nothing beside it, so SQLite pads no commit (SQLite's psow).
  [[nodiscard]] bool is_powersafe_overwrite() const;
  [[nodiscard]] const std::string& path() const;

  // Whether closing moves the write-ahead log into the database and removes it (SQLite's default).
  void set_checkpoint_on_close(bool is_on);
  // How long a statement waits for another's lock.
  void set_busy_timeout_ms(int timeout_ms);
  // Pages in the write-ahead log after the last commit of this connection.
  [[nodiscard]] int log_pages() const;

  // Structure, types, CHECKs. internal: what is wrong first, and what to do.
  Status quick_check();
  // Makes `target` the same, as of the read transaction that this one has open.
  Status copy_pages_to(Database& target);

 private:
  explicit Database(std::unique_ptr<Connection> connection);
  struct Close {
    void operator()(Connection* connection) const noexcept;
  };
  std::unique_ptr<Connection, Close> connection_;
};

// How a write-ahead log was moved into its database.
enum class CheckpointMode {
  passive,  // as far as no reader is in the way; waits for nobody
  restart,  // waits for readers: the next commit starts at the log's beginning
  truncate  // as restart, and the log is empty
};
struct Checkpoint {
  std::int64_t log_pages = -1;    // valid ones in the log
  std::int64_t moved_pages = -1;  // of these, those that are in the database, durably
  // Not so while another connection moves it.
  [[nodiscard]] bool is_complete() const { return log_pages >= 0 && log_pages == moved_pages; }
};
[[nodiscard]] Result<Checkpoint> checkpoint(Database& database, CheckpointMode mode);

// The committed state of the database at `from` as one file at `to`, which must not exist; writers go on.
// Nothing is left there on failure. Thread-safe: has connections of its own.
Status copy_database(const std::string& from, const std::string& to, const std::string& vfs);

// A value that should be a number or a text; 0 and empty for anything else, as in a damaged file.
[[nodiscard]] std::int64_t number_of(const Value& value);
[[nodiscard]] std::string text_of(const Value& value);
// "'text'", for SQL that takes no parameter.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace slipway::store::sqlite
