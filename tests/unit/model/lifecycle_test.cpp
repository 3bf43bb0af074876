// SPDX-License-Identifier: Apache-2.0
// lifecycle_test - the tables of allowed moves, walked through, and the identities of machines.
#include "model/lifecycle.hpp"

#include "base/random.hpp"
#include "model/ids.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace slipway::model {
namespace {

using M = MachineState;
using A = AttemptPhase;

template <class State>
std::vector<State> all_states() {
  std::vector<State> states;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>(
      [&](auto enumerator) { states.push_back(enumerator.value); });
  return states;
}

template <class State>
std::set<State> moves_from(std::span<const Transition<State>> table, State from) {
  std::set<State> to;
  for (const auto& move : table) {
    if (move.from == from) to.insert(move.to);
  }
  return to;
}

template <class State>
void check_against_table(std::span<const Transition<State>> table) {
  for (const State from : all_states<State>()) {
    const auto allowed = moves_from(table, from);
    for (const State to : all_states<State>()) {
      INFO(message("{} -> {}", from, to));
      CHECK(check_move(from, to).has_value() == (from == to || allowed.contains(to)));
    }
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    INFO(message("{} -> {}", table[i].from, table[i].to));
    CHECK_FALSE(table[i].when.empty());
    CHECK(table[i].from != table[i].to);
    for (std::size_t j = 0; j < i; ++j) {
      CHECK_FALSE((table[j].from == table[i].from && table[j].to == table[i].to));
    }
  }
}

TEST_CASE("exactly the moves of a table are allowed, and to stay") {
  check_against_table(life_transitions());
  check_against_table(machine_transitions());
  check_against_table(attempt_transitions());
}

TEST_CASE("life goes forward, one step at a time") {
  CHECK(moves_from(life_transitions(), Life::alive) == std::set{Life::dying});
  CHECK(moves_from(life_transitions(), Life::dying) == std::set{Life::dead});
  CHECK(moves_from(life_transitions(), Life::dead).empty());
  const auto skipped = check_move(Life::alive, Life::dead);
  REQUIRE_FALSE(skipped);
  CHECK(skipped.error().code == Code::conflict);
  CHECK(skipped.error().message == "life cannot go from alive to dead (allowed from alive: dying)");
}

TEST_CASE("an attempt has exactly the moves of the creation algorithm") {
  CHECK(moves_from(attempt_transitions(), A::sent) == std::set{A::created, A::abandoned, A::rejected});
  CHECK(moves_from(attempt_transitions(), A::created) == std::set{A::deleting, A::released});
  CHECK(moves_from(attempt_transitions(), A::deleting) == std::set{A::gone});
  for (const A over : {A::gone, A::abandoned, A::rejected, A::released}) {
    CHECK(moves_from(attempt_transitions(), over).empty());
  }
}

TEST_CASE("an attempt is active as long as its resource may exist and is not given away") {
  for (const A phase : {A::sent, A::created, A::deleting}) CHECK(is_active(phase));
  for (const A phase : {A::gone, A::abandoned, A::rejected, A::released}) CHECK_FALSE(is_active(phase));
}

TEST_CASE("an illegal move names both states and what is allowed") {
  const auto machine = check_move(M::gone, M::running);
  REQUIRE_FALSE(machine);
  CHECK(machine.error().code == Code::conflict);
  CHECK(machine.error().message == "a machine cannot go from gone to running (allowed from gone: none)");
  const auto attempt = check_move(A::gone, A::created);
  REQUIRE_FALSE(attempt);
  CHECK(attempt.error().message == "an attempt cannot go from gone to created (allowed from gone: none)");
  const auto running = check_move(M::running, M::pending);
  REQUIRE_FALSE(running);
  CHECK(running.error().message ==
        "a machine cannot go from running to pending (allowed from running: down, stopping)");
}

TEST_CASE("every state of a machine but gone has a way on, and gone can be reached from all") {
  std::map<M, bool> reaches_gone;
  reaches_gone[M::gone] = true;
  for (std::size_t round = 0; round < all_states<M>().size(); ++round) {
    for (const auto& move : machine_transitions()) reaches_gone[move.from] |= reaches_gone[move.to];
  }
  for (const M state : all_states<M>()) {
    INFO(message("{}", state));
    CHECK(reaches_gone[state]);
    CHECK(moves_from(machine_transitions(), state).empty() == (state == M::gone));
  }
}

TEST_CASE(
    "a machine runs only after it was built or down, and one that has an instance stops before it is gone") {
  for (const auto& move : machine_transitions()) {
    INFO(message("{} -> {}", move.from, move.to));
    if (move.to == M::running) CHECK((move.from == M::building || move.from == M::down));
    if (move.to == M::gone)
      CHECK((move.from != M::building && move.from != M::running && move.from != M::down));
    if (move.from == M::stopping) CHECK(move.to == M::gone);
  }
}

// ---- Ids ----

TEST_CASE("a machine id is numbers with kinds of containers between them") {
  for (const char* text : {"0", "3", "10", "3/lxc/0", "3/lxd/12", "9/lxc/9/kvm/99", "99999999999999"}) {
    INFO(text);
    const auto id = MachineId::parse(text);
    REQUIRE(id);
    CHECK(id->value == text);
  }
  for (const char* text : {"",        "/",      "-1",      "+1",       "01",          "1/",          "/1",
                           "1/lxc",   "1/lxc/", "1/foo/0", "1/lxc/00", "1/none/0",    "1//0",        "1 ",
                           "1/LXC/0", "a",      "lxc/1",   "1/lxc/0/", "1/lxc/0/kvm", "\xef\xbc\x91"}) {
    INFO(text);
    const auto id = MachineId::parse(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == Code::invalid);
    CHECK(id.error().message ==
          message("expected a machine id such as 3 or 3/lxc/0 (lxc, lxd or kvm), got \"{}\"", text));
  }
  const auto longest = MachineId::parse("999999999999999");
  REQUIRE_FALSE(longest);
  CHECK(longest.error().message == "a machine id has at most 14 characters, got \"999999999999999\"");
}

TEST_CASE("the parent of a machine is the one that it is inside of") {
  CHECK(MachineId{"3/lxc/0"}.parent() == MachineId{"3"});
  CHECK(MachineId{"9/lxc/9/kvm/99"}.parent() == MachineId{"9/lxc/9"});
  CHECK_FALSE(MachineId{"3"}.parent());
  CHECK_FALSE(MachineId{""}.parent());
  CHECK_FALSE(MachineId{"/0"}.parent());
  CHECK(MachineId{"3/lxc/0"}.is_container());
  CHECK_FALSE(MachineId::top(3).is_container());
  CHECK(MachineId::top(18446744073709551615U).value == "18446744073709551615");
}

TEST_CASE("machine ids are ordered by their numbers, outer machines first, whatever their length") {
  const std::vector<std::string> ordered = {"",
                                            "0",
                                            "2",
                                            "10",
                                            "10/kvm/7",
                                            "10/lxc/0",
                                            "10/lxc/1",
                                            "10/lxc/1/lxc/0",
                                            "10/lxc/2",
                                            "10/lxc/10",
                                            "11",
                                            "100",
                                            "18446744073709551615",
                                            "18446744073709551616",
                                            "99999999999999999999999999999999999999"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      INFO(ordered[i] << " and " << ordered[j]);
      CHECK((MachineId{ordered[i]} <=> MachineId{ordered[j]}) == (i <=> j));
    }
  }
}

TEST_CASE("the order of machine ids is total and agrees with equality for any text") {
  constexpr std::uint64_t kSeed = 71;
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  std::vector<MachineId> ids;
  for (int i = 0; i < 60; ++i) {
    MachineId id;
    for (std::uint64_t size = random.below(6); size > 0; --size) id.value += "/01a"[random.below(4)];
    ids.push_back(std::move(id));
  }
  for (const auto& a : ids) {
    for (const auto& b : ids) {
      if ((a == b) != ((a <=> b) == 0) || (a < b) != (b > a)) FAIL_CHECK(a.value << " and " << b.value);
      for (const auto& c : ids) {
        if (a < b && b < c && !(a < c)) FAIL_CHECK(a.value << ", " << b.value << ", " << c.value);
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  CHECK(std::is_sorted(ids.begin(), ids.end()));
}

}  // namespace
}  // namespace slipway::model
