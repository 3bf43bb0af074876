// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_engine.hpp"

#include "base/failpoint.hpp"
#include "base/fs.hpp"
#include "base/log.hpp"
#include "store/files.hpp"
#include "store/migrate.hpp"
#include "store/row_sql.hpp"
#include "store/wal_guard.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace slipway::store {
namespace {

using sqlite::Access;
using sqlite::CheckpointMode;
using sqlite::Database;
using sqlite::Statement;

constexpr Logger kLog("store");
FailPoint before_checkpoint("store.before_checkpoint");

// A commit is on the disk before it is acknowledged. README.md says what NORMAL loses.
constexpr std::string_view kSynchronous = "FULL";
// Measured with 20 000 and 100 000 machines: pages of 8192 made single commits 10 % and random updates 30 %
// slower (the log holds whole pages), a cache of 8 MiB made nothing faster.
constexpr int kPageSize = 4096;
constexpr int kWriterCacheKib = 2048;
constexpr int kReaderCacheKib = 512;
constexpr int kBusyTimeoutMs = 5000;
constexpr int kMaintainTimeoutMs = 100;
constexpr int kCheckpointPages = 1000;  // 4 MiB of log: moving them takes some milliseconds
constexpr int kRestartPages =
    16000;  // somebody reads all the time: wait for a gap, the log grows for ever else

Result<Database> open_writer(const SqliteOptions& options) {
  SLIPWAY_TRY(Database database, Database::open(options.path, Access::read_write, options.vfs));
  // Until it is known to be good, nothing of the log gets into the database.
  database.set_checkpoint_on_close(false);
  database.set_busy_timeout_ms(kBusyTimeoutMs);
  SLIPWAY_TRY(check_is_ours(database));
  SLIPWAY_TRY(
      database.execute(message("PRAGMA page_size = {}; PRAGMA cache_size = -{}; PRAGMA synchronous = {};"
                               "PRAGMA foreign_keys = ON",
                               kPageSize, kWriterCacheKib, kSynchronous)));
  SLIPWAY_TRY(const auto mode, database.query("PRAGMA journal_mode = WAL"));
  if (mode.empty() || mode.front().front() != Value("wal")) {
    return fail(Code::unsupported,
                "{}: its file system cannot hold a write-ahead log with shared memory; use a local one",
                options.path);
  }
  return database;
}

// A statement that is refused leaves nothing behind, and what was inserted before it can be erased again.
// Only other changes need a savepoint, which costs a third of a small transaction: SQLite copies each page
// that is touched after it.
bool needs_savepoint(std::span<const RowChange> changes) {
  return std::any_of(changes.begin(), changes.end() - (changes.empty() ? 0 : 1),
                     [](const RowChange& change) { return change.op != RowOp::insert; });
}

}  // namespace

struct SqliteEngine::Writer {
  struct Table {
    std::array<std::optional<Statement>, 4> by_op;
    std::optional<Statement> erase_below;
  };

  Database database;  // first: the statements go before it
  Statement begin;
  Statement commit;
  Statement rollback;
  Statement savepoint;
  Statement release;
  Statement undo;
  std::vector<Table> tables;
  bool is_powersafe = false;
  bool has_written_base = false;  // in the group that is open

  static Result<std::unique_ptr<Writer>> make(Database opened, std::size_t table_count) {
    auto writer = std::make_unique<Writer>(Writer{std::move(opened), {}, {}, {}, {}, {}, {}, {}});
    Database& database = writer->database;
    SLIPWAY_TRY(writer->begin, database.prepare("BEGIN IMMEDIATE"));
    SLIPWAY_TRY(writer->commit, database.prepare("COMMIT"));
    SLIPWAY_TRY(writer->rollback, database.prepare("ROLLBACK"));
    SLIPWAY_TRY(writer->savepoint, database.prepare("SAVEPOINT txn"));
    SLIPWAY_TRY(writer->release, database.prepare("RELEASE txn"));
    SLIPWAY_TRY(writer->undo, database.prepare("ROLLBACK TO txn"));
    writer->tables.resize(table_count);
    writer->is_powersafe = database.is_powersafe_overwrite();
    return writer;
  }
};

// ---- Opening ----

SqliteEngine::SqliteEngine(SqliteOptions options, const Schema& schema)
    : options_(std::move(options)), schema_(schema) {}

