// SPDX-License-Identifier: Apache-2.0
// snapshot_test - snapshots against a naive reference, their independence, and the arithmetic of spreading
// over them.
#include "model/snapshot.hpp"

#include "base/random.hpp"
#include "model/spread.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace slipway::model {
namespace {

constexpr EnvironmentId kProd{1};

Machine machine(std::string id, std::string instance = "", std::string zone = "", std::string group = "") {
  Machine m;
  m.environment = kProd;
  m.id = MachineId{std::move(id)};
  m.instance_id = std::move(instance);
  m.zone = std::move(zone);
  m.group = std::move(group);
  return m;
}

Attempt attempt(std::uint8_t nonce, std::string machine_id, AttemptPhase phase, std::string zone = "") {
  Attempt a;
  a.nonce.bytes[0] = nonce;
  a.environment = kProd;
  a.machine = MachineId{std::move(machine_id)};
  a.seq = nonce;
  a.phase = phase;
  a.zone = std::move(zone);
  return a;
}

template <class Row>
void put(Snapshot& snapshot, Row row) {
  snapshot.put<Row>(std::make_shared<const Row>(std::move(row)));
}

template <class Row, class Index>
std::string texts_of_index(const Snapshot& snapshot) {
  std::string out;
  for (const auto& [key, row] : snapshot.by<Row, Index>()) {
    CHECK(Index::key(*row) == key);
    CHECK(snapshot.find_by<Row, Index>(key) == row);
    out += Index::text(key) + "\n";
  }
  return out;
}

TEST_CASE("a snapshot gives the rows that were put in, in the order of their keys") {
  Snapshot snapshot;
  CHECK(snapshot.all<Machine>().empty());
  CHECK(snapshot.find<Machine>({kProd, MachineId{"0"}}) == nullptr);
  for (const char* id : {"10", "2", "10/lxc/1", "10/lxc/0", "1"}) put(snapshot, machine(id));
  std::string order;
  for (const auto& [key, row] : snapshot.all<Machine>()) {
    CHECK(row->key() == key);
    order += row->id.value + " ";
  }
  CHECK(order == "1 2 10 10/lxc/0 10/lxc/1 ");
  REQUIRE(snapshot.find<Machine>({kProd, MachineId{"10/lxc/0"}}) != nullptr);
  CHECK(snapshot.find<Machine>({EnvironmentId{2}, MachineId{"10"}}) == nullptr);
}

TEST_CASE("an index follows its rows: put, changed, left, erased") {
  Snapshot snapshot;
  const auto by_instance = [&](const char* instance) {
    return snapshot.find_by<Machine, Machine::ByInstance>({kProd, instance});
  };
  put(snapshot, machine("1"));
  CHECK(snapshot.by<Machine, Machine::ByInstance>().empty());
  put(snapshot, machine("1", "srv-1"));
  REQUIRE(by_instance("srv-1") != nullptr);
  put(snapshot, machine("1", "srv-2"));
  CHECK(by_instance("srv-1") == nullptr);
  REQUIRE(by_instance("srv-2") != nullptr);
  CHECK(by_instance("srv-2") == snapshot.find<Machine>({kProd, MachineId{"1"}}));
  put(snapshot, machine("1"));
  CHECK(by_instance("srv-2") == nullptr);
  put(snapshot, machine("1", "srv-3"));
  snapshot.erase<Machine>({kProd, MachineId{"1"}});
  CHECK(by_instance("srv-3") == nullptr);
  CHECK(snapshot.all<Machine>().empty());
  snapshot.erase<Machine>({kProd, MachineId{"1"}});
  CHECK(snapshot.all<Machine>().empty());
}

TEST_CASE("a row whose index key belongs to another row is a conflict, in words") {
  Snapshot snapshot;
  put(snapshot, machine("1", "srv-1"));
  CHECK(snapshot.index_conflict(machine("2", "srv-1")) == "another machine has the instance srv-1");
  CHECK_FALSE(snapshot.index_conflict(machine("1", "srv-1")));
  CHECK_FALSE(snapshot.index_conflict(machine("2", "srv-2")));
  CHECK_FALSE(snapshot.index_conflict(machine("2")));
  auto elsewhere = machine("2", "srv-1");
  elsewhere.environment = EnvironmentId{2};
  CHECK_FALSE(snapshot.index_conflict(elsewhere));

  put(snapshot, attempt(1, "1", AttemptPhase::created));
  CHECK(snapshot.index_conflict(attempt(2, "1", AttemptPhase::sent)) ==
        "machine 1 has an active attempt for server 0");
  CHECK_FALSE(snapshot.index_conflict(attempt(2, "1", AttemptPhase::rejected)));
  CHECK_FALSE(snapshot.index_conflict(attempt(2, "2", AttemptPhase::sent)));
  auto second_slot = attempt(2, "1", AttemptPhase::sent);
  second_slot.slot = 1;
  CHECK_FALSE(snapshot.index_conflict(second_slot));
  auto same_seq = attempt(2, "1", AttemptPhase::gone);
  same_seq.seq = 1;
  CHECK(snapshot.index_conflict(same_seq) == "attempt 1 of machine 1 exists");
  put(snapshot, attempt(1, "1", AttemptPhase::gone));
  CHECK_FALSE(snapshot.index_conflict(attempt(2, "1", AttemptPhase::sent)));

  Environment environment;
  environment.id = kProd;
  environment.name = "prod";
  put(snapshot, environment);
  environment.id = EnvironmentId{2};
  CHECK(snapshot.index_conflict(environment) == "an environment named prod exists");
  Credential credential;
  credential.id = CredentialId{1};
  credential.name = "demo";
  put(snapshot, credential);
  credential.id = CredentialId{2};
  CHECK(snapshot.index_conflict(credential) == "a credential named demo exists");
}

TEST_CASE("all attachments of a machine stand together") {
  Snapshot snapshot;
  for (const char* volume : {"7", "3", "5"}) {
    Attachment a;
    a.environment = kProd;
    a.volume = volume;
    a.machine = MachineId{volume == std::string("5") ? "1" : "2"};
    put(snapshot, a);
  }
  CHECK(texts_of_index<Attachment, Attachment::ByMachine>(snapshot) ==
        "volume 5 is attached to machine 1\nvolume 3 is attached to machine 2\nvolume 7 is attached to "
        "machine 2\n");
}

TEST_CASE("a snapshot does what a map of rows does, and older copies keep what they had") {
  constexpr std::uint64_t kSeed = 424242;
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  using Reference = std::map<Machine::Key, Machine>;
  struct Kept {
    Snapshot snapshot;
    Reference reference;
  };
  std::vector<Kept> kept;
  Kept now;
  const auto check = [](const Kept& k) {
    REQUIRE(k.snapshot.all<Machine>().size() == k.reference.size());
    auto expected = k.reference.begin();
    std::size_t with_instance = 0;
    for (const auto& [key, row] : k.snapshot.all<Machine>()) {
      REQUIRE(key == expected->first);
      REQUIRE(row->instance_id == expected->second.instance_id);
      if (!row->instance_id.empty()) {
        ++with_instance;
        REQUIRE(k.snapshot.find_by<Machine, Machine::ByInstance>({kProd, row->instance_id}) == row);
      }
      ++expected;
    }
    REQUIRE(k.snapshot.by<Machine, Machine::ByInstance>().size() == with_instance);
  };
  for (int step = 0; step < 4000; ++step) {
    const std::string id = std::to_string(random.below(300));
    const Machine::Key key{kProd, MachineId{id}};
    if (random.below(3) == 0) {
      now.snapshot.erase<Machine>(key);
      now.reference.erase(key);
    } else {
      const std::string instance = random.below(4) == 0 ? "" : "srv-" + std::to_string(random.below(400));
      Machine row = machine(id, instance);
      const bool is_taken = std::any_of(now.reference.begin(), now.reference.end(), [&](const auto& other) {
        return !instance.empty() && other.first != key && other.second.instance_id == instance;
      });
      REQUIRE(now.snapshot.index_conflict(row).has_value() == is_taken);
      if (!is_taken) {
        now.reference[key] = row;
        put(now.snapshot, std::move(row));
      }
    }
    if (step % 500 == 0) kept.push_back(now);
  }
  check(now);
  for (const Kept& old : kept) check(old);
}

TEST_CASE("one thread reads a snapshot while others change copies of it") {
  Snapshot snapshot;
  for (int i = 0; i < 500; ++i) put(snapshot, machine(std::to_string(i), "srv-" + std::to_string(i)));
  const auto count = [](const Snapshot& s) {
    std::size_t n = 0;
    for (const auto& entry : s.all<Machine>()) n += entry.second->instance_id.size() > 0 ? 1 : 0;
    return n;
  };
  const auto change = [](Snapshot copy, int by) {
    for (int i = 0; i < 500; i += by) {
      copy.erase<Machine>({kProd, MachineId::top(static_cast<std::uint64_t>(i))});
      put(copy, machine(std::to_string(1000 + i), "new-" + std::to_string(i)));
    }
    return copy.all<Machine>().size();
  };
  std::size_t sizes[2] = {};
  std::vector<std::thread> threads;
  threads.emplace_back([copy = snapshot, &change, &sizes] { sizes[0] = change(copy, 2); });
  threads.emplace_back([copy = snapshot, &change, &sizes] { sizes[1] = change(copy, 3); });
  for (int round = 0; round < 20; ++round) CHECK(count(snapshot) == 500);
  for (auto& thread : threads) thread.join();
  CHECK(sizes[0] == 500);
  CHECK(sizes[1] == 500);
  CHECK(count(snapshot) == 500);
}

// ---- Spreading ----

TEST_CASE("zones are counted by the instances and by the attempts that may become one") {
  Snapshot snapshot;
  put(snapshot, machine("0", "srv-0", "a"));
  put(snapshot, machine("1", "srv-1", "a"));
  put(snapshot, machine("2"));  // being made in b
  put(snapshot, attempt(1, "2", AttemptPhase::sent, "b"));
  put(snapshot, machine("3"));  // its try in c is over
  put(snapshot, attempt(2, "3", AttemptPhase::rejected, "c"));
  put(snapshot, machine("4"));  // half built in c, being deleted: still there
  put(snapshot, attempt(3, "4", AttemptPhase::deleting, "c"));
  put(snapshot, machine("5"));
  put(snapshot, machine("0/lxc/0", "c-0", "a"));  // takes no place of its own
  put(snapshot, machine("6", "srv-6", ""));       // a cloud without zones
  auto elsewhere = machine("0", "srv-0", "a");
  elsewhere.environment = EnvironmentId{2};
  put(snapshot, elsewhere);
  auto stale = machine("7", "", "a");  // where its last instance was
  put(snapshot, stale);

  const ZonePopulations populations = zone_populations(snapshot, kProd);
  CHECK(populations == ZonePopulations{{"a", 2}, {"b", 1}, {"c", 1}});
  CHECK(zone_populations(snapshot, EnvironmentId{2}) == ZonePopulations{{"a", 1}});
  CHECK(zone_populations(snapshot, EnvironmentId{3}).empty());
  CHECK(occupied_zone(snapshot, machine("2")) == "b");
  CHECK_FALSE(occupied_zone(snapshot, machine("5")));
}

TEST_CASE("zones come by their population, ties by name") {
  const std::vector<std::string> zones = {"c", "b", "a", "d"};
  CHECK(by_population(zones, {{"a", 2}, {"b", 1}, {"x", 0}}) ==
        std::vector<ZonePopulation>{{"c", 0}, {"d", 0}, {"b", 1}, {"a", 2}});
  CHECK(by_population(zones, {}) == std::vector<ZonePopulation>{{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}});
  CHECK(by_population({}, {{"a", 1}}).empty());
}

TEST_CASE("in a spread group only its members are counted, and never the machine itself") {
  Snapshot snapshot;
  put(snapshot, machine("0", "srv-0", "a", "web"));
  put(snapshot, machine("1", "srv-1", "b", "web"));
  put(snapshot, machine("2", "srv-2", "b", "db"));
  put(snapshot, machine("3", "srv-3", "c"));
  CHECK(zone_populations(snapshot, machine("9", "", "", "web")) == ZonePopulations{{"a", 1}, {"b", 1}});
  CHECK(zone_populations(snapshot, machine("0", "srv-0", "a", "web")) == ZonePopulations{{"b", 1}});
  CHECK(zone_populations(snapshot, machine("9", "", "", "new")).empty());
  CHECK(zone_populations(snapshot, machine("9")) == ZonePopulations{{"a", 1}, {"b", 2}, {"c", 1}});
  CHECK(zone_populations(snapshot, machine("3", "srv-3", "c")) == ZonePopulations{{"a", 1}, {"b", 2}});
}

TEST_CASE("controllers are kept apart from each other, machines of one group too") {
  Machine a = machine("0");
  Machine b = machine("1");
  CHECK_FALSE(are_spread_together(a, b));
  a.role = MachineRole::controller;
  CHECK_FALSE(are_spread_together(a, b));
  b.role = MachineRole::controller;
  CHECK(are_spread_together(a, b));
  b.environment = EnvironmentId{2};
  CHECK_FALSE(are_spread_together(a, b));
  CHECK(are_spread_together(machine("0", "", "", "web"), machine("1", "", "", "web")));
  CHECK_FALSE(are_spread_together(machine("0", "", "", "web"), machine("1", "", "", "db")));
}

TEST_CASE("the instances to keep apart are sorted, each once, the machine's own among them", "[A45][A46]") {
  Snapshot snapshot;
  put(snapshot, machine("0", "srv-9", "a", "web"));
  put(snapshot, machine("1", "srv-1", "a", "web"));
  put(snapshot, machine("2", "", "", "web"));
  put(snapshot, machine("3", "srv-3", "a", "db"));
  put(snapshot, machine("4", "srv-4", "a"));
  CHECK(spread_instances(snapshot, *snapshot.find<Machine>({kProd, MachineId{"0"}})) ==
        std::vector<std::string>{"srv-1", "srv-9"});
  CHECK(spread_instances(snapshot, *snapshot.find<Machine>({kProd, MachineId{"4"}})).empty());
}

TEST_CASE("of the controllers only those with an instance are to be kept apart", "[A44]") {
  Snapshot snapshot;
  for (const auto& [id, instance] :
       std::vector<std::pair<const char*, const char*>>{{"0", "srv-0"}, {"1", ""}}) {
    Machine m = machine(id, instance);
    m.role = MachineRole::controller;
    put(snapshot, m);
  }
  put(snapshot, machine("2", "srv-2"));
  CHECK(spread_instances(snapshot, *snapshot.find<Machine>({kProd, MachineId{"1"}})) ==
        std::vector<std::string>{"srv-0"});
}

}  // namespace
}  // namespace slipway::model
