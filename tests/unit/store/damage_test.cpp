// SPDX-License-Identifier: Apache-2.0
// damage_test.cpp - files that changed while nobody looked: flipped bytes, a cut, a log of another time. Each
// is detected, or harmless; never is an attempt or a credential shown that was not written so.
#include "support/log_capture.hpp"
#include "support/store_fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;

namespace {

int rounds(int usual) { return std::getenv("SLIPWAY_LONG") != nullptr ? usual * 20 : usual; }

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Database and log as a dead process left them.
struct Files {
  std::string database;
  std::string log;
};

// A store of a few pages for each table, whose files can be read, damaged and put back.
class Damaged {
 public:
  Damaged() : fixture_(backend_) {
    fixture_.reopen();
    add_environment(fixture_);
    for (int i = 0; i < 30; ++i) {
      const auto number = static_cast<std::uint8_t>(i + 1);
      Attempt sent = attempt(number, std::to_string(i));
      sent.evidence = std::string(100 + 7 * static_cast<std::size_t>(i), 'e');
      fixture_.committed(inserting(machine(1, std::to_string(i)), sent, credential(i + 10)));
    }
  }

  StoreFixture& fixture() { return fixture_; }

  Files stop() {
    fixture_.close();
    return read();
  }
  Files kill() {
    backend_.disk().kill();
    fixture_.close();
    backend_.restart();
    return read();
  }
  void put(const Files& files) {
    fixture_.close();
    write_file(backend_.path(), files.database);
    std::filesystem::remove(backend_.path() + "-shm");
    std::filesystem::remove(backend_.log_path());
    if (!files.log.empty()) write_file(backend_.log_path(), files.log);
  }

  // Opens it; true if that was refused, with words.
  bool is_detected() {
    const Status opened = fixture_.open();
    if (!opened) CHECK(opened.error().message.size() > 20);
    return !opened;
  }

 private:
  Files read() { return {bytes_of_file(backend_.path()), bytes_of_file(backend_.log_path())}; }

  SqliteBackend backend_;
  StoreFixture fixture_;
};

// Every attempt and every credential is as in `good`: none missing, none more.
template <class Row>
bool are_same(const Snapshot& shown, const Snapshot& good) {
  if (shown.all<Row>().size() != good.all<Row>().size()) return false;
  return std::all_of(shown.all<Row>().begin(), shown.all<Row>().end(), [&](const auto& entry) {
    const auto other = good.find<Row>(entry.first);
    return other && !first_difference(*entry.second, *other) && other->revision == entry.second->revision;
  });
}

bool is_trusted_part_same(const Snapshot& shown, const Snapshot& good) {
  return are_same<Attempt>(shown, good) && are_same<Credential>(shown, good);
}

}  // namespace

TEST_CASE("a flipped byte anywhere in the database is detected or changes no attempt and no credential",
          "[damage]") {
  const LogCapture log;
  Damaged store;
  const Snapshot good = store.fixture()->snapshot();
  const Files files = store.stop();
  const std::uint64_t seed = 20'260'101;
  SeededRandom random(seed);
  int detected = 0;
  const int count = rounds(120);
  for (int round = 0; round < count; ++round) {
    Files bad = files;
    const std::size_t at = random.below(bad.database.size());
    const auto mask = static_cast<char>(1 + random.below(255));
    INFO("seed " << seed << ", round " << round << ": byte " << at << " of page " << at / 4096 + 1);
    bad.database[at] = static_cast<char>(bad.database[at] ^ mask);
    store.put(bad);
    if (store.is_detected()) {
      ++detected;
    } else {
      CHECK(is_trusted_part_same(store.fixture()->snapshot(), good));
    }
  }
  std::cout << message("flipped bytes in the database: {} of {} detected\n", detected, count) << std::flush;
  CHECK(detected > 0);
  store.put(files);
  CHECK_FALSE(store.is_detected());
  CHECK(first_difference(store.fixture()->snapshot(), good) == std::nullopt);
}

TEST_CASE("every byte of a stored attempt and credential is under its checksum", "[damage]") {
  const LogCapture log;
  Damaged store;
  const Snapshot good = store.fixture()->snapshot();
  const Files files = store.stop();
  // The evidence of the last attempt, and the name of a credential: text, where SQLite itself notices
  // nothing.
  for (const std::string& text : {std::string(100 + 7 * 29, 'e'), std::string("credential-17")}) {
    const std::size_t start = files.database.find(text);
    REQUIRE(start != std::string::npos);
    for (std::size_t i = 0; i < text.size(); i += 1 + text.size() / 12) {
      Files bad = files;
      bad.database[start + i] = 'X';
      store.put(bad);
      CHECK(store.is_detected());
    }
  }
}

TEST_CASE("a database that was cut off is detected", "[damage]") {
  const LogCapture log;
  Damaged store;
  const Snapshot good = store.fixture()->snapshot();
  const Files files = store.stop();
  const std::size_t pages = files.database.size() / 4096;
  for (std::size_t kept = 0; kept < pages; kept += 1 + pages / 10) {
    for (const std::size_t more : {0U, 100U, 2048U}) {
      Files bad = files;
      bad.database.resize(kept * 4096 + more);
      if (bad.database.empty()) continue;  // an empty file is a new store, where one may be made
      INFO(kept << " of " << pages << " pages and " << more << " bytes");
      store.put(bad);
      if (!store.is_detected()) CHECK(is_trusted_part_same(store.fixture()->snapshot(), good));
    }
  }
}

