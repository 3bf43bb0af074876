// SPDX-License-Identifier: Apache-2.0
// conformance_failure_test.cpp - what the store says when a commit fails, and what is true then and after a
// restart.
#include "base/failpoint.hpp"
#include "support/log_capture.hpp"
#include "support/store_fixture.hpp"

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::Health;
using store::Txn;

namespace {

// The transaction's three machines are all there or none; true if they are.
bool is_kept_whole(StoreFixture& fixture) {
  const int count = fixture.has_machine("0") + fixture.has_machine("1") + fixture.has_machine("2");
  CHECK((count == 0 || count == 3));
  return count == 3;
}

Txn three_machines() { return inserting(machine(1, "0"), machine(1, "1"), machine(1, "2")); }

}  // namespace

// ---- Refused ----

SLIPWAY_STORE_CASE("a commit that the disk refuses wrote nothing, and says so") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Snapshot before = on.fixture->snapshot();
  on.backend.fail_next_commit(CommitFault::refused);
  const auto end = on.fixture.commit(three_machines());
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::rejected);
  CHECK_THAT(end.error().message, Catch::Contains("full"));
  CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
  CHECK(on.fixture.changes_after(before.revision).empty());
  on.fixture.crash_and_reopen();
  CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
  CHECK(on.fixture.changes_after(before.revision).empty());
}

SLIPWAY_STORE_CASE("a store whose disk is full is read-only, says why, and recovers by itself") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.backend.fail_next_commit(CommitFault::refused);
  CHECK_FALSE(on.fixture.commit(three_machines()));
  CHECK(on.fixture->status().health == Health::read_only);
  CHECK_THAT(on.fixture->status().message, Catch::Contains("full"));
  CHECK(on.fixture->snapshot().template all<Environment>().size() == 1);
  CHECK(on.fixture->changes({0}, 10));
  on.fixture.committed(three_machines());
  CHECK(on.fixture->status().health == Health::ok);
  CHECK(on.fixture->status().message.empty());
  CHECK(log.contains("the store takes writes again"));
  on.fixture.reopen();
  CHECK(is_kept_whole(on.fixture));
}

SLIPWAY_STORE_CASE("a refused commit refuses its whole group, and nothing else") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.backend.fail_next_commit(CommitFault::refused);
  const auto ends = on.fixture.commit_group(
      group_of(three_machines(), inserting(credential(1)), inserting(machine(1, "9"))));
  for (const auto& end : ends) {
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::unavailable);
    CHECK(end.error().outcome == Outcome::rejected);
  }
  on.fixture.committed(inserting(machine(1, "9")));
  CHECK_FALSE(is_kept_whole(on.fixture));
}

SLIPWAY_STORE_CASE("after a refused commit the next transaction is judged by what is really there") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0", "old")));
  Machine changed = on.fixture.get_machine("0");
  changed.message = "new";
  on.backend.fail_next_commit(CommitFault::refused);
  CHECK_FALSE(on.fixture.commit(updating(changed)));
  CHECK(on.fixture.get_machine("0").message == "old");
  on.fixture.committed(updating(changed));
  CHECK(on.fixture.get_machine("0").message == "new");
}

// ---- Unknown ----

SLIPWAY_STORE_CASE("a commit without an answer is unknown, and the snapshot shows how it ended") {
  const LogCapture log;
  for (const CommitFault fault : {CommitFault::unknown, CommitFault::kept}) {
    StoreOn<TestType> on;
    add_environment(on.fixture);
    on.backend.fail_next_commit(fault);
    const auto end = on.fixture.commit(three_machines());
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::unavailable);
    CHECK(end.error().outcome == Outcome::unknown);
    CHECK_THAT(end.error().message, Catch::StartsWith("it is not known whether the transaction is kept: "));
    const bool is_kept = is_kept_whole(on.fixture);
    CHECK(is_kept == (fault == CommitFault::kept));
    const Snapshot shown = on.fixture->snapshot();
    on.fixture.lose_power_and_reopen();
    CHECK(is_kept_whole(on.fixture) == is_kept);
    CHECK(first_difference(on.fixture->snapshot(), shown) == std::nullopt);
  }
}

SLIPWAY_STORE_CASE("after an unknown commit the changes tell the same as the snapshot") {
  const LogCapture log;
  for (const CommitFault fault : {CommitFault::unknown, CommitFault::kept}) {
    StoreOn<TestType> on;
    add_environment(on.fixture);
    const Revision before = on.fixture->snapshot().revision;
    on.backend.fail_next_commit(fault);
    CHECK_FALSE(on.fixture.commit(three_machines()));
    const bool is_kept = is_kept_whole(on.fixture);
    const auto changes = on.fixture->changes(before, 10);
    REQUIRE(changes);
    CHECK(changes->changes.size() == (is_kept ? 3 : 0));
    on.fixture.committed(inserting(machine(1, "9")));
    CHECK(on.fixture.changes_after(before).size() == (is_kept ? 4 : 1));
    CHECK(on.fixture.changes_after({0}).size() == (is_kept ? 6 : 3));
  }
}

SLIPWAY_STORE_CASE("after an unknown commit the store is well and takes writes") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.backend.fail_next_commit(CommitFault::unknown);
  CHECK_FALSE(on.fixture.commit(three_machines()));
  CHECK(on.fixture->status().health == Health::ok);
  CHECK(log.contains("a commit failed; the state is read again"));
  on.fixture.committed(inserting(machine(1, "9")));
  on.fixture.crash_and_reopen();
  CHECK(on.fixture.has_machine("9"));
}

