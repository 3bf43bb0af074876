// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.hpp"

#include "base/crash.hpp"
#include "store/files.hpp"

#include <sqlite3.h>

#include <array>
#include <system_error>
#include <utility>

namespace slipway::store::sqlite {

struct Connection {
  sqlite3* handle = nullptr;
  std::string path;
  int log_pages = 0;
};

namespace {

struct CodeName {
  int code;
  std::string_view name;
};
#define SLIPWAY_NAME(code) \
  CodeName { code, #code }
// Those that can come from what we do; SQLite gives words for codes, but not their names.
constexpr std::array kNames{SLIPWAY_NAME(SQLITE_BUSY),
                            SLIPWAY_NAME(SQLITE_BUSY_RECOVERY),
                            SLIPWAY_NAME(SQLITE_BUSY_SNAPSHOT),
                            SLIPWAY_NAME(SQLITE_CANTOPEN),
                            SLIPWAY_NAME(SQLITE_CANTOPEN_FULLPATH),
                            SLIPWAY_NAME(SQLITE_CANTOPEN_ISDIR),
                            SLIPWAY_NAME(SQLITE_CANTOPEN_SYMLINK),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_CHECK),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_DATATYPE),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_FOREIGNKEY),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_NOTNULL),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_PRIMARYKEY),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_ROWID),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_TRIGGER),
                            SLIPWAY_NAME(SQLITE_CONSTRAINT_UNIQUE),
                            SLIPWAY_NAME(SQLITE_CORRUPT),
                            SLIPWAY_NAME(SQLITE_CORRUPT_INDEX),
                            SLIPWAY_NAME(SQLITE_ERROR),
                            SLIPWAY_NAME(SQLITE_FULL),
                            SLIPWAY_NAME(SQLITE_INTERRUPT),
                            SLIPWAY_NAME(SQLITE_IOERR),
                            SLIPWAY_NAME(SQLITE_IOERR_ACCESS),
                            SLIPWAY_NAME(SQLITE_IOERR_CLOSE),
                            SLIPWAY_NAME(SQLITE_IOERR_CORRUPTFS),
                            SLIPWAY_NAME(SQLITE_IOERR_DATA),
                            SLIPWAY_NAME(SQLITE_IOERR_DELETE),
                            SLIPWAY_NAME(SQLITE_IOERR_DIR_FSYNC),
                            SLIPWAY_NAME(SQLITE_IOERR_FSTAT),
                            SLIPWAY_NAME(SQLITE_IOERR_FSYNC),
                            SLIPWAY_NAME(SQLITE_IOERR_LOCK),
                            SLIPWAY_NAME(SQLITE_IOERR_NOMEM),
                            SLIPWAY_NAME(SQLITE_IOERR_RDLOCK),
                            SLIPWAY_NAME(SQLITE_IOERR_READ),
                            SLIPWAY_NAME(SQLITE_IOERR_SEEK),
                            SLIPWAY_NAME(SQLITE_IOERR_SHMLOCK),
                            SLIPWAY_NAME(SQLITE_IOERR_SHMMAP),
                            SLIPWAY_NAME(SQLITE_IOERR_SHMOPEN),
                            SLIPWAY_NAME(SQLITE_IOERR_SHMSIZE),
                            SLIPWAY_NAME(SQLITE_IOERR_SHORT_READ),
                            SLIPWAY_NAME(SQLITE_IOERR_TRUNCATE),
                            SLIPWAY_NAME(SQLITE_IOERR_UNLOCK),
                            SLIPWAY_NAME(SQLITE_IOERR_WRITE),
                            SLIPWAY_NAME(SQLITE_LOCKED),
                            SLIPWAY_NAME(SQLITE_MISUSE),
                            SLIPWAY_NAME(SQLITE_NOMEM),
                            SLIPWAY_NAME(SQLITE_NOTADB),
                            SLIPWAY_NAME(SQLITE_PERM),
                            SLIPWAY_NAME(SQLITE_PROTOCOL),
                            SLIPWAY_NAME(SQLITE_READONLY),
                            SLIPWAY_NAME(SQLITE_READONLY_CANTINIT),
                            SLIPWAY_NAME(SQLITE_READONLY_CANTLOCK),
                            SLIPWAY_NAME(SQLITE_READONLY_DBMOVED),
                            SLIPWAY_NAME(SQLITE_READONLY_DIRECTORY),
                            SLIPWAY_NAME(SQLITE_READONLY_RECOVERY),
                            SLIPWAY_NAME(SQLITE_TOOBIG)};
#undef SLIPWAY_NAME

std::string name_of(int code) {
  for (const CodeName& known : kNames) {
    if (known.code == code) return std::string(known.name);
  }
  return message("SQLITE code {}", code);
}

struct Kind {
  Code code;
  std::string_view advice;
};