TEST_CASE("a flipped byte in the log is detected, or costs no commit but one that looks cut off by the crash",
          "[damage]") {
  const LogCapture log;
  Damaged store;
  store.fixture().reopen();  // a log of its own for what follows
  std::vector<Snapshot> states{store.fixture()->snapshot()};
  for (int i = 0; i < 5; ++i) {
    store.fixture().committed(
        inserting(attempt(static_cast<std::uint8_t>(100 + i), "9" + std::to_string(i))));
    states.push_back(store.fixture()->snapshot());
  }
  const Files files = store.kill();
  REQUIRE(files.log.size() > 5 * 4096);
  SeededRandom random(7);
  int detected = 0;
  int short_of_one = 0;
  const int count = rounds(60);
  for (int round = 0; round < count; ++round) {
    Files bad = files;
    const std::size_t at = random.below(bad.log.size());
    INFO("byte " << at << " of " << bad.log.size());
    bad.log[at] = static_cast<char>(bad.log[at] ^ static_cast<char>(1U << random.below(8)));
    store.put(bad);
    if (store.is_detected()) {
      ++detected;
      continue;
    }
    const Snapshot shown = store.fixture()->snapshot();
    const bool is_whole = is_trusted_part_same(shown, states.back());
    const bool is_short_of_one = is_trusted_part_same(shown, states[states.size() - 2]);
    CHECK((is_whole || is_short_of_one));
    short_of_one += is_short_of_one ? 1 : 0;
  }
  std::cout << message(
                   "flipped bytes in the log: {} of {} detected, {} taken for a commit that was cut off\n",
                   detected, count, short_of_one)
            << std::flush;
  CHECK(detected > 0);
}

TEST_CASE(
    "a log that was cut off costs no commit but those behind the cut, and a commit is whole or not there",
    "[damage]") {
  const LogCapture log;
  Damaged store;
  store.fixture().reopen();
  std::vector<Snapshot> states{store.fixture()->snapshot()};
  for (int i = 0; i < 4; ++i) {
    store.fixture().committed(
        inserting(attempt(static_cast<std::uint8_t>(100 + i), "9" + std::to_string(i)), credential(100 + i)));
    states.push_back(store.fixture()->snapshot());
  }
  const Files files = store.kill();
  std::size_t seen = 0;
  for (std::size_t size = 0; size <= files.log.size(); size += 1500) {
    Files bad = files;
    bad.log.resize(size);
    store.put(bad);
    if (store.is_detected()) continue;
    const Snapshot shown = store.fixture()->snapshot();
    std::size_t at = 0;
    while (at < states.size() && !is_trusted_part_same(shown, states[at])) ++at;
    INFO(size << " of " << files.log.size() << " bytes");
    CHECK(at < states.size());
    CHECK(at >= seen);
    seen = std::max(seen, at);
  }
  CHECK(seen > 1);
}

TEST_CASE("a log of an older copy beside a newer database is detected or harmless, and so is a newer one",
          "[damage]") {
  const LogCapture log;
  Damaged store;
  store.fixture().reopen();
  store.fixture().committed(inserting(attempt(100, "100")));
  const Files old = store.kill();
  REQUIRE_FALSE(old.log.empty());
  store.fixture().reopen();
  for (int i = 1; i < 20; ++i) {
    store.fixture().committed(
        inserting(attempt(static_cast<std::uint8_t>(100 + i), std::to_string(100 + i))));
  }
  const Snapshot newest = store.fixture()->snapshot();
  const Files stopped = store.stop();
  REQUIRE(stopped.log.empty());

  store.put({stopped.database, old.log});
  if (!store.is_detected()) CHECK(is_trusted_part_same(store.fixture()->snapshot(), newest));

  store.put(stopped);
  store.fixture().reopen();
  store.fixture().committed(inserting(attempt(150, "150")));
  const Files killed = store.kill();
  store.put({old.database, killed.log});
  CHECK(store.is_detected());
}

TEST_CASE("a checkpoint that fails while the store runs costs nothing", "[faults]") {
  const LogCapture log;
  for (const DiskCall call : {DiskCall::write, DiskCall::sync}) {
    for (const bool for_good : {false, true}) {
      for (const std::uint64_t nth : {1U, 400U}) {
        if (call == DiskCall::sync && nth > 1) continue;
        StoreOn<SqliteBackend> on;
        add_environment(on.fixture);
        Machine big = machine(1, "0", "small");
        big.instance_message = std::string(std::size_t{4500} << 10U, 'x');
        FaultPlan plan{call, nth, for_good, DiskFault::cut_short, "slipway.db"};
        on.backend.disk().arm(plan);
        on.fixture.committed(inserting(big));  // more than a checkpoint waits for
        CHECK(on.backend.disk().faults() > 0);
        CHECK(log.contains("the log cannot be moved into the database and grows"));
        const Snapshot before = on.fixture->snapshot();
        on.fixture.lose_power_and_reopen();
        CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
        on.fixture.committed(inserting(machine(1, "1")));
        on.fixture.crash_and_reopen();
        CHECK(on.fixture.has_machine("1"));
      }
    }
  }
}
