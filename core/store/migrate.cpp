// SPDX-License-Identifier: Apache-2.0
#include "store/migrate.hpp"

#include "base/crypto.hpp"
#include "base/failpoint.hpp"
#include "base/fs.hpp"
#include "base/log.hpp"
#include "store/files.hpp"

#include <algorithm>
#include <vector>

namespace slipway::store {
namespace {

constexpr Logger kLog("store");
FailPoint before_migration_commit("store.before_migration_commit");

struct Applied {
  std::int64_t version = 0;
  std::string name;
  std::string sha256;
};

Result<bool> has_table(sqlite::Database& database, std::string_view table) {
  SLIPWAY_TRY(const std::int64_t count,
              database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = " +
                              sqlite::quoted(table)));
  return count != 0;
}

Result<std::vector<Applied>> applied_migrations(sqlite::Database& database) {
  std::vector<Applied> applied;
  SLIPWAY_TRY(const bool is_begun, has_table(database, "migration"));
  if (!is_begun) return applied;
  SLIPWAY_TRY(const auto rows,
              database.query("SELECT version, name, sha256 FROM migration ORDER BY version"));
  for (const Values& row : rows) {
    applied.push_back({sqlite::number_of(row[0]), sqlite::text_of(row[1]), sqlite::text_of(row[2])});
  }
  return applied;
}

Status check_applied(const sqlite::Database& database, const std::vector<Applied>& applied,
                     std::span<const Migration> wanted) {
  if (applied.size() > wanted.size()) {
    return fail(Code::unsupported,
                "{}: has schema version {}, this program knows versions up to {}; install the newer slipwayd "
                "that wrote it, or restore a backup from before its upgrade (pre-migration-{}-*)",
                database.path(), applied.back().version, wanted.size(), wanted.size());
  }
  for (std::size_t i = 0; i < applied.size(); ++i) {
    const Applied& was = applied[i];
    const Migration& is = wanted[i];
    const std::string sha256 = hex(slipway::sha256(is.sql));
    if (was.version == is.version && was.name == is.name && was.sha256 == sha256) continue;
    return fail(
        Code::invalid,
        "{}: migration {} ({}) was applied with other text: {} in the file, {} here; run the slipwayd "
        "that wrote the file, or restore a backup",
        database.path(), was.version, was.name, was.sha256.substr(0, 12), sha256.substr(0, 12));
  }
  return ok();
}

Status back_up(sqlite::Database& database, std::size_t version, const std::string& backup_dir,
               const std::string& vfs, const Clock& clock) {
  SLIPWAY_TRY(fs::make_directory(backup_dir, 0700));
  const std::string path =
      message("{}/pre-migration-{}-{}.db", backup_dir, version, files::utc_stamp(clock.utc_ms()));
  const std::string aside = backup_dir + "/.pre-migration";
  SLIPWAY_TRY(files::remove(aside));  // of a run that was interrupted
  SLIPWAY_TRY(sqlite::copy_database(database.path(), aside, vfs));
  {
    SLIPWAY_TRY(sqlite::Database copy, sqlite::Database::open(aside, sqlite::Access::frozen, vfs));
    SLIPWAY_TRY(copy.quick_check());
  }
  SLIPWAY_TRY(files::rename(aside, path));
  kLog.info("database copied before its migration", {{"path", path}});
  return ok();
}

Status apply(sqlite::Database& database, const Migration& migration, const Clock& clock) {
  SLIPWAY_TRY(database.execute(
      "CREATE TABLE IF NOT EXISTS migration (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL,"
      " sha256 TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT"));
  SLIPWAY_TRY(database.execute(message("PRAGMA application_id = {}", sqlite::kApplicationId)));
  SLIPWAY_TRY(database.execute(std::string(migration.sql)));
  SLIPWAY_TRY(const auto orphans, database.query("PRAGMA foreign_key_check"));
  if (!orphans.empty()) return fail(Code::internal, "it leaves rows that refer to rows that are not there");
  SLIPWAY_TRY(sqlite::Statement row,
              database.prepare("INSERT INTO migration (version, name, sha256, applied_ms)"
                               " VALUES (?1, ?2, ?3, ?4)"));
  const Values values{std::int64_t{migration.version}, std::string(migration.name),
                      hex(sha256(migration.sql)), clock.utc_ms()};
  SLIPWAY_TRY(row.run(values));
  return before_migration_commit.hit();
}

Status apply_in_transaction(sqlite::Database& database, const Migration& migration, const Clock& clock) {
  SLIPWAY_TRY(database.execute("BEGIN IMMEDIATE"));
  Status end = apply(database, migration, clock);
  if (end) end = database.execute("COMMIT");
  if (end) return ok();
  if (database.is_in_transaction()) {
    if (auto undone = database.execute("ROLLBACK"); !undone) kLog.warn("a rollback failed", {});
  }
  return std::move(end).error().within(message("migration {} ({})", migration.version, migration.name));
}

}  // namespace

