// SPDX-License-Identifier: Apache-2.0
// sqlite_engine_test.cpp - what is SQLite's part of the contract of Engine: constraints, groups, paging,
// copies, recovery, the log. The conformance suite tests the rest through the store.
#include "store/sqlite_engine.hpp"

#include "engine_support.hpp"
#include "store/files.hpp"
#include "support/fault_vfs.hpp"
#include "support/log_capture.hpp"

#include <atomic>
#include <thread>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::store;

namespace {

struct OnDisk {
  TempDir dir;
  std::string path = dir.path("slipway.db");
  std::unique_ptr<SqliteEngine> engine = open_engine(path);

  void add_environment() { write(*engine, {inserting_row(environment(1))}); }
  // As one transaction of a group of its own; the refusal's message.
  std::string refused(Code code, const RowChanges& changes) {
    must(engine->begin());
    const Status end = engine->apply(changes);
    engine->rollback();
    REQUIRE_FALSE(end);
    CHECK(end.error().code == code);
    return end.error().message;
  }
};

}  // namespace

TEST_CASE("a new database has every table, in write-ahead mode, with strict tables and a private file") {
  OnDisk disk;
  for (std::size_t table = 0; table < schema().size(); ++table) {
    INFO(schema()[table].name);
    CHECK(must(disk.engine->read(table, {}, {}, 10)).empty());
  }
  disk.engine.reset();
  CHECK(sql(disk.path, "PRAGMA journal_mode") == std::vector<Values>{{Value("wal")}});
  const auto lax = sql(disk.path,
                       "SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict"
                       " AND name NOT LIKE 'sqlite_%'");
  CHECK(lax.empty());
  CHECK((std::filesystem::status(disk.path).permissions() & std::filesystem::perms(0777)) ==
        std::filesystem::perms(0600));
}

TEST_CASE("the engine commits with synchronous=FULL: a commit syncs the log once") {
  FaultVfs vfs;
  {
    OnDisk disk;
    disk.add_environment();
    vfs.reset_counts();
    write(*disk.engine, {meta("a", "1")});
    write(*disk.engine, {meta("a", "2")});
    CHECK(vfs.calls(DiskCall::sync) == 2);
  }
}

TEST_CASE("a key that exists is a conflict on insert, and none on put") {
  OnDisk disk;
  disk.add_environment();
  CHECK(disk.refused(Code::conflict, {inserting_row(environment(1, "other"))}) ==
        "table environment: the key exists");
  write(*disk.engine, {meta("epoch", "1")});
  write(*disk.engine, {meta("epoch", "2")});
  CHECK(rows_of<MetaRow>(*disk.engine) == std::vector<Values>{{Value("epoch"), Value("2")}});
  write(*disk.engine, {inserting_row(machine(1, "0"))});
  CHECK(disk.refused(Code::conflict, {inserting_row(machine(1, "0"))}) == "table machine: the key exists");
  write(*disk.engine, {inserting_row(attempt(1))});
  auto other_slot = attempt(1);
  other_slot.seq = other_slot.slot = 5;
  CHECK(disk.refused(Code::conflict, {inserting_row(other_slot)}) == "table attempt: the key exists");
}

TEST_CASE("put changes the row and no other one: a unique name is not taken from its holder") {
  OnDisk disk;
  write(*disk.engine, {inserting_row(environment(1, "a")), inserting_row(environment(2, "b"))});
  CHECK(disk.refused(Code::conflict, {writing(RowOp::put, environment(2, "a"))}) ==
        "table environment: UNIQUE constraint failed: environment.name");
  CHECK(rows_of<model::Environment>(*disk.engine).size() == 2);
}

TEST_CASE("a row that is not there is a conflict on update and on erase") {
  OnDisk disk;
  disk.add_environment();
  CHECK(disk.refused(Code::conflict, {writing(RowOp::update, machine(1, "7"))}) ==
        "table machine: there is no such row");
  CHECK(disk.refused(Code::conflict, {erasing_row(machine(1, "7"))}) ==
        "table machine: there is no such row");
}