Kind kind_of(int code) {
  constexpr std::string_view kRights = "; check owner, mode and mount options of the file and its directory";
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Code::exhausted, "; free space on its file system, writing then goes on by itself"};
    case SQLITE_IOERR:
      return {Code::unavailable, "; the disk or its file system failed, the kernel's log says more (dmesg)"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Code::internal, "; the file is damaged or not ours: restore a backup"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::denied, kRights};
    case SQLITE_CANTOPEN:
      return {Code::unavailable, kRights};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {Code::unavailable, "; another program uses the file: end it"};
    case SQLITE_NOMEM:
      return {Code::exhausted, ""};
    case SQLITE_TOOBIG:
      return {Code::invalid, ""};
    default:
      return {Code::internal, ""};
  }
}

Error error_of(const Connection& connection) {
  const int code = sqlite3_extended_errcode(connection.handle);
  const auto [kind, advice] = kind_of(code);
  std::string system;
  if (const int number = sqlite3_system_errno(connection.handle);
      number != 0 && ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN)) {
    system = ": " + std::generic_category().message(number);
  }
  return fail(kind, "{}: {}{} ({}){}", connection.path, sqlite3_errmsg(connection.handle), system,
              name_of(code), advice);
}

Status status_of(const Connection& connection, int code) {
  if (code != SQLITE_OK) return error_of(connection);
  return ok();
}

int int_size(std::size_t size) {
  SLIPWAY_ASSERT(size < std::size_t{1} << 31U);
  return static_cast<int>(size);
}

// The path as SQLite's URI takes it.
std::string frozen_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    switch (c) {
      case '%':
        uri += "%25";
        break;
      case '?':
        uri += "%3f";
        break;
      case '#':
        uri += "%23";
        break;
      default:
        uri += c;
    }
  }
  return uri + "?immutable=1";
}

int count_log_pages(void* connection, sqlite3*, const char*, int pages) {
  static_cast<Connection*>(connection)->log_pages = pages;
  return SQLITE_OK;
}

}  // namespace

// ---- Statement ----

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

Status Statement::bind(std::span<const Value> values) {
  sqlite3_stmt* statement = statement_.get();
  SLIPWAY_ASSERT(values.size() <= bound_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value& value = bound_[i];
    if (value == values[i]) continue;
    value = values[i];
    const int at = static_cast<int>(i) + 1;
    int code = SQLITE_OK;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      code = sqlite3_bind_int64(statement, at, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      code = sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      code = sqlite3_bind_blob64(statement, at, blob->bytes.data(), blob->bytes.size(), SQLITE_STATIC);
    } else {
      code = sqlite3_bind_null(statement, at);
    }
    if (code == SQLITE_OK) continue;
    Error error = error_of(*connection_);
    sqlite3_clear_bindings(statement);
    bound_.assign(bound_.size(), Value());
    return error;
  }
  return ok();
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(*connection_);
}

Status Statement::run(std::span<const Value> values) {
  Status end = bind(values);
  if (end) {
    auto stepped = step();
    while (stepped && *stepped) stepped = step();
    if (!stepped) end = std::move(stepped).error();
  }
  reset();
  return end;
}

// The error that reset() may give is that of the step before.
void Statement::reset() noexcept { sqlite3_reset(statement_.get()); }

Value Statement::column(int at) const {
  sqlite3_stmt* statement = statement_.get();
  const auto bytes = [&](const void* data) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
    return size == 0 ? std::string() : std::string(static_cast<const char*>(data), size);
  };
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, at);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement, at));
    case SQLITE_BLOB:
      return Blob{bytes(sqlite3_column_blob(statement, at))};
    default:  // NULL; STRICT tables of ours have no REAL
      return {};
  }
}

Values Statement::row() const {
  const int count = sqlite3_column_count(statement_.get());
  Values values;
  values.reserve(static_cast<std::size_t>(count));
  for (int at = 0; at < count; ++at) values.push_back(column(at));
  return values;
}

// ---- Database ----

Database::Database(std::unique_ptr<Connection> connection) : connection_(connection.release()) {}

// close_v2 never refuses; a statement that outlived its database would keep the file open.
void Database::Close::operator()(Connection* connection) const noexcept {
  sqlite3_close_v2(connection->handle);
  delete connection;  // NOLINT(cppcoreguidelines-owning-memory)
}