Status check_is_ours(sqlite::Database& database) {
  SLIPWAY_TRY(const std::int64_t id, database.number("PRAGMA application_id"));
  SLIPWAY_TRY(const std::int64_t objects, database.number("SELECT count(*) FROM sqlite_schema"));
  if (id == sqlite::kApplicationId || (id == 0 && objects == 0)) return ok();
  return fail(Code::invalid, "{}: is an SQLite database, but not one of Slipway; name another file",
              database.path());
}

Status migrate(sqlite::Database& database, std::span<const Migration> wanted, const std::string& backup_dir,
               const std::string& vfs, const Clock& clock) {
  SLIPWAY_TRY(const auto applied, applied_migrations(database));
  SLIPWAY_TRY(check_applied(database, applied, wanted));
  if (applied.size() == wanted.size()) return ok();

  if (!applied.empty() && !backup_dir.empty()) {
    SLIPWAY_TRY(back_up(database, applied.size(), backup_dir, vfs, clock));
  }
  // So that a table can be made anew under its children; each migration checks all references at its end.
  SLIPWAY_TRY(database.execute("PRAGMA foreign_keys = OFF"));
  for (const Migration& migration : wanted.subspan(applied.size())) {
    SLIPWAY_TRY(apply_in_transaction(database, migration, clock));
    if (!applied.empty()) kLog.info("database migrated", {{"version", migration.version}});
  }
  return database.execute("PRAGMA foreign_keys = ON");
}

Status check_schema(sqlite::Database& database, const Schema& schema) {
  constexpr std::string_view kAdvice = "the file was changed from outside: restore a backup";
  for (const TableSchema& table : schema) {
    SLIPWAY_TRY(const auto rows, database.query("SELECT name, pk FROM pragma_table_xinfo(" +
                                                sqlite::quoted(table.name) + ")"));
    if (rows.empty())
      return fail(Code::internal, "{}: has no table {}; {}", database.path(), table.name, kAdvice);
    std::vector<std::string_view> wanted = table.columns;
    if (table.is_checksummed) wanted.push_back("checksum");
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto found = std::find_if(
          rows.begin(), rows.end(), [&](const Values& row) { return sqlite::text_of(row[0]) == wanted[i]; });
      if (found == rows.end()) {
        return fail(Code::internal, "{}: table {} has no column {}; {}", database.path(), table.name,
                    wanted[i], kAdvice);
      }
      const std::int64_t place = i < table.key_columns ? static_cast<std::int64_t>(i) + 1 : 0;
      if (const std::int64_t is = sqlite::number_of((*found)[1]); is != place) {
        return fail(Code::internal, "{}: column {} of table {} has place {} in the key, expected {}; {}",
                    database.path(), wanted[i], table.name, is, place, kAdvice);
      }
    }
    for (const Values& row : rows) {
      const std::string name = sqlite::text_of(row[0]);
      if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) continue;
      return fail(Code::internal, "{}: table {} has a column {} that is not known; {}", database.path(),
                  table.name, name, kAdvice);
    }
  }
  return ok();
}

}  // namespace slipway::store