SqliteEngine::~SqliteEngine() = default;

Status SqliteEngine::check_file(const SqliteOptions& options) {
  const std::string& path = options.path;
  const std::string log = path + "-wal";
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return fs::error_of(errno, "opening database", path);
    if (!options.may_create) {
      return fail(Code::not_found, "{}: there is no database; check the data directory, or restore a backup",
                  path);
    }
  } else if (!S_ISREG(info.st_mode)) {
    return fail(Code::invalid, "{}: expected a database file, found {}; name another", path,
                S_ISDIR(info.st_mode) ? "a directory" : "something else");
  } else if (info.st_size == 0 && !options.may_create) {
    return fail(Code::invalid, "{}: is empty (0 bytes), expected a database; restore a backup", path);
  } else {
    SLIPWAY_TRY(fs::check_private(path, "database"));
  }
  if (info.st_size > 0 || files::size(log) == 0) return ok();
  return fail(
      Code::invalid,
      "{} is there, but its database {} is missing or empty; bring the database or restore a backup, or "
      "move the former elsewhere to start anew",
      log, path);
}

Result<std::unique_ptr<SqliteEngine>> SqliteEngine::open(SqliteOptions options, const Schema& schema,
                                                         const Clock& clock) {
  SLIPWAY_TRY(check_file(options));
  if (!files::exists(options.path)) SLIPWAY_TRY(files::create(options.path));
  std::unique_ptr<SqliteEngine> engine(new SqliteEngine(std::move(options), schema));
  SLIPWAY_TRY(engine->open_checked(clock));
  return engine;
}

Status SqliteEngine::open_checked(const Clock& clock) {
  const auto without_log = state_without_log(options_.path, options_.vfs);
  const bool has_log = files::size(options_.path + "-wal") > 0;
  SLIPWAY_TRY(Database database, open_writer(options_));
  SLIPWAY_TRY(const std::int64_t objects, database.number("SELECT count(*) FROM sqlite_schema"));
  if (objects > 0) {
    // SQLite reads what a page lacks as zeroes. Half a page is all right while the log still has it.
    if (const std::uint64_t size = files::size(options_.path); !has_log && size % kPageSize != 0) {
      return fail(Code::internal, "{}: is cut short: {} bytes are no whole number of pages; restore a backup",
                  options_.path, size);
    }
    SLIPWAY_TRY(check_log_belongs(database, without_log));
    if (options_.quick_check) SLIPWAY_TRY(database.quick_check());
    SLIPWAY_TRY(const auto moved, sqlite::checkpoint(database, CheckpointMode::passive));
    SLIPWAY_TRY(check_log_is_whole(options_.path, moved.log_pages));
  }
  SLIPWAY_TRY(migrate(database, migrations(), options_.backup_dir, options_.vfs, clock));
  SLIPWAY_TRY(check_schema(database, schema_));
  return take(std::move(database));
}

// Empties the log into the database, so that all that is visible is durable, and opens the reader.
Status SqliteEngine::take(Database database) {
  SLIPWAY_TRY(const auto moved, sqlite::checkpoint(database, CheckpointMode::truncate));
  if (!moved.is_complete()) {
    return fail(Code::unavailable, "{}: another program reads it and does not end; end it", options_.path);
  }
  SLIPWAY_TRY(auto writer, Writer::make(std::move(database), schema_.size()));
  SLIPWAY_TRY(Database reader, Database::open(options_.path, Access::read_only, options_.vfs));
  reader.set_busy_timeout_ms(kBusyTimeoutMs);
  SLIPWAY_TRY(reader.execute(message("PRAGMA cache_size = -{}", kReaderCacheKib)));
  writer->database.set_checkpoint_on_close(true);
  writer_ = std::move(writer);
  is_base_due_ = true;
  pages_moved_ = 0;
  const std::lock_guard lock(reader_mutex_);
  reader_ = std::move(reader);
  return ok();
}

// After an fsync that failed, what the kernel shows of the log and what is on the disk may differ, and a
// second fsync says ok to that. So the log is read anew, as after a crash, and what it shows is written into
// the database and synced there; nothing rests on the log any more.
Status SqliteEngine::recover() {
  {
    const std::lock_guard lock(reader_mutex_);
    reader_.reset();
  }
  if (writer_) writer_->database.set_checkpoint_on_close(false);
  writer_.reset();
  SLIPWAY_TRY(Database database, open_writer(options_));
  return take(std::move(database));
}

