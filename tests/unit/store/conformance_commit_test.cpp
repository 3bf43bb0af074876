// SPDX-License-Identifier: Apache-2.0
// conformance_commit_test.cpp - one transaction at a time: preconditions and their words, all or nothing,
// revisions.
#include "support/store_fixture.hpp"

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::Txn;

// ---- Preconditions ----

SLIPWAY_STORE_CASE("an insert of a key that is there is refused, and says since when it is") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision since = on.fixture.committed(inserting(machine(1, "0", "first")));
  CHECK(on.fixture.conflict(inserting(machine(1, "0", "second"))) ==
        message("machine 1:0 exists since revision {}", since.value));
  CHECK(on.fixture.get_machine("0").message == "first");
}

SLIPWAY_STORE_CASE("an update of a row that is not there is refused") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  CHECK(on.fixture.conflict(updating(machine(1, "3/lxc/0"))) == "machine 1:3/lxc/0 is not there any more");
  CHECK_FALSE(on.fixture.has_machine("3/lxc/0"));
}

SLIPWAY_STORE_CASE("an update of a row that somebody else changed is refused, and says both revisions") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  Machine other = read;
  other.message = "other";
  const Revision now = on.fixture.committed(updating(other));
  Machine mine = read;
  mine.message = "mine";
  CHECK(on.fixture.conflict(updating(mine)) ==
        message("machine 1:0 was changed: read at revision {}, now at {}", read.revision.value, now.value));
  CHECK(on.fixture.get_machine("0").message == "other");
}

SLIPWAY_STORE_CASE("an update made from a newer row than the stored one is refused as well") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  Machine row = on.fixture.get_machine("0");
  ++row.revision.value;
  CHECK_THAT(on.fixture.conflict(updating(row)), Catch::Contains("machine 1:0 was changed"));
}

SLIPWAY_STORE_CASE("an erase of a row that somebody else changed is refused") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  on.fixture.committed(updating(read));
  CHECK_THAT(on.fixture.conflict(erasing(read)), Catch::Contains("machine 1:0 was changed"));
  CHECK(on.fixture.has_machine("0"));
}

SLIPWAY_STORE_CASE("an erase of a row that is not there is refused") {
  StoreOn<TestType> on;
  CHECK(on.fixture.conflict(erasing(attempt(7))) == "attempt " + nonce(7).text() + " is not there any more");
}

SLIPWAY_STORE_CASE("an erased row is gone, also after a restart") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0"), machine(1, "1")));
  on.fixture.committed(erasing(on.fixture.get_machine("0")));
  CHECK_FALSE(on.fixture.has_machine("0"));
  on.fixture.reopen();
  CHECK_FALSE(on.fixture.has_machine("0"));
  CHECK(on.fixture.has_machine("1"));
}

SLIPWAY_STORE_CASE("a row that is required unchanged lets the transaction through and is not written") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  Txn txn("test");
  txn.require_unchanged(read).insert(machine(1, "1"));
  const Revision revision = on.fixture.committed(std::move(txn));
  CHECK(on.fixture.get_machine("0").revision == read.revision);
  CHECK(on.fixture.changes_after({revision.value - 1}).size() == 1);
}

SLIPWAY_STORE_CASE("a row that is required unchanged and was changed stops the whole transaction") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  on.fixture.committed(updating(read));
  Txn txn("test");
  txn.insert(machine(1, "1")).require_unchanged(read);
  CHECK_THAT(on.fixture.conflict(std::move(txn)),
             Catch::Contains("machine 1:0 was changed: read at revision"));
  CHECK_FALSE(on.fixture.has_machine("1"));
}

SLIPWAY_STORE_CASE("a key that is required absent and is there stops the whole transaction") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Txn first("test");
  first.require_absent<Machine>({{1}, {"0"}}).insert(machine(1, "1"));
  on.fixture.committed(std::move(first));
  const Revision since = on.fixture.committed(inserting(machine(1, "0")));
  Txn second("test");
  second.insert(machine(1, "2")).require_absent<Machine>({{1}, {"0"}});
  const std::string said = on.fixture.conflict(std::move(second));
  CHECK(said == message("machine 1:0 exists since revision {}", since.value));
  CHECK_FALSE(on.fixture.has_machine("2"));
}

// ---- All or nothing, in order ----

SLIPWAY_STORE_CASE("a transaction that fails at its last write has written nothing") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0", "before")));
  const Snapshot before = on.fixture->snapshot();
  Machine changed = on.fixture.get_machine("0");
  changed.message = "after";
  Txn txn("test");
  txn.insert(machine(1, "1")).update(changed).put_secret("s", Secret("x")).insert(credential(1));
  CHECK_THAT(on.fixture.conflict(std::move(txn)), Catch::Contains("credential 1 exists"));
  CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
  CHECK_FALSE(on.fixture->secret("s"));
  on.fixture.reopen();
  CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
  CHECK_FALSE(on.fixture->secret("s"));
}

