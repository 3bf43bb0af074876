// SPDX-License-Identifier: Apache-2.0
// conformance_group_test.cpp - transactions that share a commit do not know of it: order, isolation, one's
// own end.
#include "support/store_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::StoreSettings;
using store::Txn;

SLIPWAY_STORE_CASE("a group has at most as many transactions as its limit, and takes the rest next") {
  StoreSettings settings;
  settings.group_limit = 4;
  StoreOn<TestType> on(settings);
  add_environment(on.fixture);
  std::vector<Revision> wakes;
  const auto subscription =
      on.fixture->subscribe(on.fixture.executor(), [&](Revision r) { wakes.push_back(r); });
  std::vector<Txn> txns;
  for (int i = 0; i < 10; ++i) txns.push_back(inserting(machine(1, std::to_string(i))));
  const auto ends = on.fixture.commit_group(std::move(txns));
  for (const auto& end : ends) REQUIRE(end);
  CHECK(wakes == std::vector<Revision>{*ends[3], *ends[7], *ends[9]});
}

SLIPWAY_STORE_CASE("one conflict in a group harms no neighbour") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const auto ends = on.fixture.commit_group(
      group_of(inserting(machine(1, "0")), inserting(machine(1, "0")), inserting(machine(1, "1"))));
  CHECK(ends[0]);
  REQUIRE_FALSE(ends[1]);
  CHECK(ends[1].error().code == Code::conflict);
  CHECK(ends[2]);
  on.fixture.reopen();
  CHECK(on.fixture.has_machine("0"));
  CHECK(on.fixture.has_machine("1"));
}

SLIPWAY_STORE_CASE("a transaction that the engine refuses leaves none of its rows, and harms no neighbour") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const auto ends = on.fixture.commit_group(
      group_of(inserting(machine(1, "0")), inserting(machine(1, "1"), machine(2, "0"), machine(1, "2")),
               inserting(machine(1, "3"))));
  CHECK(ends[0]);
  REQUIRE_FALSE(ends[1]);
  CHECK(ends[1].error().message == "table machine: its environment does not exist");
  CHECK(ends[2]);
  for (int i = 0; i < 2; ++i) {
    CHECK(on.fixture.has_machine("0"));
    CHECK_FALSE(on.fixture.has_machine("1"));
    CHECK_FALSE(on.fixture.has_machine("2"));
    CHECK(on.fixture.has_machine("3"));
    CHECK(on.fixture.changes_after({0}).size() == 4);
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("a later member of a group sees what an earlier one wrote") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  const Machine read = on.fixture.get_machine("0");
  const auto ends = on.fixture.commit_group(group_of(updating(read), updating(read), erasing(read)));
  CHECK(ends[0]);
  REQUIRE_FALSE(ends[1]);
  REQUIRE_FALSE(ends[2]);
  CHECK(ends[1].error().message == message("machine 1:0 was changed: read at revision {}, now at {}",
                                           read.revision.value, ends[0]->value));
}

SLIPWAY_STORE_CASE("a later member of a group does not see what a refused one wrote") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Attempt gone = attempt(1);
  on.fixture.committed(inserting(gone));
  gone = on.fixture.template get<Attempt>(nonce(1));
  gone.phase = AttemptPhase::gone;
  // The first hands the slot over, but fails at the end: the second must still find it taken.
  const auto ends = on.fixture.commit_group(group_of(
      [&] {
        Txn txn("test");
        txn.update(gone).insert(credential(1));
        return txn;
      }(),
      inserting(attempt(2))));
  REQUIRE_FALSE(ends[0]);
  REQUIRE_FALSE(ends[1]);
  CHECK(ends[1].error().message == "machine 0 has an active attempt for server 0");
}

SLIPWAY_STORE_CASE("a group of refused transactions leaves nothing, not even a revision") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const Revision before = on.fixture->snapshot().revision;
  const auto ends = on.fixture.commit_group(group_of(inserting(credential(1)), inserting(environment(1))));
  CHECK_FALSE(ends[0]);
  CHECK_FALSE(ends[1]);
  CHECK(on.fixture->snapshot().revision == before);
  CHECK(on.fixture->status().health == store::Health::ok);
}

SLIPWAY_STORE_CASE("transactions end in the order in which they came") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    on.fixture->commit(inserting(machine(1, std::to_string(i / 2))),
                       [&order, i](const store::Store::Committed& end) {
                         order.push_back(i);
                         CHECK(end.has_value() == (i % 2 == 0));
                       });
  }
  on.fixture.executor().run_ready();
  CHECK(order.size() == 20);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

SLIPWAY_STORE_CASE("what is committed from the end of a transaction goes into a later group") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  bool is_done = false;
  on.fixture->commit(inserting(machine(1, "0")), [&](const store::Store::Committed& first) {
    REQUIRE(first);
    CHECK(on.fixture.has_machine("0"));
    on.fixture->commit(updating(on.fixture.get_machine("0")), [&](const store::Store::Committed& second) {
      CHECK(second);
      is_done = true;
    });
  });
  on.fixture.executor().run_ready();
  CHECK(is_done);
}

