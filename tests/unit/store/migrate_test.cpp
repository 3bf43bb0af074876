// SPDX-License-Identifier: Apache-2.0
// migrate_test.cpp - schema changes: each once, resumable, with a copy before; a file of another program or
// of another time is refused.
#include "store/migrate.hpp"

#include "base/failpoint.hpp"
#include "engine_support.hpp"
#include "store/files.hpp"

#include <array>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::store;

namespace {

constexpr std::array kSteps{
    Migration{1, "initial", "CREATE TABLE a (x INTEGER NOT NULL PRIMARY KEY) STRICT"},
    Migration{2, "second",
              "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT ''; INSERT INTO a VALUES (2, 'two')"},
    Migration{3, "third", "CREATE TABLE b (x INTEGER REFERENCES a (x)) STRICT; INSERT INTO b VALUES (2)"}};

struct File {
  TempDir dir;
  std::string path = dir.path("slipway.db");
  std::string backups = dir.path("backups");

  File() { must(files::create(path)); }

  Status apply(std::span<const Migration> steps) {
    auto database = must(sqlite::Database::open(path, sqlite::Access::read_write));
    return migrate(database, steps, backups, {}, fake_clock());
  }
  std::vector<std::string> copies() const {
    std::vector<std::string> names;
    if (!files::exists(backups)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(backups))
      names.push_back(entry.path().filename());
    return names;
  }
};

}  // namespace

TEST_CASE("migrations of this program have numbers without gaps, and make the schema of the row structs") {
  int version = 0;
  for (const Migration& migration : migrations()) CHECK(migration.version == ++version);
  File file;
  auto database = must(sqlite::Database::open(file.path, sqlite::Access::read_write));
  must(migrate(database, migrations(), {}, {}, fake_clock()));
  must(check_schema(database, schema()));
  CHECK(must(database.number("PRAGMA application_id")) == sqlite::kApplicationId);
}

TEST_CASE("migrations are applied once, in order, each with its row") {
  File file;
  must(file.apply(std::span(kSteps).first(1)));
  must(file.apply(std::span(kSteps).first(1)));
  must(file.apply(kSteps));
  must(file.apply(kSteps));
  const auto rows =
      sql(file.path, "SELECT version, name, length(sha256), applied_ms FROM migration ORDER BY version");
  const std::int64_t now = fake_clock().utc_ms();
  const auto n = [](std::int64_t number) { return Value(number); };
  CHECK(rows == std::vector<Values>{{n(1), Value("initial"), n(64), n(now)},
                                    {n(2), Value("second"), n(64), n(now)},
                                    {n(3), Value("third"), n(64), n(now)}});
}

TEST_CASE("a database with something in it is copied before, and the copy is the state before") {
  File file;
  must(file.apply(std::span(kSteps).first(1)));
  CHECK(file.copies().empty());  // nothing was in it
  must(file.apply(kSteps));
  CHECK(file.copies() == std::vector<std::string>{"pre-migration-1-20270115T080000Z.db"});
  CHECK(sql(file.backups + "/" + file.copies()[0], "SELECT max(version) FROM migration") ==
        std::vector<Values>{{Value(std::int64_t{1})}});
}

TEST_CASE("a migration without a copy is not begun") {
  File file;
  must(file.apply(std::span(kSteps).first(1)));
  put_bytes(file.backups, "a file has the name");
  const Status end = file.apply(kSteps);
  REQUIRE_FALSE(end);
  CHECK(end.error().message == "making directory " + file.backups + ": a file has this name");
  CHECK(sql(file.path, "SELECT max(version) FROM migration") ==
        std::vector<Values>{{Value(std::int64_t{1})}});
}

TEST_CASE("a migration that fails leaves nothing of itself, and the ones before it") {
  File file;
  auto steps = kSteps;
  steps[2].sql = "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1)";
  const Status end = file.apply(steps);
  REQUIRE_FALSE(end);
  CHECK(end.error().message ==
        "migration 3 (third): " + file.path + ": no such table: nowhere (SQLITE_ERROR)");
  CHECK(sql(file.path, "SELECT max(version) FROM migration") ==
        std::vector<Values>{{Value(std::int64_t{2})}});
  CHECK(sql(file.path, "SELECT name FROM sqlite_schema WHERE name = 'b'").empty());
  must(file.apply(kSteps));
}