Result<Database> Database::open(const std::string& path, Access access, const std::string& vfs) {
  Database database(std::make_unique<Connection>());
  Connection& connection = *database.connection_;
  connection.path = path;
  const bool is_frozen = access == Access::frozen;
  const int flags = (access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (is_frozen ? SQLITE_OPEN_URI : 0);
  const std::string name = is_frozen ? frozen_uri(path) : path;
  const int code =
      sqlite3_open_v2(name.c_str(), &connection.handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  if (connection.handle == nullptr) return fail(Code::exhausted, "{}: out of memory", path);
  SLIPWAY_TRY(status_of(connection, code));

  // Nothing in the file is run as code, and the file's own bytes cannot be reached by SQL.
  sqlite3_db_config(connection.handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection.handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection.handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(connection.handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  sqlite3_wal_hook(connection.handle, count_log_pages, &connection);
  SLIPWAY_TRY(database.execute("PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON"));
  return database;
}

Status Database::execute(const std::string& sql) {
  return status_of(*connection_, sqlite3_exec(connection_->handle, sql.c_str(), nullptr, nullptr, nullptr));
}

Result<Statement> Database::prepare(std::string_view sql) {
  Statement statement;
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(connection_->handle, sql.data(), int_size(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  statement.statement_.reset(prepared);
  statement.connection_ = connection_.get();
  SLIPWAY_TRY(status_of(*connection_, code));
  statement.bound_.resize(static_cast<std::size_t>(sqlite3_bind_parameter_count(prepared)));
  return statement;
}

Result<std::vector<Values>> Database::query(std::string_view sql) {
  SLIPWAY_TRY(Statement statement, prepare(sql));
  std::vector<Values> rows;
  for (;;) {
    SLIPWAY_TRY(const bool is_row, statement.step());
    if (!is_row) return rows;
    rows.push_back(statement.row());
  }
}

Result<std::int64_t> Database::number(std::string_view sql) {
  SLIPWAY_TRY(const auto rows, query(sql));
  const auto* number = rows.empty() ? nullptr : std::get_if<std::int64_t>(&rows.front().front());
  if (number == nullptr) return fail(Code::internal, "{}: expected a number from: {}", path(), sql);
  return *number;
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_->handle); }

int Database::last_code() const { return sqlite3_extended_errcode(connection_->handle); }

std::string Database::last_words() const { return sqlite3_errmsg(connection_->handle); }

bool Database::is_in_transaction() const { return sqlite3_get_autocommit(connection_->handle) == 0; }

bool Database::is_powersafe_overwrite() const {
  int answer = -1;  // asks, sets nothing
  const int code =
      sqlite3_file_control(connection_->handle, "main", SQLITE_FCNTL_POWERSAFE_OVERWRITE, &answer);
  return code == SQLITE_OK && answer == 1;
}

const std::string& Database::path() const { return connection_->path; }

void Database::set_checkpoint_on_close(bool is_on) {
  sqlite3_db_config(connection_->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_on ? 0 : 1, nullptr);
}

void Database::set_busy_timeout_ms(int timeout_ms) { sqlite3_busy_timeout(connection_->handle, timeout_ms); }

int Database::log_pages() const { return connection_->log_pages; }

Status Database::quick_check() {
  SLIPWAY_TRY(const auto rows, query("PRAGMA quick_check(1)"));
  const std::string words = rows.empty() ? "no answer" : text_of(rows.front().front());
  if (words == "ok") return ok();
  return fail(Code::internal, "{}: is damaged: {}; restore a backup", path(), words);
}

Status Database::copy_pages_to(Database& target) {
  sqlite3_backup* backup =
      sqlite3_backup_init(target.connection_->handle, "main", connection_->handle, "main");
  if (backup == nullptr) return error_of(*target.connection_);
  sqlite3_backup_step(backup, -1);
  // Gives the error of the step, which stands in the target whichever side it came from.
  const int code = sqlite3_backup_finish(backup);
  return status_of(*target.connection_, code);
}

// ---- Whole files ----

Result<Checkpoint> checkpoint(Database& database, CheckpointMode mode) {
  constexpr std::array<std::string_view, 3> kSql{
      "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)"};
  SLIPWAY_TRY(const auto rows, database.query(kSql[static_cast<std::size_t>(mode)]));
  // Whether somebody was in the way, then the two counts.
  return Checkpoint{number_of(rows.at(0).at(1)), number_of(rows.at(0).at(2))};
}

namespace {

Status copy_into(const std::string& from, const std::string& to, const std::string& vfs) {
  SLIPWAY_TRY(Database source, Database::open(from, Access::read_only, vfs));
  SLIPWAY_TRY(Database target, Database::open(to, Access::read_write, vfs));
  // The target is nobody's yet: it is made durable as a whole, at the end.
  SLIPWAY_TRY(target.execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"));
  // One read transaction around it: without it, each commit would make the copy start again.
  SLIPWAY_TRY(source.execute("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1"));
  return source.copy_pages_to(target);
}

}  // namespace

Status copy_database(const std::string& from, const std::string& to, const std::string& vfs) {
  SLIPWAY_TRY(files::create(to));
  Status end = copy_into(from, to, vfs);
  if (end) end = files::sync(to);
  if (!end) {
    if (auto removed = files::remove(to); !removed) return removed;
  }
  return end;
}

std::int64_t number_of(const Value& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? *number : 0;
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : std::string();
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

}  // namespace slipway::store::sqlite
