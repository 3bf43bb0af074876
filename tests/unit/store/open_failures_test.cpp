// SPDX-License-Identifier: Apache-2.0
// open_failures_test.cpp - every way in which a state cannot be opened: the message says path, what was wrong
// and what to do, and nothing is made worse. Damage is found, or harmless.
#include "base/executor.hpp"
#include "engine_support.hpp"
#include "store/data_dir.hpp"
#include "store/files.hpp"
#include "store/store.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::store;

namespace {

// What a killed process leaves: the database, and a log that is not moved into it.
struct Left {
  std::string database;
  std::string log;

  void put(const std::string& path) const {
    put_bytes(path, database);
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    if (log.empty()) {
      std::filesystem::remove(path + "-wal");
    } else {
      put_bytes(path + "-wal", log);
    }
    std::filesystem::remove(path + "-shm");
  }
};

Left left_by(const std::string& path) {
  return {bytes_of(path), files::exists(path + "-wal") ? bytes_of(path + "-wal") : std::string()};
}

// As the store writes: each transaction has its changes and the newest revision.
void commit_revision(Engine& engine, int revision, std::string note = "note") {
  write(engine, {inserting_row(change_row(static_cast<std::uint64_t>(revision), 0, std::move(note))),
                 meta("revision", std::to_string(revision))});
}

std::unique_ptr<SqliteEngine> open_controller(const std::string& path, const std::string& uuid) {
  auto engine = open_engine(path);
  write(*engine, {meta("controller", uuid), meta("epoch", "1"), meta("revision", "0")});
  return engine;
}

std::string refused(const std::string& path, Code code, bool may_create = false) {
  const auto opened = try_open(path, may_create);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == code);
  return opened.error().message;
}

// The newest revision after opening, or nothing if the damage was found.
std::optional<std::string> revision_after_opening(const std::string& path) {
  auto opened = try_open(path);
  if (!opened) {
    CHECK(opened.error().message.find(path) != std::string::npos);
    return std::nullopt;
  }
  auto rows = (*opened)->read(kTableNumber<MetaRow>, {}, {Value("epoch")}, 1);
  if (!rows) return std::nullopt;
  REQUIRE(rows->size() == 1);
  return std::get<std::string>((*rows)[0][1]);
}

}  // namespace

TEST_CASE("where no database is, none is made unless it may be") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  CHECK(refused(path, Code::not_found) ==
        path + ": there is no database; check the data directory, or restore a backup");
  CHECK_FALSE(files::exists(path));
  put_bytes(path, "");
  CHECK(refused(path, Code::invalid) == path + ": is empty (0 bytes), expected a database; restore a backup");
  must(try_open(path, true));  // an interrupted creation is begun again
  must(try_open(path));
}

TEST_CASE("what is not a database of ours is refused and not touched") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  SECTION("a directory") {
    std::filesystem::create_directory(path);
    CHECK(refused(path, Code::invalid, true) ==
          path + ": expected a database file, found a directory; name another");
  }
  SECTION("a pipe") {
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(refused(path, Code::invalid, true) ==
          path + ": expected a database file, found something else; name another");
  }
  SECTION("something else") {
    const std::string garbage(9000, 'g');
    Left{garbage, {}}.put(path);
    CHECK(refused(path, Code::internal, true) ==
          path +
              ": file is not a database (SQLITE_NOTADB); the file is damaged or not ours: restore a backup");
    CHECK(bytes_of(path) == garbage);
  }
  SECTION("a database of another program") {
    put_bytes(path, "");
    REQUIRE(chmod(path.c_str(), 0600) == 0);
    CHECK(sql(path, "CREATE TABLE bookmarks (url TEXT)").empty());
    const std::string before = bytes_of(path);
    CHECK(refused(path, Code::invalid, true) ==
          path + ": is an SQLite database, but not one of Slipway; name another file");
    CHECK(bytes_of(path) == before);
  }
}

TEST_CASE("a database that others may write to is refused") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  open_engine(path).reset();
  REQUIRE(chmod(path.c_str(), 0620) == 0);
  CHECK(refused(path, Code::denied) ==
        "database " + path + ": the mode is 0620, expected that only the owner may write; run: chmod go-w " +
            path);
}

