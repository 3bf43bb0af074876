// SPDX-License-Identifier: Apache-2.0
// conformance_rows_test.cpp - what is written is what is read: every member of every kind of row, in both
// engines, from memory and from the disk.
#include "support/store_fixture.hpp"

#include <random>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;

namespace {

constexpr int kRandomRows = 12;

std::uint64_t seed_of_today() { return std::random_device{}(); }

// Puts rows of random content in, then changes each into the next one's content, and looks after every step
// and after a restart. `identify` gives the i-th the keys that the tables want to differ.
template <class Row, class Identify>
void check_random_rows(StoreFixture& fixture, Identify identify) {
  const std::uint64_t seed = seed_of_today();
  INFO("seed " << seed);
  SeededRandom random(seed);
  std::vector<Row> rows(kRandomRows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fill(random, rows[i]);
    identify(rows[i], i);
    fixture.committed(inserting(rows[i]));
  }
  for (const Row& row : rows) CHECK(first_difference(fixture.get<Row>(row.key()), row) == std::nullopt);
  fixture.reopen();
  for (const Row& row : rows) CHECK(first_difference(fixture.get<Row>(row.key()), row) == std::nullopt);

  const std::vector<Row> old = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = old[(i + 1) % old.size()];
    identify(rows[i], i);
    rows[i].revision = fixture.get<Row>(old[i].key()).revision;
    fixture.committed(updating(rows[i]));
  }
  fixture.reopen();
  for (const Row& row : rows) CHECK(first_difference(fixture.get<Row>(row.key()), row) == std::nullopt);
}

std::string text_of(std::size_t i) { return "row-" + std::to_string(i); }

}  // namespace

SLIPWAY_STORE_CASE("a credential keeps every member") {
  StoreOn<TestType> on;
  check_random_rows<Credential>(on.fixture, [](Credential& row, std::size_t i) {
    row.id = {static_cast<std::int64_t>(i) + 10};
    row.name = text_of(i);
  });
}

SLIPWAY_STORE_CASE("an environment keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Environment>(on.fixture, [](Environment& row, std::size_t i) {
    row.id = {static_cast<std::int64_t>(i) + 10};
    row.name = text_of(i);
    if (row.credential) row.credential = CredentialId{1};
  });
}

SLIPWAY_STORE_CASE("a machine keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Machine>(on.fixture, [](Machine& row, std::size_t i) {
    row.environment = {1};
    row.id = {std::to_string(i)};
    if (i % 3 != 0) row.instance_id = text_of(i);
    if (i % 3 == 0) row.instance_id.clear();
  });
}

SLIPWAY_STORE_CASE("an attempt keeps every member") {
  StoreOn<TestType> on;
  check_random_rows<Attempt>(on.fixture, [](Attempt& row, std::size_t i) {
    row.nonce = nonce(static_cast<std::uint8_t>(i + 1));
    row.seq = static_cast<std::int64_t>(i);
    row.slot = static_cast<std::uint32_t>(i);
  });
}

SLIPWAY_STORE_CASE("a pool keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Pool>(on.fixture, [](Pool& row, std::size_t i) {
    row.environment = {1};
    row.name = text_of(i);
  });
}

SLIPWAY_STORE_CASE("a volume keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Volume>(on.fixture, [](Volume& row, std::size_t i) {
    row.environment = {1};
    row.id = text_of(i);
  });
}

SLIPWAY_STORE_CASE("an attachment keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(volume(1, "data")));
  check_random_rows<Attachment>(on.fixture, [](Attachment& row, std::size_t i) {
    row.environment = {1};
    row.volume = "data";
    row.machine = {std::to_string(i)};
  });
}

SLIPWAY_STORE_CASE("a space keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Space>(on.fixture, [](Space& row, std::size_t i) {
    row.environment = {1};
    row.name = text_of(i);
  });
}

SLIPWAY_STORE_CASE("a subnet keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<Subnet>(on.fixture, [](Subnet& row, std::size_t i) {
    row.environment = {1};
    row.cidr = text_of(i);
  });
}

SLIPWAY_STORE_CASE("a plugin's note keeps every member") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  check_random_rows<PluginNote>(on.fixture, [](PluginNote& row, std::size_t i) {
    row.environment = {1};
    row.plugin = "nimbus";
    row.name = text_of(i);
  });
}

SLIPWAY_STORE_CASE("a row that was never filled keeps its defaults") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0"), attempt(1), pool(1, "p"), space(1, "s"), subnet(1, "c")));
  on.fixture.reopen();
  CHECK(first_difference(on.fixture.get_machine("0"), machine(1, "0")) == std::nullopt);
  CHECK(first_difference(on.fixture.template get<Attempt>(nonce(1)), attempt(1)) == std::nullopt);
  CHECK(first_difference(on.fixture.template get<Pool>({{1}, "p"}), pool(1, "p")) == std::nullopt);
  CHECK(first_difference(on.fixture.template get<Space>({{1}, "s"}), space(1, "s")) == std::nullopt);
  CHECK(first_difference(on.fixture.template get<Subnet>({{1}, "c"}), subnet(1, "c")) == std::nullopt);
}

SLIPWAY_STORE_CASE("a constraint that says none is not one that says nothing") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Machine row = machine(1, "0");
  row.constraints.cores = 0;
  row.constraints.virt_type = "";
  row.constraints.zones.emplace();
  row.constraints.allocate_public_ip = false;
  row.hardware.mem_mib = 0;
  row.instance_nonce = Nonce{};
  on.fixture.committed(inserting(row));
  on.fixture.reopen();
  CHECK(first_difference(on.fixture.get_machine("0"), row) == std::nullopt);
}

SLIPWAY_STORE_CASE("long text and text with a zero byte are kept whole") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  Machine row = machine(1, "0");
  row.instance_message = std::string(1 << 20, 'x') + "end";
  row.message = std::string("before\0after", 12);
  row.labels["note"] = std::string("before\0after", 12);
  on.fixture.committed(inserting(row));
  on.fixture.reopen();
  CHECK(first_difference(on.fixture.get_machine("0"), row) == std::nullopt);
}

SLIPWAY_STORE_CASE("machines come in the order of their numbers, before and after a restart") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  const std::vector<std::string> wanted{"2", "2/lxc/0", "10", "10/lxc/1", "10/lxc/11", "11"};
  for (const std::size_t i : {5U, 3U, 0U, 4U, 1U, 2U}) on.fixture.committed(inserting(machine(1, wanted[i])));
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> ids;
    const Snapshot snapshot = on.fixture->snapshot();
    for (const auto& [key, row] : snapshot.all<Machine>()) ids.push_back(row->id.value);
    CHECK(ids == wanted);
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("a new store is empty and at revision 0") {
  StoreOn<TestType> on;
  const Snapshot snapshot = on.fixture->snapshot();
  CHECK(first_difference(snapshot, Snapshot()) == std::nullopt);
  CHECK(snapshot.revision == Revision{0});
  CHECK(on.fixture->status().health == store::Health::ok);
  CHECK(on.fixture.changes_after({0}).empty());
}