TEST_CASE("a foreign key is held when the row is written, not at the commit") {
  OnDisk disk;
  CHECK(disk.refused(Code::conflict, {inserting_row(machine(3, "0"))}) ==
        "table machine: its environment does not exist");
  // Not even for a moment within one transaction.
  CHECK(disk.refused(Code::conflict, {inserting_row(machine(1, "0")), inserting_row(environment(1))}) ==
        "table machine: its environment does not exist");
  CHECK(disk.refused(Code::conflict, {inserting_row(attachment(1, "v", "0"))}) ==
        "table attachment: its volume does not exist");

  auto with_credential = environment(1);
  with_credential.credential = model::CredentialId{4};
  CHECK(disk.refused(Code::conflict, {inserting_row(with_credential)}) ==
        "table environment: its credential does not exist");
  write(*disk.engine, {inserting_row(credential(4)), inserting_row(with_credential)});
  CHECK(disk.refused(Code::conflict, {erasing_row(credential(4))}) ==
        "table credential: a row of environment refers to it");
  write(*disk.engine, {inserting_row(machine(1, "0"))});
  CHECK(disk.refused(Code::conflict, {erasing_row(environment(1))}) ==
        "table environment: a row of machine refers to it");
  write(*disk.engine,
        {erasing_row(machine(1, "0")), erasing_row(environment(1)), erasing_row(credential(4))});
}

TEST_CASE("a value that a CHECK or a type refuses is invalid and names the table") {
  OnDisk disk;
  disk.add_environment();
  auto odd = inserting_row(machine(1, "0"));
  odd.values[3] = Value("undead");
  CHECK(disk.refused(Code::invalid, {odd}) ==
        "table machine: CHECK constraint failed: life = 'alive' OR life = 'dying' OR life = 'dead'");
  odd = inserting_row(machine(1, "0"));
  odd.values[2] = Value();
  CHECK(disk.refused(Code::invalid, {odd}) == "table machine: NOT NULL constraint failed: machine.name");
  odd.values[2] = Value(Blob{"bytes"});
  CHECK(disk.refused(Code::invalid, {odd}) ==
        "table machine: cannot store BLOB value in TEXT column machine.name");
  CHECK(disk.refused(Code::invalid, {inserting_row(environment(9, std::string(21, 'x')))}) ==
        "table environment: CHECK constraint failed: length(name) BETWEEN 1 AND 20");
  odd = inserting_row(attempt(1));
  odd.values[0] = Value(Blob{"short"});
  CHECK(disk.refused(Code::invalid, {odd}) == "table attempt: CHECK constraint failed: length(nonce) = 16");
}

TEST_CASE("one active attempt for each slot, and one machine for each instance, also in the file") {
  OnDisk disk;
  disk.add_environment();
  auto first = attempt(1);
  auto second = attempt(2);
  write(*disk.engine, {inserting_row(first)});
  CHECK(disk.refused(Code::conflict, {inserting_row(second)}) ==
        "table attempt: UNIQUE constraint failed: attempt.environment, attempt.machine, attempt.kind, "
        "attempt.slot");
  second.seq = first.seq;
  second.slot = 1;
  CHECK(disk.refused(Code::conflict, {inserting_row(second)}) ==
        "table attempt: UNIQUE constraint failed: attempt.environment, attempt.machine, attempt.seq");
  first.phase = model::AttemptPhase::gone;
  second = attempt(2);
  write(*disk.engine, {writing(RowOp::update, first), inserting_row(second)});

  auto a = machine(1, "0");
  auto b = machine(1, "1");
  write(*disk.engine, {inserting_row(a), inserting_row(b)});  // both without an instance
  a.instance_id = b.instance_id = "i-1";
  write(*disk.engine, {writing(RowOp::update, a)});
  CHECK(disk.refused(Code::conflict, {writing(RowOp::update, b)}) ==
        "table machine: UNIQUE constraint failed: machine.environment, machine.instance_id");
}

