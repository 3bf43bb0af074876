// SPDX-License-Identifier: Apache-2.0
// conformance_trust_test.cpp - what the store knows of itself and refuses to believe: secrets, checksums,
// keys, epochs.
#include "support/store_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::Blob;
using store::RowChange;
using store::RowOp;
using store::Txn;
using store::Value;
using store::Values;

namespace {

constexpr std::string_view kCanary = "canary-5d41402abc4b2a76b9719d911017c592";

Txn putting(const std::string& id, std::string_view text) {
  Txn txn("test");
  txn.put_secret(id, Secret(std::string(text)));
  return txn;
}

// ---- Somebody with the file and without the key ----

std::unique_ptr<store::Engine> engine_of(Backend& backend) {
  auto engine = backend.open();
  REQUIRE(engine);
  return *std::move(engine);
}

template <class Row>
std::vector<Values> rows_of(store::Engine& engine) {
  auto rows = engine.read(store::kTableNumber<Row>, {}, {}, 100);
  REQUIRE(rows);
  return *std::move(rows);
}

template <class Row>
void write_raw(store::Engine& engine, Values values, RowOp op = RowOp::put) {
  REQUIRE(engine.begin());
  const RowChange change{store::kTableNumber<Row>, op, std::move(values)};
  REQUIRE(engine.apply({&change, 1}));
  REQUIRE(engine.commit());
}

// Another value of the same kind; for a word of a closed list another of its words.
Value changed(const Value& value) {
  static const std::vector<std::string> kWords{"server", "port", "sent", "gone"};
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number + 1;
  if (const auto* blob = std::get_if<Blob>(&value)) {
    Blob other = *blob;
    if (!other.bytes.empty()) other.bytes.back() = static_cast<char>(other.bytes.back() ^ 1);
    return other;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto at = std::find(kWords.begin(), kWords.end(), *text);
    return at == kWords.end() ? *text + "x" : kWords[static_cast<std::size_t>(at - kWords.begin()) ^ 1U];
  }
  return Blob{std::string(16, 'p')};  // the only NULL of these tables: an attempt's parent
}

}  // namespace

// ---- Secrets ----

SLIPWAY_STORE_CASE("a secret is what was put in, also after a restart") {
  StoreOn<TestType> on;
  const std::string bytes("line\n\0 \xff end", 12);
  on.fixture.committed(putting("a", kCanary));
  on.fixture.committed(putting("b", bytes));
  on.fixture.committed(putting("empty", ""));
  on.fixture.crash_and_reopen();
  CHECK(on.fixture->secret("a")->reveal() == kCanary);
  CHECK(on.fixture->secret("b")->reveal() == bytes);
  CHECK(on.fixture->secret("empty")->reveal().empty());
}

SLIPWAY_STORE_CASE("a secret that is not there is not found, by its name") {
  StoreOn<TestType> on;
  const auto secret = on.fixture->secret("credential/1");
  REQUIRE_FALSE(secret);
  CHECK(secret.error().code == Code::not_found);
  CHECK(secret.error().message == "no secret credential/1");
}

SLIPWAY_STORE_CASE("a secret is replaced by the next one, and gone when it was erased") {
  StoreOn<TestType> on;
  on.fixture.committed(putting("a", "old"));
  on.fixture.committed(putting("a", "new"));
  CHECK(on.fixture->secret("a")->reveal() == "new");
  Txn txn("test");
  txn.erase_secret("a");
  on.fixture.committed(std::move(txn));
  CHECK_FALSE(on.fixture->secret("a"));
  on.fixture.reopen();
  CHECK_FALSE(on.fixture->secret("a"));
}

SLIPWAY_STORE_CASE("erasing a secret that is not there is success") {
  StoreOn<TestType> on;
  Txn txn("test");
  txn.erase_secret("a").insert(environment(1));
  on.fixture.committed(std::move(txn));
  CHECK(on.fixture.template has<Environment>({1}));
}

SLIPWAY_STORE_CASE("one secret in two places is sealed in two ways") {
  StoreOn<TestType> on;
  on.fixture.committed(putting("a", kCanary));
  on.fixture.committed(putting("b", kCanary));
  on.fixture.close();
  const auto rows = rows_of<store::SecretRow>(*engine_of(on.backend));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][1] != rows[1][1]);
  CHECK(std::get<Blob>(rows[0][1]).bytes.find(kCanary) == std::string::npos);
}

SLIPWAY_STORE_CASE("a sealed secret that was put in another's place does not open") {
  StoreOn<TestType> on;
  on.fixture.committed(putting("a", "secret of a"));
  on.fixture.committed(putting("b", "secret of b"));
  on.fixture.close();
  {
    const auto engine = engine_of(on.backend);
    auto rows = rows_of<store::SecretRow>(*engine);
    std::swap(rows[0][1], rows[1][1]);
    for (Values& row : rows) write_raw<store::SecretRow>(*engine, row);
  }
  on.fixture.reopen();
  for (const char* id : {"a", "b"}) {
    const auto secret = on.fixture->secret(id);
    REQUIRE_FALSE(secret);
    CHECK_THAT(secret.error().message, Catch::StartsWith(std::string("secret ") + id));
    CHECK_THAT(secret.error().message, !Catch::Contains("secret of"));
  }
}

