// SPDX-License-Identifier: Apache-2.0
// plugin_state_test.cpp - what plugins remember, and their secrets, on a real file.
#include "daemon/plugin_state.hpp"

#include "support/store_fixture.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace slipway;
using namespace slipway::testing;
using daemon::StoreKv;
using daemon::StoreSecrets;

namespace {

struct Fixture {
  Fixture() : fixture(backend) {
    fixture.reopen();
    add_environment(fixture);
  }

  template <class T>
  struct Answer {
    std::optional<Result<T>> result;
    plugin::Done<T> done() {
      return [this](Result<T> end) {
        REQUIRE_FALSE(result);
        result.emplace(std::move(end));
      };
    }
  };
  StoreKv kv(const std::string& plugin = "nimbus") {
    return StoreKv(fixture.store(), fixture.executor(), {1}, plugin);
  }

  Result<KvPutReply> put(StoreKv& kv, std::string key, std::string value,
                         std::optional<std::int64_t> if_revision = {}) {
    Answer<KvPutReply> answer;
    kv.put({std::move(key), Bytes{std::move(value)}, if_revision}, answer.done());
    fixture.executor().run_ready();
    return *std::move(answer.result);
  }
  Result<KvEntry> get(StoreKv& kv, std::string key) {
    Answer<KvEntry> answer;
    kv.get({std::move(key)}, answer.done());
    fixture.executor().run_ready();
    return *std::move(answer.result);
  }
  Status remove(StoreKv& kv, std::string key, std::optional<std::int64_t> if_revision = {}) {
    Answer<Unit> answer;
    kv.remove({std::move(key), if_revision}, answer.done());
    fixture.executor().run_ready();
    return *std::move(answer.result);
  }
  KvListReply list(StoreKv& kv, KvListRequest request) {
    Answer<KvListReply> answer;
    kv.list(std::move(request), answer.done());
    fixture.executor().run_ready();
    REQUIRE(*answer.result);
    return **std::move(answer.result);
  }

  SqliteBackend backend;
  StoreFixture fixture;
};

Code code_of(const Status& status) {
  REQUIRE_FALSE(status);
  return status.error().code;
}

}  // namespace

TEST_CASE("a note is kept, also over a crash of the daemon", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  const auto put = on.put(kv, "a", std::string("\0\xff", 2));
  REQUIRE(put);
  on.fixture.crash_and_reopen();
  auto again = on.kv();
  const auto entry = on.get(again, "a");
  REQUIRE(entry);
  CHECK(entry->value.data == std::string("\0\xff", 2));
  CHECK(entry->revision == put->revision);
  CHECK(on.get(again, "b").error().code == Code::not_found);
}

TEST_CASE("if_revision decides between two writers", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  const auto first = on.put(kv, "a", "1", 0);
  REQUIRE(first);
  const auto again = on.put(kv, "a", "2", 0);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::conflict);
  CHECK(again.error().outcome == Outcome::rejected);
  const auto second = on.put(kv, "a", "2", first->revision);
  REQUIRE(second);
  CHECK(second->revision > first->revision);
  CHECK(on.put(kv, "a", "3", first->revision).error().code == Code::conflict);
  CHECK(code_of(on.remove(kv, "a", first->revision)) == Code::conflict);
  CHECK(on.remove(kv, "a", second->revision));
  CHECK(code_of(on.remove(kv, "a", second->revision)) == Code::conflict);
  const auto third = on.put(kv, "a", "4", 0);
  REQUIRE(third);
  CHECK(third->revision > second->revision);  // never used again
}

TEST_CASE("of writers without a condition that race the last one wins, and none fails", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  std::vector<Fixture::Answer<KvPutReply>> answers(8);
  for (std::size_t i = 0; i < answers.size(); ++i) {  // all are prepared before the first is written
    kv.put({"a", Bytes{std::to_string(i)}, {}}, answers[i].done());
  }
  on.fixture.executor().run_ready();
  for (const auto& answer : answers) {
    REQUIRE(answer.result);
    CHECK(*answer.result);
  }
  CHECK(on.get(kv, "a"));
}

TEST_CASE("removing what is not there is success", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  CHECK(on.remove(kv, "a"));
}

TEST_CASE("notes are listed by prefix and in pages, without their values", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  auto other = on.kv("other");
  for (const char* key : {"a", "s/1", "s/2", "s/3", "t"}) REQUIRE(on.put(kv, key, "v"));
  REQUIRE(on.put(other, "s/4", "v"));
  auto page = on.list(kv, {"s/", "", 2});
  REQUIRE(page.entries.size() == 2);
  CHECK(page.entries[0].key == "s/1");
  CHECK(page.entries[0].value.data.empty());
  CHECK(page.next == "s/2");
  page = on.list(kv, {"s/", page.next, 2});
  REQUIRE(page.entries.size() == 1);
  CHECK(page.entries[0].key == "s/3");
  CHECK(page.next.empty());
  CHECK(on.list(kv, {}).entries.size() == 5);
}

TEST_CASE("notes have bounds: keys, values, and all of an instance together", "[daemon]") {
  Fixture on;
  auto kv = on.kv();
  CHECK(on.put(kv, "", "v").error().code == Code::invalid);
  CHECK(on.put(kv, std::string(kMaxKvKeyBytes + 1, 'k'), "v").error().code == Code::invalid);
  CHECK(on.put(kv, "a\nb", "v").error().code == Code::invalid);
  CHECK(on.put(kv, "a", std::string(kMaxKvValueBytes + 1, 'v')).error().code == Code::invalid);
  const std::string most(kMaxKvValueBytes, 'v');
  int kept = 0;
  while (on.put(kv, "k" + std::to_string(kept), most)) ++kept;
  CHECK(kept == 255);  // 256 values of 64 KiB and their keys are more than 16 MiB
  CHECK(on.put(kv, "more", most).error().code == Code::exhausted);
  CHECK(on.put(kv, "k1", "less"));  // what gets smaller always goes
  CHECK(on.put(kv, "k1", most));
  CHECK(on.put(kv, "more", std::string(1000, 'v')));
  auto again = on.kv();  // counts what is there
  CHECK(on.put(again, "yet more", most).error().code == Code::exhausted);
  CHECK(on.remove(again, "k2"));
  CHECK(on.put(again, "yet more", most));
}

TEST_CASE("a plugin's secrets are those of its credential, by name", "[daemon]") {
  Fixture on;
  store::Txn txn("test");
  txn.put_secret("c1", Secret(R"({"token":"t0p \"secret\"","number":7})"));
  on.fixture.committed(std::move(txn));
  StoreSecrets secrets(on.fixture.store(), "c1");
  const auto token = secrets.secret("token");
  REQUIRE(token);
  CHECK(token->reveal() == "t0p \"secret\"");
  const auto missing = secrets.secret("password");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "the credential has no secret password");
  CHECK_FALSE(secrets.secret("number"));
  StoreSecrets none(on.fixture.store(), "");
  CHECK(none.secret("token").error().code == Code::not_found);
}
