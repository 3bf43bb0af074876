// SPDX-License-Identifier: Apache-2.0
// conformance_changes_test.cpp - who follows the state sees all that happened: change rows, pages, trimming,
// wake-ups.
#include "support/store_fixture.hpp"

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::StoreSettings;
using store::Txn;

namespace {

StoreSettings few_in_memory() {
  StoreSettings settings;
  settings.recent_changes = 2;
  return settings;
}

// Transaction i adds i % 3 + 1 machines.
void add_history(StoreFixture& fixture, int transactions) {
  int next = 0;
  for (int i = 0; i < transactions; ++i) {
    Txn txn("uid:" + std::to_string(i));
    for (int j = 0; j <= i % 3; ++j, ++next) txn.insert(machine(1, std::to_string(next)), "note of it");
    fixture.committed(std::move(txn));
  }
}

std::string words(const Change& change) { return message("{} {} {}", change.entity, change.id, change.op); }

}  // namespace

// ---- Change rows ----

SLIPWAY_STORE_CASE("every write of a transaction leaves a change with all that is known of it") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision added = on.fixture.committed(inserting(machine(1, "3/lxc/0")));
  const std::int64_t now_ms = on.fixture.executor().clock().utc_ms();
  Txn txn("token:ci");
  txn.update(on.fixture.get_machine("3/lxc/0"), "building -> running")
      .insert(machine(1, "4"), "it's \"new\"");
  const Revision revision = on.fixture.committed(std::move(txn));
  const std::vector<Change> wanted{
      {revision,
       0,
       now_ms,
       {1},
       Entity::machine,
       ChangeOp::changed,
       "1:3/lxc/0",
       "token:ci",
       "building -> running"},
      {revision, 1, now_ms, {1}, Entity::machine, ChangeOp::added, "1:4", "token:ci", "it's \"new\""}};
  CHECK(on.fixture.changes_after(added) == wanted);
  on.fixture.reopen();
  CHECK(on.fixture.changes_after(added) == wanted);
}

SLIPWAY_STORE_CASE("a change names each kind of row by its key") {
  StoreOn<TestType> on;
  Txn txn("test");
  txn.insert(credential(7))
      .insert(environment(2))
      .insert(machine(2, "0"))
      .insert(attempt(1))
      .insert(pool(2, "ssd"));
  txn.insert(volume(2, "5"))
      .insert(attachment(2, "5", "0"))
      .insert(space(2, "dmz"))
      .insert(subnet(2, "10.0.0.0/8"));
  txn.put_secret("credential/7", Secret("s3cret"));
  on.fixture.committed(std::move(txn));
  std::vector<std::string> ids;
  for (const Change& change : on.fixture.changes_after({0})) {
    CHECK(change.ordinal == ids.size());
    CHECK(change.actor == "test");
    ids.push_back(words(change));
  }
  CHECK(ids == std::vector<std::string>{"credential 7 added", "environment 2 added", "machine 2:0 added",
                                        "attempt " + nonce(1).text() + " added", "pool 2:ssd added",
                                        "volume 2:5 added", "attachment 2:5:0 added", "space 2:dmz added",
                                        "subnet 2:10.0.0.0/8 added", "secret credential/7 changed"});
}

SLIPWAY_STORE_CASE("a change names the environment that it is in") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(credential(7), environment(2), machine(2, "0"), attempt(1)));
  const auto changes = on.fixture.changes_after({0});
  REQUIRE(changes.size() == 4);
  CHECK(changes[0].environment == EnvironmentId{0});
  CHECK(changes[1].environment == EnvironmentId{2});
  CHECK(changes[2].environment == EnvironmentId{2});
  CHECK(changes[3].environment == EnvironmentId{1});
}

SLIPWAY_STORE_CASE("an erased row leaves a change, and so does an erased secret") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Txn put("test");
  put.insert(machine(1, "0")).put_secret("s", Secret("x"));
  const Revision before = on.fixture.committed(std::move(put));
  Txn txn("test");
  txn.erase(on.fixture.get_machine("0"), "gone").erase_secret("s");
  on.fixture.committed(std::move(txn));
  const auto changes = on.fixture.changes_after(before);
  REQUIRE(changes.size() == 2);
  CHECK(words(changes[0]) == "machine 1:0 removed");
  CHECK(changes[0].note == "gone");
  CHECK(words(changes[1]) == "secret s removed");
}

SLIPWAY_STORE_CASE("a refused transaction leaves no change") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision before = on.fixture->snapshot().revision;
  CHECK(on.fixture.conflict(inserting(machine(1, "0"), machine(2, "0"))) != "");
  on.fixture.committed(inserting(machine(1, "1")));
  const auto changes = on.fixture.changes_after(before);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].id == "1:1");
}

SLIPWAY_STORE_CASE("what is read from memory is what is read from the disk") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  add_history(on.fixture, 20);
  const auto from_memory = on.fixture.changes_after({0});
  CHECK(from_memory.size() == 2 + 39);
  on.fixture.crash_and_reopen();
  CHECK(on.fixture.changes_after({0}) == from_memory);
}