SLIPWAY_STORE_CASE(
    "an unknown commit keeps its whole group or none of it, and who had been refused was refused") {
  const LogCapture log;
  for (const CommitFault fault : {CommitFault::unknown, CommitFault::kept}) {
    StoreOn<TestType> on;
    add_environment(on.fixture);
    on.backend.fail_next_commit(fault);
    const auto ends = on.fixture.commit_group(group_of(inserting(machine(1, "0")), inserting(machine(1, "0")),
                                                       inserting(machine(1, "1"), machine(1, "2"))));
    REQUIRE_FALSE(ends[0]);
    REQUIRE_FALSE(ends[1]);
    REQUIRE_FALSE(ends[2]);
    CHECK(ends[0].error().outcome == Outcome::unknown);
    CHECK(ends[1].error().outcome == Outcome::rejected);
    CHECK(ends[1].error().code == Code::unavailable);
    CHECK(ends[2].error().outcome == Outcome::unknown);
    is_kept_whole(on.fixture);
  }
}

SLIPWAY_STORE_CASE("a follower learns of what an unknown commit kept") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  int wakes = 0;
  const auto subscription = on.fixture->subscribe(on.fixture.executor(), [&](Revision) { ++wakes; });
  on.backend.fail_next_commit(CommitFault::kept);
  CHECK_FALSE(on.fixture.commit(three_machines()));
  CHECK(wakes == 1);
}

SLIPWAY_STORE_CASE("after an unknown commit no earlier row is forgotten") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "7", "kept"), attempt(1)));
  Machine changed = on.fixture.get_machine("7");
  changed.message = "perhaps";
  on.backend.fail_next_commit(CommitFault::unknown);
  CHECK_FALSE(on.fixture.commit(updating(changed)));
  const Machine shown = on.fixture.get_machine("7");
  CHECK((shown.message == "kept" || shown.message == "perhaps"));
  CHECK(on.fixture.template has<Attempt>(nonce(1)));
  // What is shown is what a next transaction is judged by.
  on.fixture.committed(updating(shown));
  on.fixture.reopen();
  CHECK(on.fixture.get_machine("7").message == shown.message);
}

SLIPWAY_STORE_CASE("a commit that fails before it was made is unknown to its caller and not in the state") {
  const LogCapture log;
  failpoints::allow_for_tests();
  StoreOn<TestType> on;
  add_environment(on.fixture);
  REQUIRE(failpoints::arm("store.before_commit=error@1"));
  const auto end = on.fixture.commit(three_machines());
  REQUIRE_FALSE(end);
  CHECK(end.error().outcome == Outcome::unknown);
  CHECK_FALSE(is_kept_whole(on.fixture));
  on.fixture.committed(three_machines());
  on.fixture.reopen();
  CHECK(is_kept_whole(on.fixture));
}

// ---- A disk that breaks ----

SLIPWAY_STORE_CASE("a disk that breaks stops the writing and not the reading, and heals without a restart") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "7")));
  on.backend.set_broken(true);
  for (int i = 0; i < 3; ++i) {
    const auto end = on.fixture.commit(three_machines());
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::unavailable);
    CHECK(on.fixture->status().health != Health::ok);
    CHECK_FALSE(on.fixture->status().message.empty());
    CHECK(on.fixture.has_machine("7"));
  }
  on.backend.set_broken(false);
  if (!is_kept_whole(on.fixture)) on.fixture.committed(three_machines());
  CHECK(on.fixture->status().health == Health::ok);
  on.fixture.reopen();
  CHECK(is_kept_whole(on.fixture));
  CHECK(on.fixture.has_machine("7"));
}

SLIPWAY_STORE_CASE("what was acknowledged before the disk broke is there after a restart") {
  const LogCapture log;
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(three_machines());
  on.backend.set_broken(true);
  CHECK_FALSE(on.fixture.commit(inserting(machine(1, "9"))));
  on.fixture.crash_and_reopen();
  CHECK(is_kept_whole(on.fixture));
}

// ---- The end of a process, the end of the power ----

SLIPWAY_STORE_CASE("a process that is killed loses nothing that was acknowledged") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  for (int i = 0; i < 10; ++i) {
    on.fixture.committed(inserting(machine(1, std::to_string(i))));
    const Snapshot before = on.fixture->snapshot();
    const auto changes = on.fixture.changes_after({0});
    on.fixture.crash_and_reopen();
    CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
    CHECK(on.fixture.changes_after({0}) == changes);
  }
}

SLIPWAY_STORE_CASE("a power cut loses nothing that was acknowledged") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  for (int i = 0; i < 10; ++i) {
    on.fixture.committed(inserting(machine(1, std::to_string(i)),
                                   attempt(static_cast<std::uint8_t>(i + 1), std::to_string(i))));
    const Snapshot before = on.fixture->snapshot();
    const auto changes = on.fixture.changes_after({0});
    on.fixture.lose_power_and_reopen();
    CHECK(first_difference(on.fixture->snapshot(), before) == std::nullopt);
    CHECK(on.fixture.changes_after({0}) == changes);
  }
}

SLIPWAY_STORE_CASE("transactions that wait when the process is killed are not in the state") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture->commit(three_machines(), [](const store::Store::Committed& end) { CHECK_FALSE(end); });
  on.fixture.crash_and_reopen();
  CHECK_FALSE(is_kept_whole(on.fixture));
}

SLIPWAY_STORE_CASE("a disk that only says that it synced is found out by a power cut") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.backend.set_lying(true);
  on.fixture.committed(three_machines());
  on.fixture.lose_power_and_reopen();
  CHECK_FALSE(is_kept_whole(on.fixture));
}

SLIPWAY_STORE_CASE("a lie of the disk costs nothing as long as the power stays") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.backend.set_lying(true);
  on.fixture.committed(three_machines());
  on.fixture.crash_and_reopen();
  CHECK(is_kept_whole(on.fixture));
}