TEST_CASE("a database without permission names the path and the reason") {
  if (geteuid() == 0) {
    // Root may read everything; a child that is nobody may not.
    TempDir dir;
    const std::string path = dir.path("slipway.db");
    open_engine(path).reset();
    REQUIRE(chmod(dir.path().c_str(), 0755) == 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setresuid(65534, 65534, 65534) != 0) _exit(2);
      const auto opened = try_open(path);
      const bool is_told =
          !opened && opened.error().message.find(path + ": unable to open database file") == 0 &&
          opened.error().message.find("Permission denied (SQLITE_CANTOPEN); check owner, mode") !=
              std::string::npos;
      _exit(is_told ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  } else {
    TempDir dir;
    const std::string path = dir.path("slipway.db");
    open_engine(path).reset();
    REQUIRE(chmod(path.c_str(), 0) == 0);
    CHECK(refused(path, Code::unavailable).find("Permission denied") != std::string::npos);
  }
}

TEST_CASE("a truncated database is found") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  auto engine = open_controller(path, "c");
  for (int i = 1; i <= 50; ++i) commit_revision(*engine, i, std::string(2000, 'n'));
  engine.reset();
  const Left whole = left_by(path);
  REQUIRE(whole.log.empty());
  for (const std::size_t size : {std::size_t{50}, std::size_t{512}, std::size_t{4096}, std::size_t{9000},
                                 whole.database.size() - 4096, whole.database.size() - 1}) {
    Left{whole.database.substr(0, size), {}}.put(path);
    CAPTURE(size);
    CHECK(refused(path, Code::internal).find(path + ": ") == 0);
  }
}

TEST_CASE("a log without its database is not thrown away") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  auto engine = open_controller(path, "c");
  commit_revision(*engine, 1);
  const Left left = left_by(path);
  engine.reset();
  const std::string other = dir.path("other.db");
  put_bytes(other + "-wal", left.log);
  const std::string expected =
      other + "-wal is there, but its database " + other +
      " is missing or empty; bring the database or restore a backup, or move the former "
      "elsewhere to start anew";
  CHECK(refused(other, Code::invalid, true) == expected);
  put_bytes(other, "");
  CHECK(refused(other, Code::invalid, true) == expected);
  CHECK(bytes_of(other + "-wal") == left.log);
}

TEST_CASE("the log of a killed process is its own, whenever it was killed") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  const std::string copy = dir.path("copy.db");
  auto engine = open_controller(path, "c");
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  SeededRandom random(seed);
  for (int i = 1; i <= 40; ++i) {
    commit_revision(*engine, i, std::string(random.below(60'000), 'n'));
    if (random.below(3) == 0) engine->maintain();
    if (random.below(20) == 0) {
      engine.reset();  // a clean end, and a new start
      engine = open_engine(path);
      write(*engine, {meta("epoch", std::to_string(i + 1))});
    }
    if (i % 4 != 0) continue;
    left_by(path).put(copy);
    CHECK(revision_after_opening(copy) == std::to_string(i));
  }
}

TEST_CASE("the log of another database is refused, and stays what it was") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  auto engine = open_controller(path, "mine");
  commit_revision(*engine, 1);
  engine.reset();
  const Left mine = left_by(path);

  const std::string other_path = dir.path("other.db");
  auto other = open_controller(other_path, "other");
  other.reset();
  other = open_engine(other_path);
  commit_revision(*other, 1);
  const Left others = left_by(other_path);
  other.reset();

  const Left mixed{mine.database, others.log};
  mixed.put(path);
  const std::string told = refused(path, Code::invalid);
  CHECK(
      told ==
      path + "-wal does not belong to " + path +
          ": it leads from revision 0 of controller other to revision 1, and the database is at revision 1 "
          "of "
          "controller mine; bring the database that it was written for, or move it elsewhere if the database "
          "was replaced on purpose");
  CHECK(left_by(path).database == mine.database);
  CHECK(left_by(path).log == others.log);
  std::filesystem::remove(path + "-wal");
  CHECK(revision_after_opening(path) == "1");
}

TEST_CASE("a log and a database of different times of one store are refused, or lead to the newest state") {
  // States as a backup or a copy of the directory catches them: after each commit, with checkpoints in
  // between.
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  std::vector<std::pair<int, Left>> states;
  auto engine = open_controller(path, "c");
  for (int i = 1; i <= 7; ++i) {
    commit_revision(*engine, i, std::string(3000, 'n'));
    states.emplace_back(i, left_by(path));
    if (i % 3 == 0) {
      engine.reset();
      engine = open_engine(path);
    }
  }
  engine.reset();
  const std::string mixed_path = dir.path("mixed.db");
  int refusals = 0;
  for (const auto& [database_revision, with_database] : states) {
    for (const auto& [log_revision, with_log] : states) {
      CAPTURE(database_revision, log_revision);
      Left{with_database.database, with_log.log}.put(mixed_path);
      const auto revision = revision_after_opening(mixed_path);
      if (!revision) ++refusals;
      // The log's commits are a continuation of the database's, or they are not taken.
      if (revision) CHECK(*revision == std::to_string(log_revision));
      if (database_revision == log_revision) CHECK(revision.has_value());
    }
  }
  CHECK(refusals > 0);
}

TEST_CASE("a flipped byte in the log never loses an acknowledged commit without a word") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  auto engine = open_controller(path, "c");
  for (int i = 1; i <= 8; ++i) commit_revision(*engine, i);
  const Left whole = left_by(path);
  engine.reset();
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  SeededRandom random(seed);
  // The last commit cannot be told from one that a crash cut short; each one before it can.
  const std::size_t frame = 24 + 4096;
  const std::size_t before_last = whole.log.size() - 3 * frame;
  for (int round = 0; round < 48; ++round) {
    Left left = whole;
    const std::size_t at = round < 32 ? static_cast<std::size_t>(round) : random.below(before_last);
    left.log[at] = static_cast<char>(left.log[at] ^ (1 << random.below(8)));
    left.put(path);
    CAPTURE(at);
    const auto revision = revision_after_opening(path);
    if (revision) CHECK(*revision == "8");
  }
  // A commit that was cut short is no damage.
  Left cut = whole;
  cut.log.resize(cut.log.size() - 100);
  cut.put(path);
  CHECK(revision_after_opening(path) == "7");
}