// ---- Pages ----

SLIPWAY_STORE_CASE("pages give everything once, whatever their size, from memory and from the disk") {
  StoreOn<TestType> memory;
  add_environment(memory.fixture);
  add_history(memory.fixture, 12);
  const auto all = memory.fixture.changes_after({0});
  for (const std::size_t page : {1U, 2U, 3U, 4U, 7U, 100U})
    CHECK(memory.fixture.changes_after({0}, page) == all);
  memory.fixture.reopen();
  for (const std::size_t page : {1U, 2U, 3U, 4U, 7U, 100U})
    CHECK(memory.fixture.changes_after({0}, page) == all);
}

SLIPWAY_STORE_CASE("a page never ends inside a transaction") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Txn big("test");
  for (int i = 0; i < 10; ++i) big.insert(machine(1, std::to_string(i)));
  const Revision before = on.fixture->snapshot().revision;
  const Revision revision = on.fixture.committed(std::move(big));
  const Revision next = on.fixture.committed(inserting(machine(1, "10")));
  for (int from_disk = 0; from_disk < 2; ++from_disk) {
    for (const std::size_t limit : {1U, 3U, 9U, 10U}) {
      const auto page = on.fixture->changes(before, limit);
      REQUIRE(page);
      const bool has_next = page->up_to == next;
      CHECK(page->changes.size() == (has_next ? 11 : 10));
      CHECK((has_next || page->up_to == revision));
    }
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("a page is about as long as asked for") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  add_history(on.fixture, 30);
  for (int from_disk = 0; from_disk < 2; ++from_disk) {
    const auto page = on.fixture->changes({0}, 10);
    REQUIRE(page);
    CHECK(page->changes.size() >= 8);
    CHECK(page->changes.size() <= 12);
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("behind the newest change there is nothing, and nothing to wait for") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision newest = on.fixture->snapshot().revision;
  const auto page = on.fixture->changes(newest, 10);
  REQUIRE(page);
  CHECK(page->changes.empty());
  CHECK(page->up_to == newest);
  CHECK_FALSE(page->resync);
}

SLIPWAY_STORE_CASE("a revision without changes does not hold up who reads page by page") {
  StoreOn<TestType> on(few_in_memory());
  add_environment(on.fixture);
  for (int i = 0; i < 4; ++i) {
    Txn txn("test");
    txn.require_unchanged(on.fixture.template get<Environment>({1}));
    on.fixture.committed(std::move(txn));
  }
  CHECK(on.fixture.changes_after({0}, 1).size() == 2);
  on.fixture.reopen();
  CHECK(on.fixture.changes_after({0}, 1).size() == 2);
}

SLIPWAY_STORE_CASE("memory keeps the newest changes, older ones come from the disk") {
  StoreOn<TestType> on(few_in_memory());
  add_environment(on.fixture);
  add_history(on.fixture, 10);
  const auto all = on.fixture.changes_after({0});
  CHECK(all.size() == 2 + 19);
  CHECK(on.fixture.changes_after({0}, 2) == all);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(std::tie(all[i - 1].revision, all[i - 1].ordinal) < std::tie(all[i].revision, all[i].ordinal));
  }
}

// ---- Trimming ----