TEST_CASE("a migration that orphans rows is undone") {
  File file;
  must(file.apply(kSteps));
  std::vector<Migration> steps(kSteps.begin(), kSteps.end());
  steps.push_back({4, "fourth", "DELETE FROM a"});
  const Status end = file.apply(steps);
  REQUIRE_FALSE(end);
  CHECK(end.error().message == "migration 4 (fourth): it leaves rows that refer to rows that are not there");
  CHECK(sql(file.path, "SELECT x FROM a").size() == 1);
}

TEST_CASE("a crash between two migrations leaves a file from which it goes on") {
  failpoints::allow_for_tests();
  File file;
  for (int stopped_at = 1; stopped_at <= 4; ++stopped_at) {
    // Each run comes one further: what is committed stays.
    must(failpoints::arm(message("store.before_migration_commit=error@{}", stopped_at == 1 ? 1 : 2)));
    const Status end = file.apply(kSteps);
    CHECK(end.has_value() == (stopped_at == 4));
    failpoints::disarm_all();
  }
  CHECK(sql(file.path, "SELECT count(*) FROM migration") == std::vector<Values>{{Value(std::int64_t{3})}});
}

TEST_CASE("an edited migration is refused with both hashes") {
  File file;
  must(file.apply(kSteps));
  auto steps = kSteps;
  steps[1].sql = "ALTER TABLE a ADD COLUMN z TEXT";
  const Status end = file.apply(steps);
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::invalid);
  CHECK(end.error().message.find(file.path + ": migration 2 (second) was applied with other text: ") == 0);
  CHECK(end.error().message.find("; run the slipwayd that wrote the file, or restore a backup") !=
        std::string::npos);
}

TEST_CASE("a newer file is refused with both versions and what to do") {
  File file;
  must(file.apply(kSteps));
  const Status end = file.apply(std::span(kSteps).first(2));
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unsupported);
  CHECK(end.error().message == file.path +
                                   ": has schema version 3, this program knows versions up to 2; install the "
                                   "newer slipwayd that wrote "
                                   "it, or restore a backup from before its upgrade (pre-migration-2-*)");
}

TEST_CASE("a schema that was changed from outside is refused with table and column") {
  const auto [change, expected] = GENERATE(table<std::string, std::string>(
      {{"ALTER TABLE machine DROP COLUMN zone", "table machine has no column zone"},
       {"ALTER TABLE machine ADD COLUMN extra TEXT", "table machine has a column extra that is not known"},
       {"DROP TABLE credential; CREATE TABLE credential (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
        "provider TEXT,"
        " account TEXT, secret_id TEXT, created_ms INTEGER, revision INTEGER)",
        "table credential has no column checksum"},
       {"DROP TABLE subnet", "has no table subnet"},
       {"DROP TABLE pool; CREATE TABLE pool (environment INTEGER, name TEXT, provider TEXT, attributes TEXT,"
        " revision INTEGER, PRIMARY KEY (name, environment))",
        "column environment of table pool has place 2 in the key, expected 1"}}));
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  open_engine(path).reset();
  {
    auto database = must(sqlite::Database::open(path, sqlite::Access::read_write));
    must(database.execute(change));
  }
  const auto opened = try_open(path);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::internal);
  CHECK(opened.error().message.find(path + ": ") == 0);
  CHECK(opened.error().message.find(expected) != std::string::npos);
  CHECK(opened.error().message.find("; the file was changed from outside: restore a backup") !=
        std::string::npos);
}

TEST_CASE("what references are in the row structs are in the file, and no others") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  open_engine(path).reset();
  for (const TableSchema& table : schema()) {
    INFO(table.name);
    std::vector<Values> wanted;
    for (const ForeignKey& key : table.foreign_keys) {
      for (const std::size_t column : key.columns) {
        wanted.push_back({Value(std::string(schema()[key.parent].name)),
                          Value(std::string(table.columns[column])), Value("RESTRICT"), Value("RESTRICT")});
      }
    }
    CHECK(sql(path,
              message("SELECT \"table\", \"from\", on_update, on_delete FROM pragma_foreign_key_list('{}')"
                      " ORDER BY id, seq",
                      table.name)) == wanted);
  }
}