TEST_CASE("a refused transaction leaves nothing in its group, and the others stay") {
  OnDisk disk;
  disk.add_environment();
  must(disk.engine->begin());
  must(disk.engine->apply(RowChanges{inserting_row(machine(1, "0"))}));
  CHECK_FALSE(disk.engine->apply(RowChanges{inserting_row(machine(1, "1")),
                                            writing(RowOp::update, machine(1, "0", "x")),
                                            inserting_row(machine(1, "0"))}));
  CHECK_FALSE(disk.engine->apply(RowChanges{inserting_row(environment(2)), inserting_row(machine(2, "0")),
                                            inserting_row(machine(1, "0"))}));
  must(disk.engine->apply(RowChanges{inserting_row(machine(1, "2"))}));
  CHECK(rows_of<model::Machine>(*disk.engine).empty());  // readers see what is committed
  must(disk.engine->commit());
  const auto rows = rows_of<model::Machine>(*disk.engine);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == to_values(machine(1, "0")));
  CHECK(rows[1] == to_values(machine(1, "2")));
  CHECK(rows_of<model::Environment>(*disk.engine).size() == 1);
}

TEST_CASE("a row has nothing of the row that was written before it") {
  OnDisk disk;
  disk.add_environment();
  model::Machine full = machine(1, "0", "a name that is too long to stand inside of a string");
  full.message = "waits";
  full.instance_nonce = nonce(1);
  model::Machine bare = machine(1, "1", "");
  must(disk.engine->begin());
  must(disk.engine->apply(RowChanges{inserting_row(full)}));
  // What SQLite refuses is bound all the same; the next row may not be taken for it.
  CHECK_FALSE(disk.engine->apply(RowChanges{inserting_row(machine(9, "7", "x"))}));
  must(disk.engine->apply(RowChanges{inserting_row(bare)}));
  full.id = {"2"};
  must(disk.engine->apply(RowChanges{inserting_row(full)}));
  must(disk.engine->commit());
  const auto rows = rows_of<model::Machine>(*disk.engine);
  REQUIRE(rows.size() == 3);
  CHECK(rows[1] == to_values(bare));
  CHECK(rows[2] == to_values(full));
}

TEST_CASE("a rolled back group is gone, and rollback without a group does nothing") {
  OnDisk disk;
  must(disk.engine->begin());
  must(disk.engine->apply(RowChanges{meta("a", "1")}));
  disk.engine->rollback();
  disk.engine->rollback();
  CHECK(rows_of<MetaRow>(*disk.engine).empty());
}

TEST_CASE("load gives the resident tables in the order of the schema, each in the order of its keys") {
  OnDisk disk;
  write(*disk.engine,
        {inserting_row(environment(2)), inserting_row(environment(1)), inserting_row(machine(2, "0")),
         inserting_row(machine(1, "b")), inserting_row(machine(1, "a")), inserting_row(attempt(9)),
         inserting_row(change_row(1, 0))});
  auto third = attempt(3, "1");
  write(*disk.engine, {inserting_row(third), writing(RowOp::put, SecretRow{"s", {"sealed"}, {1}})});
  std::vector<std::pair<std::size_t, Values>> loaded;
  must(disk.engine->load([&](std::size_t table, Values values) {
    values.resize(schema()[table].key_columns);
    loaded.emplace_back(table, std::move(values));
    return ok();
  }));
  const auto key = [](auto row) {
    using Row = decltype(row);
    return std::pair(kTableNumber<Row>, key_values<Row>(row.key()));
  };
  CHECK(loaded == std::vector{key(environment(1)), key(environment(2)), key(machine(1, "a")),
                              key(machine(1, "b")), key(machine(2, "0")), key(third), key(attempt(9))});
  const Status ended =
      disk.engine->load([](std::size_t, const Values&) -> Status { return fail(Code::internal, "enough"); });
  CHECK(message_of(ended) == "enough");
}