SLIPWAY_STORE_CASE(
    "more changes than are kept: the oldest go, and who asks for them is told to take a snapshot") {
  StoreSettings settings;
  settings.change_revisions = 10;
  StoreOn<TestType> on(settings);
  add_environment(on.fixture);
  add_history(on.fixture, 30);
  on.fixture.executor().run_for(std::chrono::minutes(2));
  on.fixture.committed(inserting(machine(1, "1001")));

  for (int i = 0; i < 2; ++i) {
    const Revision newest = on.fixture->snapshot().revision;
    const auto old = on.fixture->changes({1}, 10);
    REQUIRE(old);
    CHECK(old->resync);
    CHECK(old->changes.empty());
    CHECK(old->up_to == newest);
    const auto kept = on.fixture.changes_after({newest.value - 9});
    CHECK(kept.back().id == "1:1001");
    CHECK(kept.front().revision.value == newest.value - 8);
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("changes are trimmed by their age, whole transactions, and what is kept is complete") {
  StoreSettings settings;
  settings.change_age = std::chrono::hours(1);
  StoreOn<TestType> on(settings);
  add_environment(on.fixture);
  add_history(on.fixture, 9);
  on.fixture.executor().run_for(std::chrono::minutes(90));
  const Revision recent = on.fixture->snapshot().revision;
  on.fixture.committed(inserting(machine(1, "1000")));
  on.fixture.executor().run_for(std::chrono::minutes(2));
  on.fixture.committed(inserting(machine(1, "1001")));

  for (int i = 0; i < 2; ++i) {
    const auto old = on.fixture->changes({1}, 10);
    REQUIRE(old);
    CHECK(old->resync);
    const auto kept = on.fixture.changes_after(recent);
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].id == "1:1000");
    CHECK(kept[1].id == "1:1001");
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("nothing is trimmed that is young and within the number") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  add_history(on.fixture, 9);
  const auto all = on.fixture.changes_after({0});
  on.fixture.executor().run_for(std::chrono::hours(24 * 29));
  const Revision last = on.fixture.committed(inserting(machine(1, "1001")));
  on.fixture.reopen();
  const auto kept = on.fixture.changes_after({0});
  REQUIRE(kept.size() == all.size() + 1);
  CHECK(std::equal(all.begin(), all.end(), kept.begin()));
  CHECK(kept.back().revision == last);
}

SLIPWAY_STORE_CASE("trimming takes changes only, never rows") {
  StoreSettings settings;
  settings.change_revisions = 3;
  StoreOn<TestType> on(settings);
  add_environment(on.fixture);
  add_history(on.fixture, 9);
  const Snapshot before = on.fixture->snapshot();
  on.fixture.executor().run_for(std::chrono::minutes(2));
  Txn txn("test");
  txn.require_unchanged(on.fixture.get_machine("0"));
  on.fixture.committed(std::move(txn));
  on.fixture.reopen();
  CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
}

// ---- Subscriptions ----

SLIPWAY_STORE_CASE(
    "a follower is woken with the newest revision, once for each group that it was awake for") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  std::vector<Revision> woken;
  const auto subscription =
      on.fixture->subscribe(on.fixture.executor(), [&](Revision r) { woken.push_back(r); });
  const Revision first = on.fixture.committed(inserting(machine(1, "0")));
  CHECK(woken == std::vector<Revision>{first});
  const auto ends = on.fixture.commit_group(group_of(inserting(machine(1, "1")), inserting(machine(1, "2"))));
  REQUIRE(ends[1]);
  CHECK(woken == std::vector<Revision>{first, *ends[1]});
}

SLIPWAY_STORE_CASE("a follower is not woken by what was refused") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  int wakes = 0;
  const auto subscription = on.fixture->subscribe(on.fixture.executor(), [&](Revision) { ++wakes; });
  CHECK(on.fixture.conflict(inserting(machine(2, "0"))) != "");
  on.backend.fail_next_commit(CommitFault::refused);
  CHECK_FALSE(on.fixture.commit(inserting(machine(1, "0"))));
  CHECK(wakes == 0);
}

SLIPWAY_STORE_CASE("a subscription that is over wakes nobody, not even with what was on its way") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  VirtualExecutor follower;
  int wakes = 0;
  auto subscription = on.fixture->subscribe(follower, [&](Revision) { ++wakes; });
  on.fixture.committed(inserting(machine(1, "0")));
  subscription.reset();
  follower.run_ready();
  on.fixture.committed(inserting(machine(1, "1")));
  follower.run_ready();
  CHECK(wakes == 0);
}

SLIPWAY_STORE_CASE("a slow follower costs one wake-up for a hundred groups and misses nothing") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  VirtualExecutor follower;
  std::vector<Revision> woken;
  const auto subscription = on.fixture->subscribe(follower, [&](Revision r) { woken.push_back(r); });
  const Revision before = on.fixture->snapshot().revision;
  Revision last;
  for (int i = 0; i < 100; ++i) last = on.fixture.committed(inserting(machine(1, std::to_string(i))));
  CHECK(follower.run_ready() == 1);
  CHECK(woken == std::vector<Revision>{last});
  CHECK(on.fixture.changes_after(before).size() == 100);
  on.fixture.committed(inserting(machine(1, "100")));
  CHECK(follower.run_ready() == 1);
}

SLIPWAY_STORE_CASE("followers do not know of each other") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  VirtualExecutor slow;
  int quick_wakes = 0;
  int slow_wakes = 0;
  auto gone =
      on.fixture->subscribe(on.fixture.executor(), [](Revision) { FAIL("a subscription that is over"); });
  const auto one = on.fixture->subscribe(on.fixture.executor(), [&](Revision) { ++quick_wakes; });
  const auto two = on.fixture->subscribe(slow, [&](Revision) { ++slow_wakes; });
  gone.reset();
  on.fixture.committed(inserting(machine(1, "0")));
  on.fixture.committed(inserting(machine(1, "1")));
  slow.run_ready();
  CHECK(quick_wakes == 2);
  CHECK(slow_wakes == 1);
}

SLIPWAY_STORE_CASE("a follower that was woken finds the change, with the row as it is then") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  std::vector<std::string> seen;
  Revision at = on.fixture->snapshot().revision;
  const auto subscription = on.fixture->subscribe(on.fixture.executor(), [&](Revision newest) {
    CHECK(on.fixture->snapshot().revision >= newest);
    for (const Change& change : on.fixture.changes_after(at)) seen.push_back(change.id);
    at = newest;
  });
  for (int i = 0; i < 3; ++i) on.fixture.committed(inserting(machine(1, std::to_string(i))));
  CHECK(seen == std::vector<std::string>{"1:0", "1:1", "1:2"});
}