Error SqliteEngine::closed() const {
  return fail(Code::unavailable, "{}: is closed since an error that could not be recovered from",
              options_.path);
}

// ---- Groups ----

Status SqliteEngine::begin() {
  if (!writer_) return closed();
  SLIPWAY_TRY(writer_->begin.run());
  writer_->has_written_base = is_base_due_;
  if (!is_base_due_) return ok();
  Status end = note_log_base(writer_->database);
  if (!end) rollback();
  return end;
}

Status SqliteEngine::apply(std::span<const RowChange> changes) {
  if (!writer_) return closed();
  const bool has_savepoint = needs_savepoint(changes);
  if (has_savepoint) SLIPWAY_TRY(writer_->savepoint.run());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Status end = apply_one(changes[i]);
    if (end) continue;
    const Code code = end.error().code;
    if (code == Code::conflict || code == Code::invalid) {
      SLIPWAY_TRY(has_savepoint ? undo_to_savepoint() : erase_again(changes.first(i)));
    }
    return end;
  }
  return has_savepoint ? writer_->release.run() : ok();
}

Status SqliteEngine::undo_to_savepoint() {
  SLIPWAY_TRY(writer_->undo.run());
  return writer_->release.run();
}

Status SqliteEngine::erase_again(std::span<const RowChange> inserted) {
  for (auto at = inserted.rbegin(); at != inserted.rend(); ++at) {
    const auto key_end = at->values.begin() + static_cast<std::ptrdiff_t>(schema_[at->table].key_columns);
    const auto end = apply_one({at->table, RowOp::erase, Values(at->values.begin(), key_end)});
    // Not a conflict of the transaction: half of it is there, so the group must go.
    if (!end) return fail(Code::internal, "taking back an insert: {}", end.error().message);
  }
  return ok();
}

Status SqliteEngine::apply_one(const RowChange& change) {
  const TableSchema& table = schema_[change.table];
  auto& kept = writer_->tables[change.table].by_op[static_cast<std::size_t>(change.op)];
  if (!kept) {
    SLIPWAY_TRY(kept, writer_->database.prepare(sql::write(table, change.op)));
  }
  Status end = kept->run(change.values);
  if (!end) {
    const bool is_constraint = (writer_->database.last_code() & 0xff) == SQLITE_CONSTRAINT;
    return is_constraint ? Status(refusal(change)) : end;
  }
  const bool needs_row = change.op == RowOp::update || change.op == RowOp::erase;
  if (needs_row && writer_->database.changes() == 0) {
    return fail(Code::conflict, "table {}: there is no such row", table.name);
  }
  return ok();
}

// Why a row was refused, in words of ours where SQLite's do not say it.
Error SqliteEngine::refusal(const RowChange& change) {
  const std::string_view table = schema_[change.table].name;
  const int code = writer_->database.last_code();
  const std::string words = writer_->database.last_words();
  switch (code) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return fail(Code::conflict, "table {}: the key exists", table);
    case SQLITE_CONSTRAINT_UNIQUE:
      return fail(Code::conflict, "table {}: {}", table, words);
    case SQLITE_CONSTRAINT_FOREIGNKEY:
    case SQLITE_CONSTRAINT_TRIGGER:  // how SQLite does RESTRICT; there are no triggers of ours
      return fail(Code::conflict, "table {}: {}", table, foreign_key_words(change));
    default:
      return fail(Code::invalid, "table {}: {}", table, words);
  }
}

std::string SqliteEngine::foreign_key_words(const RowChange& change) {
  if (change.op != RowOp::erase) {
    std::string parents;
    for (const ForeignKey& foreign : schema_[change.table].foreign_keys) {
      parents += message("{}{}", parents.empty() ? "" : " or ", schema_[foreign.parent].name);
    }
    return message("its {} does not exist", parents);
  }
  for (const TableSchema& child : schema_) {
    for (const ForeignKey& foreign : child.foreign_keys) {
      if (foreign.parent != change.table) continue;
      auto query = writer_->database.prepare(sql::refers(child, foreign));
      if (!query || !query->bind(change.values)) continue;
      const auto is_found = query->step();
      if (is_found && *is_found) return message("a row of {} refers to it", child.name);
    }
  }
  return "a row refers to it";
}