TEST_CASE("rows are read in pages, by prefix, and behind a key") {
  OnDisk disk;
  RowChanges changes;
  for (std::uint64_t revision = 1; revision <= 4; ++revision) {
    for (std::uint32_t ordinal = 0; ordinal < 3; ++ordinal)
      changes.push_back(inserting_row(change_row(revision, ordinal)));
  }
  write(*disk.engine, changes);
  const auto read = [&](const Values& prefix, const Values& after, std::size_t limit) {
    std::string keys;
    for (const Values& row : must(disk.engine->read(kTableNumber<model::Change>, prefix, after, limit))) {
      keys += std::to_string(std::get<std::int64_t>(row[0])) + "." +
              std::to_string(std::get<std::int64_t>(row[1])) + " ";
    }
    return keys;
  };
  const auto n = [](std::int64_t number) { return Value(number); };
  CHECK(read({}, {}, 4) == "1.0 1.1 1.2 2.0 ");
  CHECK(read({}, {n(2), n(0)}, 4) == "2.1 2.2 3.0 3.1 ");
  CHECK(read({}, {n(4), n(2)}, 4) == "");
  CHECK(read({n(3)}, {}, 9) == "3.0 3.1 3.2 ");
  CHECK(read({n(3)}, {n(3), n(0)}, 9) == "3.1 3.2 ");
  CHECK(read({n(3)}, {n(3), n(0)}, 1) == "3.1 ");
  CHECK(read({n(3)}, {n(2), n(9)}, 9) == "3.0 3.1 3.2 ");
  CHECK(read({n(3)}, {n(4), n(0)}, 9) == "");
  CHECK(read({n(3), n(1)}, {}, 9) == "3.1 ");
  CHECK(read({n(3), n(1)}, {n(3), n(1)}, 9) == "");
  CHECK(read({n(3), n(1)}, {n(3), n(0)}, 9) == "3.1 ");
  CHECK(read({}, {n(3)}, 2) == "3.0 3.1 ");  // a part of a key stands before all that begin with it
  CHECK(read({n(8)}, {}, 9) == "");
  CHECK(read({}, {}, 0) == "");
}

TEST_CASE("erase_below takes the oldest, at most as many as it is told") {
  OnDisk disk;
  RowChanges changes;
  for (std::uint64_t revision = 1; revision <= 5; ++revision) {
    changes.push_back(inserting_row(change_row(revision, 0)));
    changes.push_back(inserting_row(change_row(revision, 1)));
  }
  write(*disk.engine, changes);
  const auto erase = [&](std::int64_t bound, std::size_t limit) {
    must(disk.engine->begin());
    const std::size_t erased = must(disk.engine->erase_below(kTableNumber<model::Change>, bound, limit));
    must(disk.engine->commit());
    return erased;
  };
  CHECK(erase(1, 100) == 0);
  CHECK(erase(4, 3) == 3);
  CHECK(rows_of<model::Change>(*disk.engine).front()[0] == Value(std::int64_t{2}));
  CHECK(erase(4, 100) == 3);
  CHECK(erase(4, 100) == 0);
  CHECK(rows_of<model::Change>(*disk.engine).size() == 4);
}