SLIPWAY_STORE_CASE("a sealed secret with any byte changed does not open") {
  StoreOn<TestType> on;
  on.fixture.committed(putting("a", "0123456789"));
  on.fixture.close();
  const Values row = rows_of<store::SecretRow>(*engine_of(on.backend)).at(0);
  const std::string sealed = std::get<Blob>(row[1]).bytes;
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    const std::string identity = "secret/sealed/a";
    std::string other = sealed;
    other[i] = static_cast<char>(other[i] ^ (1 << (i % 8)));
    CHECK_FALSE(test_keys().unseal(other, identity));
    if (i % 8 != 0) continue;  // through the store: some are enough
    Values changed_row = row;
    changed_row[1] = Blob{other};
    write_raw<store::SecretRow>(*engine_of(on.backend), changed_row);
    on.fixture.reopen();
    CHECK_FALSE(on.fixture->secret("a"));
    on.fixture.close();
  }
  write_raw<store::SecretRow>(*engine_of(on.backend), row);
  on.fixture.reopen();
  CHECK(on.fixture->secret("a")->reveal() == "0123456789");
}

TEST_CASE("a secret is in no byte of the files, nor of the memory's rows", "[conformance]") {
  StoreOn<SqliteBackend> on;
  add_environment(on.fixture);
  on.fixture.committed(putting("a", kCanary));
  Txn txn("test");
  txn.put_secret("a", Secret(std::string(kCanary))).insert(machine(1, "0"), "the note");
  on.fixture.committed(std::move(txn));
  for (int i = 0; i < 2; ++i) {  // in the log, then in the database
    bool is_note_seen = false;
    for (const std::string& path : {on.backend.path(), on.backend.log_path()}) {
      std::ifstream in(path, std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      CHECK(bytes.find(kCanary) == std::string::npos);
      is_note_seen = is_note_seen || bytes.find("the note") != std::string::npos;
    }
    CHECK(is_note_seen);
    on.fixture.reopen();
  }
}

// ---- Checksums ----

SLIPWAY_STORE_CASE(
    "an attempt with any column changed from outside stops the store at the start, by its name") {
  StoreOn<TestType> on;
  Attempt row = attempt(1);
  row.seq = 5;
  on.fixture.committed(inserting(row));
  on.fixture.close();
  const Values good = rows_of<Attempt>(*engine_of(on.backend)).at(0);
  for (std::size_t column = 1; column < good.size(); ++column) {  // the checksum included
    INFO("column " << column);
    Values bad = good;
    bad[column] = changed(bad[column]);
    REQUIRE(bad != good);
    write_raw<Attempt>(*engine_of(on.backend), bad);
    const Status end = on.fixture.open();
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::internal);
    CHECK_THAT(end.error().message,
               Catch::StartsWith("attempt " + nonce(1).text() + " has a wrong checksum"));
  }
  write_raw<Attempt>(*engine_of(on.backend), good);
  on.fixture.reopen();
  CHECK(first_difference(on.fixture.template get<Attempt>(nonce(1)), row) == std::nullopt);
}

SLIPWAY_STORE_CASE(
    "a credential with any column changed from outside stops the store at the start, by its name") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(credential(3)));
  on.fixture.close();
  const Values good = rows_of<Credential>(*engine_of(on.backend)).at(0);
  for (std::size_t column = 1; column < good.size(); ++column) {
    INFO("column " << column);
    Values bad = good;
    bad[column] = changed(bad[column]);
    write_raw<Credential>(*engine_of(on.backend), bad);
    const Status end = on.fixture.open();
    REQUIRE_FALSE(end);
    CHECK_THAT(end.error().message, Catch::StartsWith("credential 3 has a wrong checksum"));
  }
  write_raw<Credential>(*engine_of(on.backend), good);
  CHECK(on.fixture.open());
}

SLIPWAY_STORE_CASE("text that moved from one column into the next does not keep its checksum") {
  StoreOn<TestType> on;
  // Without lengths the two would be the same bytes: '2' says "text" before each.
  Attempt row = attempt(1);
  row.evidence = "x2y";
  row.choice = "";
  on.fixture.committed(inserting(row));
  on.fixture.close();
  const auto& columns = store::schema()[store::kTableNumber<Attempt>].columns;
  const auto at =
      static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "evidence") - columns.begin());
  {
    const auto engine = engine_of(on.backend);
    Values moved = rows_of<Attempt>(*engine).at(0);
    REQUIRE(moved[at] == Value("x2y"));
    moved[at] = std::string("x");
    moved[at + 1] = std::string("y2");
    write_raw<Attempt>(*engine, moved);
  }
  CHECK_FALSE(on.fixture.open());
}

