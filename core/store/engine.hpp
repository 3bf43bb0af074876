// SPDX-License-Identifier: Apache-2.0
// engine.hpp - where rows are kept: SQLite in the daemon (sqlite_engine.hpp), memory in the simulation
// (memory_engine.hpp). An engine knows rows of values and durability; what a machine is, what a precondition
// means and who is told of a change is the Store's (store.hpp).
#pragma once

#include <slipway/result.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace slipway::store {

struct Blob {
  std::string bytes;
  auto operator<=>(const Blob&) const = default;
};
// One column of a row: NULL, INTEGER, TEXT or BLOB. Ordered by kind, then by content, as SQLite orders them.
using Value = std::variant<std::monostate, std::int64_t, std::string, Blob>;
using Values = std::vector<Value>;

// These columns hold the key of a row of `parent`, which therefore must exist and cannot be erased. A NULL in
// one of them: no reference.
struct ForeignKey {
  std::vector<std::size_t> columns;
  std::size_t parent = 0;
};

struct TableSchema {
  std::string_view name;
  std::vector<std::string_view> columns;
  std::size_t key_columns = 1;  // the first ones
  bool is_resident = true;      // held in snapshots; the others are read when asked for
  // A keyed checksum over the whole row stands in one more column, `checksum`, last in Values (SECURITY 2).
  bool is_checksummed = false;
  std::vector<ForeignKey> foreign_keys;
};
// All tables; a table's number is its place in here.
using Schema = std::vector<TableSchema>;

enum class RowOp { insert, update, put, erase };  // put: insert or replace

// One row's change. `values`: the whole row, key first; for erase the key alone.
struct RowChange {
  std::size_t table = 0;
  RowOp op = RowOp::insert;
  Values values;
};

// One strand for everything but read() and size_bytes(), which may be called from any thread.
class Engine {
 public:
  // Called for each row of the resident tables; an error ends the load and is given on.
  using LoadRow = std::function<Status(std::size_t table, Values values)>;

  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Reads all resident rows, table by table in the order of the schema, each in the order of its keys.
  [[nodiscard]] virtual Status load(const LoadRow& row) = 0;

  // A group: begin, apply for each transaction, then commit or rollback.
  [[nodiscard]] virtual Status begin() = 0;
  // All of the changes or none of them. conflict: a key exists (insert), is absent (update, erase), or a
  // foreign key is hurt; the group goes on without this transaction. Any other error: the group cannot go on
  // and is rolled back.
  [[nodiscard]] virtual Status apply(std::span<const RowChange> changes) = 0;
  // Durable when it returns ok. After an error nobody knows (outcome unknown): recover() must follow. An
  // error with outcome rejected proves that nothing of the group is in the file (disk full before the commit
  // record).
  [[nodiscard]] virtual Status commit() = 0;
  virtual void rollback() noexcept = 0;

  // Drops what is in memory and looks again at what is kept; what it then shows is durable. load() follows.
  [[nodiscard]] virtual Status recover() = 0;

  // Rows of a table, key above `after` (empty: from the start) and beginning with `prefix` (may be empty), in
  // key order, at most `limit`. Sees committed rows only. Thread-safe.
  [[nodiscard]] virtual Result<std::vector<Values>> read(std::size_t table, const Values& prefix,
                                                         const Values& after, std::size_t limit) = 0;
  // Inside a group: erases the rows whose first key column is an integer below `bound`, at most `limit`;
  // returns how many.
  [[nodiscard]] virtual Result<std::size_t> erase_below(std::size_t table, std::int64_t bound,
                                                        std::size_t limit) = 0;

  // Between groups: what the engine wants to do when nobody waits (checkpoints). Bounded work, no effect on
  // contents.
  virtual void maintain() = 0;
  // A complete copy of the committed state at `path`, which must not exist; writers go on meanwhile.
  [[nodiscard]] virtual Status copy_to(const std::string& path) = 0;
  // Bytes kept, for metrics. Thread-safe.
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
};

}  // namespace slipway::store