TEST_CASE("maintain moves the log into the database and the log does not grow for ever") {
  OnDisk disk;
  const std::string note(500'000, 'n');
  std::uint64_t largest = 0;
  for (std::uint64_t revision = 1; revision <= 48; ++revision) {
    write(*disk.engine, {inserting_row(change_row(revision, 0, note))});
    disk.engine->maintain();
    largest = std::max(largest, files::size(disk.path + "-wal"));
  }
  CHECK(files::size(disk.path) > 20'000'000);
  CHECK(largest < 6'000'000);
  CHECK(disk.engine->size_bytes() == files::size(disk.path) + files::size(disk.path + "-wal"));
}

TEST_CASE("a checkpoint that fails is told once, and harms no commit") {
  FaultVfs vfs;
  LogCapture log;
  {
    OnDisk disk;
    vfs.arm({.call = DiskCall::write, .for_good = true, .fault = DiskFault::full, .suffix = ".db"});
    for (std::uint64_t revision = 1; revision <= 40; ++revision) {
      write(*disk.engine, {inserting_row(change_row(revision, 0, std::string(500'000, 'n')))});
      disk.engine->maintain();
    }
    const auto lines = log.lines();
    CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
            return line.find("the log cannot be moved into the database and grows") != std::string::npos;
          }) == 1);
    CHECK(rows_of<model::Change>(*disk.engine).size() == 40);
    vfs.disarm();
    for (std::uint64_t revision = 41; revision <= 50; ++revision) {
      write(*disk.engine, {inserting_row(change_row(revision, 0, std::string(500'000, 'n')))});
      disk.engine->maintain();
    }
    CHECK(files::size(disk.path) > 15'000'000);
  }
}

TEST_CASE("a copy is the committed state of one moment, while a writer goes on") {
  OnDisk disk;
  write(*disk.engine, {meta("revision", "0")});
  std::atomic<bool> is_over = false;
  std::atomic<int> written = 0;
  // Catch's macros are for one thread.
  std::thread writer([&] {
    for (int i = 1; !is_over; ++i) {
      const RowChanges changes{meta("revision", std::to_string(i)), meta("zzz", std::to_string(i)),
                               inserting_row(change_row(static_cast<std::uint64_t>(i), 0))};
      if (!disk.engine->begin() || !disk.engine->apply(changes) || !disk.engine->commit()) return;
      written = i;
    }
  });
  while (written < 3) std::this_thread::yield();
  int previous = 0;
  for (int round = 0; round < 5; ++round) {
    const std::string copy = disk.dir.path("copy-" + std::to_string(round));
    const int before = written;
    must(disk.engine->copy_to(copy));
    auto database = must(sqlite::Database::open(copy, sqlite::Access::frozen));
    must(database.quick_check());
    const auto rows = must(database.query("SELECT value FROM meta ORDER BY name"));
    const int revision = std::stoi(std::get<std::string>(rows.at(0)[0]));
    CHECK(rows.at(0) == rows.at(1));
    CHECK(revision >= before);
    CHECK(revision >= previous);
    CHECK(must(database.number("SELECT count(*) FROM change")) == revision);
    previous = revision;
  }
  is_over = true;
  writer.join();
  disk.engine.reset();
  CHECK(rows_of<MetaRow>(*open_engine(disk.dir.path("copy-0"))).size() == 2);  // a copy is a database
}

TEST_CASE("a copy replaces nothing, and a failed one leaves nothing") {
  OnDisk disk;
  disk.add_environment();
  put_bytes(disk.dir.path("taken"), "precious");
  const Status taken = disk.engine->copy_to(disk.dir.path("taken"));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Code::conflict);
  CHECK(bytes_of(disk.dir.path("taken")) == "precious");

  disk.engine.reset();
  FaultVfs vfs;
  disk.engine = open_engine(disk.path);
  vfs.arm({.call = DiskCall::write, .nth = 3, .fault = DiskFault::full, .suffix = "/copy"});
  const Status full = disk.engine->copy_to(disk.dir.path("copy"));
  REQUIRE_FALSE(full);
  CHECK(full.error().code == Code::exhausted);
  CHECK_FALSE(files::exists(disk.dir.path("copy")));
  disk.engine.reset();
}

TEST_CASE("a commit that the full disk refused is proven to be nowhere; any other failure is unknown") {
  FaultVfs vfs;
  {
    OnDisk disk;
    disk.add_environment();
    must(disk.engine->begin());
    must(disk.engine->apply(RowChanges{inserting_row(machine(1, "0"))}));
    vfs.arm({.call = DiskCall::write, .fault = DiskFault::cut_short, .suffix = "-wal"});
    Status end = disk.engine->commit();
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::exhausted);
    CHECK(end.error().outcome == Outcome::rejected);
    CHECK(end.error().message ==
          disk.path +
              ": database or disk is full (SQLITE_FULL); free space on its file system, "
              "writing then goes on by itself");
    disk.engine->rollback();
    CHECK(rows_of<model::Machine>(*disk.engine).empty());
    write(*disk.engine, {inserting_row(machine(1, "1"))});  // it goes on by itself

    for (const DiskCall call : {DiskCall::write, DiskCall::sync}) {
      // Begins the log, so that the next sync is that of the commit.
      write(*disk.engine, {meta("a", message("before {}", call))});
      must(disk.engine->begin());
      must(disk.engine->apply(RowChanges{inserting_row(machine(1, message("{}", call)))}));
      vfs.arm({.call = call, .suffix = "-wal"});
      end = disk.engine->commit();
      REQUIRE_FALSE(end);
      CHECK(end.error().code == Code::unavailable);
      CHECK(end.error().outcome == Outcome::unknown);
      disk.engine->rollback();
      must(disk.engine->recover());
    }
    // The write that failed left no record; the sync that failed came after it.
    const auto rows = rows_of<model::Machine>(*disk.engine);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0][1] == Value("1"));
    CHECK(rows[1][1] == Value("sync"));
  }
}

TEST_CASE("what recover shows is on the disk: nothing is lost or found by a power cut after it") {
  FaultVfs vfs;
  TempDir dir;
  const std::string path = dir.path("slipway.db");
  {
    auto engine = open_engine(path);
    write(*engine, {meta("a", "kept")});
    must(engine->begin());
    must(engine->apply(RowChanges{meta("b", "not synced")}));
    vfs.arm({.call = DiskCall::sync, .suffix = "-wal"});
    CHECK_FALSE(engine->commit());
    must(engine->recover());
    CHECK(rows_of<MetaRow>(*engine).size() == 2);
    CHECK(files::size(path + "-wal") == 0);
    vfs.lose_power();
  }
  vfs.restart();
  CHECK(rows_of<MetaRow>(*open_engine(path)).size() == 2);
}

TEST_CASE("an engine that could not recover says so, and recovers when the disk is back") {
  FaultVfs vfs;
  {
    OnDisk disk;
    disk.add_environment();
    must(disk.engine->begin());
    must(disk.engine->apply(RowChanges{meta("a", "1")}));
    vfs.arm({.call = DiskCall::sync, .for_good = true});
    CHECK_FALSE(disk.engine->commit());
    CHECK_FALSE(disk.engine->recover());
    const std::string closed = disk.path + ": is closed since an error that could not be recovered from";
    CHECK(message_of(disk.engine->begin()) == closed);
    CHECK(message_of(disk.engine->read(0, {}, {}, 1)) == closed);
    CHECK(message_of(disk.engine->load([](std::size_t, const Values&) { return ok(); })) == closed);
    disk.engine->maintain();
    disk.engine->rollback();
    vfs.disarm();
    must(disk.engine->recover());
    CHECK(rows_of<model::Environment>(*disk.engine).size() == 1);
    CHECK(rows_of<MetaRow>(*disk.engine).size() == 1);
    write(*disk.engine, {meta("a", "2")});
  }
}

TEST_CASE("readers in other threads see whole groups while one is written") {
  OnDisk disk;
  write(*disk.engine, {meta("a", "0"), meta("b", "0")});
  std::atomic<bool> is_over = false;
  std::atomic<int> torn = 0;
  std::thread reader([&] {
    while (!is_over) {
      auto rows = disk.engine->read(kTableNumber<MetaRow>, {}, {}, 2);
      if (!rows || (*rows)[0][1] != (*rows)[1][1]) ++torn;
    }
  });
  for (int i = 1; i <= 100; ++i) {
    write(*disk.engine, {meta("a", std::to_string(i)), meta("b", std::to_string(i))});
  }
  is_over = true;
  reader.join();
  CHECK(torn == 0);
}