SLIPWAY_STORE_CASE("a row under another's key is not that row") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(credential(3)));
  on.fixture.close();
  {
    const auto engine = engine_of(on.backend);
    Values row = rows_of<Credential>(*engine).at(0);
    write_raw<Credential>(*engine, {row[0]}, RowOp::erase);
    row[0] = std::int64_t{4};
    write_raw<Credential>(*engine, row);
  }
  const Status end = on.fixture.open();
  REQUIRE_FALSE(end);
  CHECK_THAT(end.error().message, Catch::StartsWith("credential 4 has a wrong checksum"));
}

SLIPWAY_STORE_CASE("an update renews the checksum") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(attempt(1), credential(1)));
  for (const AttemptPhase phase : {AttemptPhase::created, AttemptPhase::deleting, AttemptPhase::gone}) {
    Attempt row = on.fixture.template get<Attempt>(nonce(1));
    row.phase = phase;
    row.provider_id = "server-1";
    on.fixture.committed(updating(row));
    on.fixture.reopen();
    CHECK(on.fixture.template get<Attempt>(nonce(1)).phase == phase);
  }
}

SLIPWAY_STORE_CASE("a column that holds what its member cannot be is an error that names table and column") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(machine(1, "0")));
  on.fixture.close();
  const auto& columns = store::schema()[store::kTableNumber<Machine>].columns;
  const auto at = std::find(columns.begin(), columns.end(), "constraints") - columns.begin();
  {
    const auto engine = engine_of(on.backend);
    Values row = rows_of<Machine>(*engine).at(0);
    row[static_cast<std::size_t>(at)] = std::string("{\"cores\": \"many\"}");
    write_raw<Machine>(*engine, row);
  }
  const Status end = on.fixture.open();
  REQUIRE_FALSE(end);
  CHECK_THAT(end.error().message, Catch::StartsWith("table machine, column constraints: "));
  CHECK_THAT(end.error().message, Catch::Contains("cores"));
}

// ---- Identity ----

SLIPWAY_STORE_CASE("every start is an epoch of its own, also after a crash") {
  StoreOn<TestType> on;
  std::uint64_t last = on.fixture->snapshot().controller.epoch;
  CHECK(last == 1);
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0) on.fixture.reopen();
    if (i % 2 == 1) on.fixture.lose_power_and_reopen();
    CHECK(on.fixture->snapshot().controller.epoch == last + 1);
    ++last;
  }
}

SLIPWAY_STORE_CASE("a start that fails after its epoch was written does not give the epoch again") {
  StoreOn<TestType> on;
  on.fixture.close();
  CHECK_FALSE(on.fixture.open_with_key('x'));
  on.fixture.reopen();
  CHECK(on.fixture->snapshot().controller.epoch >= 2);
}

SLIPWAY_STORE_CASE("the controller keeps its UUID") {
  StoreOn<TestType> on;
  const std::string uuid = on.fixture->snapshot().controller.uuid;
  CHECK(Uuid::parse(uuid));
  on.fixture.reopen();
  on.fixture.committed(inserting(credential(1)));
  CHECK(on.fixture->snapshot().controller.uuid == uuid);
}

SLIPWAY_STORE_CASE("the incarnation is raised for good") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  CHECK(on.fixture->snapshot().controller.incarnation == 0);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    Txn txn("provisioner");
    txn.raise_incarnation();
    on.fixture.committed(std::move(txn));
    CHECK(on.fixture->snapshot().controller.incarnation == i);
  }
  Txn refused("provisioner");
  refused.raise_incarnation().insert(credential(1));
  const std::string said = on.fixture.conflict(std::move(refused));
  CHECK(said != "");
  CHECK(on.fixture->snapshot().controller.incarnation == 2);
  on.fixture.crash_and_reopen();
  CHECK(on.fixture->snapshot().controller.incarnation == 2);
}

SLIPWAY_STORE_CASE("a state of another key is refused, with both keys and what to bring") {
  StoreOn<TestType> on;
  // Also with rows whose checksums the other key cannot have made.
  for (int with_rows = 0; with_rows < 2; ++with_rows) {
    on.fixture.close();
    const Status end = on.fixture.open_with_key('x');
    REQUIRE_FALSE(end);
    CHECK(end.error().code == Code::denied);
    CHECK_THAT(end.error().message, Catch::Contains("belongs to the key " + test_keys('k').id()));
    CHECK_THAT(end.error().message, Catch::Contains("slipway.key is " + test_keys('x').id()));
    CHECK_THAT(end.error().message, Catch::Contains("bring the slipway.key"));
    on.fixture.reopen();
    if (with_rows == 0) on.fixture.committed(inserting(credential(1), attempt(1)));
  }
}