SLIPWAY_STORE_CASE("who was told that its transaction is in finds it in the snapshot") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  for (int i = 0; i < 3; ++i) {
    on.fixture->commit(inserting(machine(1, std::to_string(i))), [&, i](const store::Store::Committed& end) {
      REQUIRE(end);
      CHECK(on.fixture->snapshot().revision >= *end);
      CHECK(on.fixture.has_machine(std::to_string(i)));
    });
  }
  on.fixture.executor().run_ready();
}

SLIPWAY_STORE_CASE("the end of the store refuses what still waits, and says that nothing was written") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    on.fixture->commit(inserting(machine(1, std::to_string(i))), [&](const store::Store::Committed& end) {
      REQUIRE_FALSE(end);
      CHECK(end.error().code == Code::unavailable);
      CHECK(end.error().outcome == Outcome::rejected);
      CHECK(end.error().message == "the store is closing");
      ++refused;
    });
  }
  CHECK(on.fixture->status().queued == 3);
  on.fixture.reopen();
  CHECK(refused == 3);
  CHECK(on.fixture->snapshot().template all<Machine>().size() == 0);
}

// ---- Threads ----

SLIPWAY_STORE_CASE("transactions of many threads are all kept, each once") {
  StoreOn<TestType> on({}, Writer::thread);
  add_environment(on.fixture);
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          if (!on.fixture->commit(inserting(machine(1, std::to_string(t * kEach + i))))) ++failed;
        }
      });
    }
  }
  CHECK(failed == 0);
  on.fixture.reopen();
  CHECK(on.fixture->snapshot().template all<Machine>().size() == kThreads * kEach);
  const auto changes = on.fixture.changes_after({0});
  CHECK(changes.size() == 2 + kThreads * kEach);
}

SLIPWAY_STORE_CASE("of many threads that change one row from one reading, one wins") {
  StoreOn<TestType> on({}, Writer::thread);
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  for (int round = 0; round < 10; ++round) {
    const Machine read = on.fixture.get_machine("0");
    std::atomic<int> won = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          if (on.fixture->commit(updating(read))) ++won;
        });
      }
    }
    CHECK(won == 1);
  }
}

SLIPWAY_STORE_CASE("a snapshot does not change while others write") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0", "old"), machine(1, "1")));
  const Snapshot before = on.fixture->snapshot();
  const Snapshot copy = before;  // NOLINT(performance-unnecessary-copy-initialization): the copy is the case
  Machine changed = on.fixture.get_machine("0");
  changed.message = "new";
  Txn txn("test");
  txn.update(changed).erase(on.fixture.get_machine("1")).insert(machine(1, "2"));
  on.fixture.committed(std::move(txn));
  CHECK(before.find<Machine>({{1}, {"0"}})->message == "old");
  CHECK(before.find<Machine>({{1}, {"1"}}));
  CHECK_FALSE(before.find<Machine>({{1}, {"2"}}));
  CHECK(first_difference(before, copy) == std::nullopt);
  CHECK(first_difference(before, on.fixture->snapshot()) != std::nullopt);
}

SLIPWAY_STORE_CASE("two snapshots share the rows that did not change") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0"), machine(1, "1")));
  const Snapshot before = on.fixture->snapshot();
  on.fixture.committed(updating(on.fixture.get_machine("0")));
  const Snapshot after = on.fixture->snapshot();
  CHECK(before.find<Machine>({{1}, {"1"}}) == after.find<Machine>({{1}, {"1"}}));
  CHECK(before.find<Machine>({{1}, {"0"}}) != after.find<Machine>({{1}, {"0"}}));
}

SLIPWAY_STORE_CASE("a reader never sees half of a transaction") {
  StoreOn<TestType> on({}, Writer::thread);
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0", "0"), machine(1, "1", "0")));
  std::atomic<bool> is_over = false;
  std::atomic<int> torn = 0;
  {
    std::jthread reader([&] {
      Revision last;
      while (!is_over) {
        const Snapshot snapshot = on.fixture->snapshot();
        const auto a = snapshot.find<Machine>({{1}, {"0"}});
        const auto b = snapshot.find<Machine>({{1}, {"1"}});
        if (a->message != b->message || a->revision != b->revision || snapshot.revision < last) ++torn;
        const auto page = on.fixture->changes(last, 3);
        if (!page || page->changes.size() % 2 != 0) ++torn;
        last = snapshot.revision;
      }
    });
    for (int i = 1; i <= 60; ++i) {
      Machine a = on.fixture.get_machine("0");
      Machine b = on.fixture.get_machine("1");
      a.message = b.message = std::to_string(i);
      on.fixture.committed(updating(a, b));
    }
    is_over = true;
  }
  CHECK(torn == 0);
}