// SQLITE_FULL is the proof that nothing of the group is in the file: the commit record is in the last page
// that is written to the log, a write that falls short says SQLITE_FULL, nothing is written after it
// (power-safe overwrite: no padding), and a page that is not complete fails its checksum. Any other failure
// may come after the record was written.
Status SqliteEngine::commit() {
  if (!writer_) return closed();
  Status end = writer_->commit.run();
  if (end) {
    if (writer_->has_written_base) is_base_due_ = false;
    return ok();
  }
  Error error = std::move(end).error();
  if (writer_->is_powersafe && writer_->database.last_code() == SQLITE_FULL) {
    error.outcome = Outcome::rejected;
  } else {
    writer_->database.set_checkpoint_on_close(false);  // only recover() knows what may be moved
  }
  return error;
}

// SQLite itself may have ended the transaction, after an I/O error.
void SqliteEngine::rollback() noexcept {
  if (!writer_ || !writer_->database.is_in_transaction()) return;
  if (auto end = writer_->rollback.run(); !end) {
    kLog.error("a rollback failed", {{"message", end.error().message}});
  }
}

Result<std::size_t> SqliteEngine::erase_below(std::size_t table, std::int64_t bound, std::size_t limit) {
  if (!writer_) return closed();
  auto& kept = writer_->tables[table].erase_below;
  if (!kept) {
    SLIPWAY_TRY(kept, writer_->database.prepare(sql::erase_below(schema_[table])));
  }
  const Values values{bound, static_cast<std::int64_t>(limit)};
  SLIPWAY_TRY(kept->run(values));
  return static_cast<std::size_t>(writer_->database.changes());
}

// ---- Reading ----

Status SqliteEngine::load(const LoadRow& row) {
  if (!writer_) return closed();
  for (std::size_t table = 0; table < schema_.size(); ++table) {
    const TableSchema& schema = schema_[table];
    if (!schema.is_resident) continue;
    SLIPWAY_TRY(Statement query, writer_->database.prepare(sql::load(schema)));
    for (;;) {
      SLIPWAY_TRY(const bool is_row, query.step());
      if (!is_row) break;
      SLIPWAY_TRY(row(table, query.row()));
    }
  }
  // What was read is held by the caller now.
  return writer_->database.execute("PRAGMA shrink_memory");
}

Result<std::vector<Values>> SqliteEngine::read(std::size_t table, const Values& prefix, const Values& after,
                                               std::size_t limit) {
  std::vector<Values> rows;
  auto read = sql::read(schema_[table], prefix, after, limit);
  if (!read) return rows;

  const std::lock_guard lock(reader_mutex_);
  if (!reader_) return closed();
  SLIPWAY_TRY(Statement query, reader_->prepare(read->sql));
  SLIPWAY_TRY(query.bind(read->values));
  for (;;) {
    SLIPWAY_TRY(const bool is_row, query.step());
    if (!is_row) return rows;
    rows.push_back(query.row());
  }
}

// ---- Upkeep ----

// A log that was moved as a whole is written from its beginning by the next commit.
void SqliteEngine::maintain() {
  if (!writer_) return;
  Database& database = writer_->database;
  const int pages = database.log_pages();
  if (pages < pages_moved_) pages_moved_ = 0;  // it began anew
  if (pages - pages_moved_ < kCheckpointPages) return;

  Status end = before_checkpoint.hit();
  if (end) {
    database.set_busy_timeout_ms(kMaintainTimeoutMs);
    auto moved = sqlite::checkpoint(
        database, pages < kRestartPages ? CheckpointMode::passive : CheckpointMode::restart);
    database.set_busy_timeout_ms(kBusyTimeoutMs);
    if (moved && moved->is_complete()) is_base_due_ = true;
    if (!moved) end = std::move(moved).error();
  }
  pages_moved_ = pages;  // also after a failure: tried again when as many have come
  if (!end && !is_checkpoint_failing_) {
    kLog.warn("the log cannot be moved into the database and grows", {{"message", end.error().message}});
  }
  is_checkpoint_failing_ = !end.has_value();
}

Status SqliteEngine::copy_to(const std::string& path) {
  return sqlite::copy_database(options_.path, path, options_.vfs);
}

std::uint64_t SqliteEngine::size_bytes() const {
  return files::size(options_.path) + files::size(options_.path + "-wal");
}

}  // namespace slipway::store