SLIPWAY_STORE_CASE("writes of one transaction see those before them") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0", "old")));
  Txn txn("test");
  txn.erase(on.fixture.get_machine("0")).insert(machine(1, "0", "new"));
  const Revision revision = on.fixture.committed(std::move(txn));
  CHECK(on.fixture.get_machine("0").message == "new");
  CHECK(on.fixture.get_machine("0").revision == revision);
  on.fixture.reopen();
  CHECK(on.fixture.get_machine("0").message == "new");
}

SLIPWAY_STORE_CASE("the second update of a row in one transaction was made from an old row and is refused") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  CHECK_THAT(on.fixture.conflict(updating(read, read)), Catch::Contains("machine 1:0 was changed"));
  CHECK(on.fixture.get_machine("0").revision == read.revision);
}

SLIPWAY_STORE_CASE("every row of a transaction carries its revision, whatever it came with") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Machine row = machine(1, "0");
  row.revision = {999};
  const Revision revision = on.fixture.committed(inserting(row, machine(1, "1"), attempt(1)));
  CHECK(on.fixture.get_machine("0").revision == revision);
  CHECK(on.fixture.get_machine("1").revision == revision);
  CHECK(on.fixture.template get<Attempt>(nonce(1)).revision == revision);
  on.fixture.reopen();
  CHECK(on.fixture.get_machine("0").revision == revision);
}

SLIPWAY_STORE_CASE("a transaction without a write takes a revision and leaves no change") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Txn txn("test");
  txn.require_unchanged(on.fixture.template get<Environment>({1}));
  CHECK(txn.is_empty() == false);
  CHECK(Txn("test").is_empty());
  const Revision before = on.fixture->status().revision;
  const Revision revision = on.fixture.committed(std::move(txn));
  CHECK(revision > before);
  CHECK(on.fixture.changes_after(before).empty());
}

SLIPWAY_STORE_CASE("a transaction of a thousand writes is one transaction") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Txn txn("test");
  for (int i = 0; i < 1000; ++i) txn.insert(machine(1, std::to_string(i)));
  const Revision revision = on.fixture.committed(std::move(txn));
  on.fixture.reopen();
  CHECK(on.fixture->snapshot().template all<Machine>().size() == 1000);
  CHECK(on.fixture.get_machine("999").revision == revision);
}

// ---- Revisions ----

SLIPWAY_STORE_CASE("revisions grow, and the newest is the snapshot's") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Revision last = on.fixture->snapshot().revision;
  for (int i = 0; i < 5; ++i) {
    const Revision revision = on.fixture.committed(inserting(machine(1, std::to_string(i))));
    CHECK(revision > last);
    CHECK(on.fixture->snapshot().revision == revision);
    CHECK(on.fixture->status().revision == revision);
    last = revision;
  }
}

SLIPWAY_STORE_CASE("revisions go on after a restart") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  for (int i = 0; i < 4; ++i) {
    const Revision before = on.fixture->snapshot().revision;
    if (i % 2 == 0) on.fixture.reopen();
    if (i % 2 == 1) on.fixture.crash_and_reopen();
    CHECK(on.fixture->snapshot().revision == before);
    CHECK(on.fixture.committed(inserting(machine(1, std::to_string(i)))) > before);
  }
}

SLIPWAY_STORE_CASE("a refused transaction does not move the revision") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision before = on.fixture->snapshot().revision;
  CHECK(on.fixture.conflict(inserting(credential(1))) != "");
  CHECK(on.fixture->snapshot().revision == before);
  CHECK(on.fixture.committed(inserting(machine(1, "0"))) > before);
}

SLIPWAY_STORE_CASE("a revision that a failed commit used up is not given again") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  for (const CommitFault fault : {CommitFault::refused, CommitFault::unknown, CommitFault::kept}) {
    const Revision before = on.fixture->snapshot().revision;
    on.backend.fail_next_commit(fault);
    CHECK_FALSE(on.fixture.commit(inserting(credential(40 + static_cast<int>(fault)))));
    const Revision revision = on.fixture.committed(inserting(credential(50 + static_cast<int>(fault))));
    CHECK(revision.value >= before.value + 2);
  }
}

SLIPWAY_STORE_CASE("transactions of one group have revisions of their own, in the order of their commits") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const auto ends = on.fixture.commit_group(
      group_of(inserting(machine(1, "0")), inserting(machine(1, "1")), inserting(machine(1, "2"))));
  REQUIRE(ends[0]);
  REQUIRE(ends[1]);
  REQUIRE(ends[2]);
  CHECK(*ends[0] < *ends[1]);
  CHECK(*ends[1] < *ends[2]);
  CHECK(on.fixture.get_machine("1").revision == *ends[1]);
}
