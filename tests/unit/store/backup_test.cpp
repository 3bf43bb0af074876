// SPDX-License-Identifier: Apache-2.0
// backup_test.cpp - copies of a store and the way back, also when the process dies in between.
#include "store/backup.hpp"

#include "base/executor.hpp"
#include "base/failpoint.hpp"
#include "engine_support.hpp"
#include "store/files.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::store;
using namespace std::chrono_literals;

namespace {

struct Controller {
  TempDir dir;
  VirtualExecutor writer;
  FakeClock clock;
  SystemRandom random;
  DataDir data = must(DataDir::open(dir.path("data"), true));
  std::string backups = data.backups();
  std::unique_ptr<Store> store;

  Controller() { open(); }

  void open() {
    OpenOptions options;
    options.may_create = true;
    store = must(open_store(data, options, writer, random));
  }
  void commit(Txn txn) {
    std::optional<Store::Committed> end;
    store->commit(std::move(txn), [&](Store::Committed committed) { end = std::move(committed); });
    writer.run_ready();
    must(*end);
  }
  void add_environment(std::int64_t id) {
    Txn txn("test");
    txn.insert(environment(id));
    commit(std::move(txn));
  }
  std::size_t environments() const { return store->snapshot().all<model::Environment>().size(); }
  backup::Info create(const std::optional<Secret>& passphrase = std::nullopt) {
    clock.advance(1s);
    return must(backup::create(*store, backups, passphrase, clock, random));
  }
  Status restore(const std::string& name, const std::optional<Secret>& passphrase = std::nullopt) {
    store.reset();
    clock.advance(1s);
    return backup::restore(backups, name, data, passphrase, clock);
  }
  std::vector<std::string> names(const std::string& directory) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
};

// What `act` does in a process that a fail point kills.
void die_at(const std::string& point, const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    failpoints::allow_for_tests();
    const Status armed = failpoints::arm(point + "=crash");
    if (armed) act();
    _exit(armed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("a backup has time, revision and key in its listing, newest first") {
  Controller c;
  CHECK(must(backup::list(c.dir.path("nowhere"))).empty());
  c.add_environment(1);
  const backup::Info first = c.create();
  c.add_environment(2);
  const backup::Info second = c.create();
  CHECK(first.name == "slipway-20270115T080001Z-1.db");
  CHECK(second.name == "slipway-20270115T080002Z-2.db");
  CHECK(c.names(c.backups) == std::vector<std::string>{first.name, second.name});

  const auto all = must(backup::list(c.backups));
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == second.name);
  CHECK(all[1].name == first.name);
  CHECK(all[0].revision == 2);
  CHECK(all[0].time_ms == c.clock.utc_ms());
  CHECK(all[0].key_id == c.store->keys().id());
  CHECK_FALSE(all[0].has_key);
  CHECK(all[0].problem.empty());
  CHECK(all[0].bytes == files::size(c.backups + "/" + second.name));
  struct stat info {};
  REQUIRE(stat((c.backups + "/" + second.name).c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
}

TEST_CASE("a damaged backup is listed with its problem and not restored") {
  Controller c;
  c.add_environment(1);
  const backup::Info info = c.create();
  const std::string path = c.backups + "/" + info.name;
  std::string bytes = bytes_of(path);
  bytes.resize(bytes.size() / 2);
  put_bytes(path, bytes);
  const auto all = must(backup::list(c.backups));
  REQUIRE(all.size() == 1);
  CHECK(all[0].problem.find(path) != std::string::npos);
  CHECK_FALSE(c.restore(info.name));
  c.open();
  CHECK(c.environments() == 1);
}

TEST_CASE("restore brings the backup's state back, raises its incarnation, and keeps what was there") {
  Controller c;
  c.add_environment(1);
  const backup::Info info = c.create();
  c.add_environment(2);
  const auto before = c.store->snapshot();
  must(c.restore(info.name));
  const auto kept = c.data.path() + "/slipway.db.before-restore-20270115T080002Z";
  CHECK(sql(kept, "SELECT count(*) FROM environment") == std::vector<Values>{{Value(std::int64_t{2})}});
  c.open();
  CHECK(c.environments() == 1);
  const auto after = c.store->snapshot();
  CHECK(after.controller.incarnation == before.controller.incarnation + 1);
  CHECK(after.controller.uuid == before.controller.uuid);
  c.add_environment(3);
  CHECK(must(backup::list(c.backups)).size() == 1);

  // And again: each restore counts.
  must(c.restore(info.name));
  c.open();
  CHECK(c.store->snapshot().controller.incarnation == before.controller.incarnation + 1);
  CHECK(c.environments() == 1);
}

TEST_CASE("restore takes only names that are in the directory") {
  Controller c;
  c.add_environment(1);
  for (const std::string name : {"slipway-20270115T080001Z-1.db", "../slipway.db", "slipway.key", ""}) {
    const Status end = c.restore(name);
    REQUIRE_FALSE(end);
    CHECK(end.error().message == "there is no backup " + name + " in " + c.backups + "; see backup list");
  }
  c.open();
  CHECK(c.environments() == 1);
}

TEST_CASE("a backup with its key opens on another machine, with the passphrase") {
  Controller c;
  c.add_environment(1);
  Txn txn("test");
  txn.put_secret("s", Secret("the secret"));
  c.commit(std::move(txn));
  const backup::Info info = c.create(Secret("correct horse"));
  CHECK(info.has_key);
  CHECK(must(backup::list(c.backups))[0].has_key);
  const std::string key_file = c.backups + "/slipway-20270115T080001Z-2.key";
  CHECK(bytes_of(key_file).find(std::string(c.store->keys().root().reveal())) == std::string::npos);

  Controller other;
  other.add_environment(7);
  const std::string other_id = other.store->keys().id();
  std::filesystem::copy(c.backups, other.backups);
  CHECK(message_of(other.restore(info.name)) == other.backups + "/" + info.name + " belongs to the key " +
                                                    info.key_id + ", and slipway.key is " + other_id +
                                                    "; give the passphrase of the key that lies beside it");
  CHECK(message_of(other.restore(info.name, Secret("wrong"))) ==
        other.backups + "/slipway-20270115T080001Z-2.key: does not open with this passphrase, or is damaged");
  must(other.restore(info.name, Secret("correct horse")));
  other.open();
  CHECK(other.environments() == 1);
  CHECK(must(other.store->secret("s")).reveal() == "the secret");
  CHECK(other.store->keys().id() == c.store->keys().id());
  const auto names = other.names(other.data.path());
  CHECK(std::count_if(names.begin(), names.end(), [](const std::string& name) {
          return name.starts_with("slipway.key.before-restore-");
        }) == 1);

  // With the key lost altogether.
  other.store.reset();
  must(files::remove(other.data.key()));
  must(other.restore(info.name, Secret("correct horse")));
  other.open();
  CHECK(must(other.store->secret("s")).reveal() == "the secret");
}

TEST_CASE("a backup without a key needs the key it was made with") {
  Controller c;
  c.add_environment(1);
  const backup::Info info = c.create();
  c.store.reset();
  must(files::remove(c.data.key()));
  CHECK(message_of(c.restore(info.name, Secret("x"))) ==
        c.backups + "/" + info.name + " belongs to the key " + info.key_id +
            ", and there is no slipway.key; bring the slipway.key that was made with it");
  CHECK(message_of(backup::create(*Controller().store, c.backups, Secret(""), c.clock, c.random)) ==
        "passphrase: expected text, got nothing; a key is never kept unprotected");
}

TEST_CASE("prune keeps the newest, and those from before a migration") {
  Controller c;
  std::vector<std::string> made;
  for (int i = 1; i <= 5; ++i) {
    c.add_environment(i);
    made.push_back(c.create(i == 1 ? std::optional<Secret>(Secret("x")) : std::nullopt).name);
  }
  std::filesystem::copy_file(c.backups + "/" + made[0], c.backups + "/pre-migration-1-20200101T000000Z.db");
  put_bytes(c.backups + "/notes.txt", "of a person");
  CHECK(must(backup::prune(c.backups, 7)).empty());
  CHECK(must(backup::prune(c.backups, 2)) == std::vector<std::string>{made[2], made[1], made[0]});
  CHECK(c.names(c.backups) ==
        std::vector<std::string>{"notes.txt", "pre-migration-1-20200101T000000Z.db", made[3], made[4]});
}

TEST_CASE("a process that dies while it backs up leaves no half backup, and the next one works") {
  Controller c;
  c.add_environment(1);
  die_at("store.backup_before_name", [&] { static_cast<void>(c.create().name); });
  CHECK(must(backup::list(c.backups)).empty());
  CHECK(c.create().revision == 1);
  CHECK(must(backup::list(c.backups)).size() == 1);
  CHECK(c.names(c.backups).size() == 1);
}

TEST_CASE("a process that dies while it restores leaves one of the two states, and can do it again") {
  const auto point = GENERATE(as<std::string>(), "store.restore_before_swap", "store.restore_after_swap");
  Controller c;
  c.add_environment(1);
  const backup::Info info = c.create();
  c.add_environment(2);
  c.store.reset();
  die_at(point, [&] { static_cast<void>(c.restore(info.name).has_value()); });
  c.open();
  CHECK(c.environments() == (point == "store.restore_before_swap" ? 2 : 1));
  c.clock.advance(1s);  // the child's second
  must(c.restore(info.name));
  c.open();
  CHECK(c.environments() == 1);
}

TEST_CASE("a database that cannot be opened any more is kept with its log when it is replaced") {
  Controller c;
  c.add_environment(1);
  const backup::Info info = c.create();
  c.add_environment(2);
  const std::string log = bytes_of(c.data.database() + "-wal");
  REQUIRE_FALSE(log.empty());
  c.store.reset();
  std::string damaged = bytes_of(c.data.database());
  damaged.replace(0, 16, "not a database!!");
  put_bytes(c.data.database(), damaged);
  put_bytes(c.data.database() + "-wal", log);
  must(c.restore(info.name));
  const std::string kept = c.data.database() + ".before-restore-20270115T080002Z";
  CHECK(bytes_of(kept) == damaged);
  CHECK(bytes_of(kept + "-wal") == log);
  CHECK_FALSE(files::exists(c.data.database() + "-wal"));
  c.open();
  CHECK(c.environments() == 1);
}