TEST_CASE("a flipped byte in the header of any page is found, or harmless") {
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  auto engine = open_controller(path, "c");
  write(*engine, {inserting_row(environment(1))});
  for (int i = 1; i <= 40; ++i) {
    write(*engine, {inserting_row(machine(1, std::to_string(i))), meta("revision", std::to_string(i))});
  }
  const auto machines = rows_of<model::Machine>(*engine);
  engine.reset();
  const Left whole = left_by(path);
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  SeededRandom random(seed);
  const std::size_t pages = whole.database.size() / 4096;
  int found = 0;
  for (std::size_t page = 0; page < pages; ++page) {
    for (int round = 0; round < 6; ++round) {
      // The b-tree's header, and behind it the first pointers to cells; of the first page, the file's header
      // too.
      const std::size_t at = page * 4096 + random.below(page == 0 ? 112 : 12);
      Left left = whole;
      left.database[at] = static_cast<char>(left.database[at] ^ (1 << random.below(8)));
      left.put(path);
      CAPTURE(at);
      auto opened = try_open(path);
      if (!opened) {
        ++found;
        CHECK(opened.error().message.find(path) != std::string::npos);
        continue;
      }
      auto rows = (*opened)->read(kTableNumber<model::Machine>, {}, {}, 1000);
      if (rows) CHECK(*rows == machines);
    }
  }
  CHECK(found > static_cast<int>(pages));
}

// ---- The whole directory ----

TEST_CASE("a data directory is made private, and refused when others may write there") {
  TempDir dir;
  const std::string path = dir.path("data");
  CHECK(message_of(DataDir::open(path, false)) ==
        "data directory " + path + " does not exist; check the path (--data-dir)");
  must(DataDir::open(path, true));
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  REQUIRE(chmod(path.c_str(), 0770) == 0);
  CHECK(message_of(DataDir::open(path, true)) ==
        "data directory " + path +
            ": the mode is 0770, expected that only the owner may write; run: chmod go-w " + path);
  if (geteuid() != 0) return;
  REQUIRE(chmod(path.c_str(), 0700) == 0);
  REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
  CHECK(message_of(DataDir::open(path, true)) ==
        "data directory " + path + ": the owner is uid 12345, expected uid 0 (root); run: chown 0 " + path);
}

TEST_CASE("a data directory that another process holds names the process, until it ends") {
  TempDir dir;
  const std::string path = dir.path("data");
  int ready[2];
  int go[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto held = DataDir::open(path, true);
    char byte = held ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    if (read(go[0], &byte, 1) != 1) _exit(1);
    _exit(0);  // as a crash: nothing is unlocked by hand
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  const auto opened = DataDir::open(path, true);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::conflict);
  CHECK(opened.error().message.find(path + "/slipway.lock is locked by pid " + std::to_string(child) +
                                    " (") == 0);
  CHECK(opened.error().message.find(
            "): another slipwayd runs on this data directory; stop it, or choose another with "
            "--data-dir") != std::string::npos);
  REQUIRE(write(go[1], "x", 1) == 1);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  must(DataDir::open(path, true));
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
}

TEST_CASE("a state is opened by its own key only, and a lost key is never replaced") {
  TempDir dir;
  VirtualExecutor writer;
  SystemRandom random;
  const DataDir data = must(DataDir::open(dir.path("data"), true));
  const auto open = [&](bool may_create) {
    OpenOptions options;
    options.may_create = may_create;
    return open_store(data, options, writer, random);
  };
  CHECK(message_of(open(false)) ==
        data.database() + ": there is no database; check the data directory, or restore a backup");
  CHECK_FALSE(files::exists(data.key()));
  must(open(true)).reset();
  must(open(false)).reset();
  const std::string key = bytes_of(data.key());
  const std::string id = must(Keys::open(data.key(), false, random)).id();

  must(files::remove(data.key()));
  const std::string missing = message_of(open(true));
  CHECK(missing.find("key file " + data.key() + " is missing; bring the key file of this controller") == 0);
  CHECK_FALSE(files::exists(data.key()));

  put_bytes(data.key(), std::string(32, 'x'));
  REQUIRE(chmod(data.key().c_str(), 0400) == 0);
  const std::string wrong = message_of(open(true));
  CHECK(wrong.find("this state belongs to the key " + id) == 0);

  must(files::remove(data.key()));
  put_bytes(data.key(), key);
  REQUIRE(chmod(data.key().c_str(), 0400) == 0);
  must(open(false)).reset();
}
