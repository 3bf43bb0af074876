// SPDX-License-Identifier: Apache-2.0
// persistent_map_test - the map against std::map, the independence of its copies, and what a copy and a
// change cost.
#include "base/persistent_map.hpp"

#include "base/random.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace slipway {
namespace {

using Numbers = PersistentMap<int, int>;
using Reference = std::map<int, int>;

constexpr std::uint64_t kSeed = 5150;

bool are_equal(const Numbers& map, const Reference& reference) {
  if (map.size() != reference.size() || map.empty() != reference.empty()) return false;
  auto it = map.begin();
  for (const auto& [key, value] : reference) {
    if (it == map.end() || it->first != key || it->second != value) return false;
    ++it;
  }
  return it == map.end();
}

TEST_CASE("an empty map has nothing to find, to erase or to walk through") {
  Numbers map;
  CHECK(map.empty());
  CHECK(map.size() == 0);
  CHECK(map.begin() == map.end());
  CHECK(map.lower_bound(1) == map.end());
  CHECK(map.find(1) == nullptr);
  CHECK_FALSE(map.contains(1));
  CHECK_FALSE(map.erase(1));
  CHECK(map.put(1, 10));
  CHECK(map.erase(1));
  CHECK(are_equal(map, {}));
  CHECK(map.put(2, 20));
  CHECK(are_equal(map, {{2, 20}}));
}

TEST_CASE("put says whether the key is new, erase whether it was there") {
  Numbers map;
  CHECK(map.put(7, 1));
  CHECK_FALSE(map.put(7, 2));
  CHECK(*map.find(7) == 2);
  CHECK(map.size() == 1);
  CHECK(map.erase(7));
  CHECK_FALSE(map.erase(7));
}

TEST_CASE("keys put in rising, falling and mixed order come out in order, and can all be erased again") {
  for (const int step : {1, -1, 7919}) {
    constexpr int kCount = 5000;
    Numbers map;
    Reference reference;
    for (int i = 0; i < kCount; ++i) {
      const int key = ((i * step) % kCount + kCount) % kCount;
      map.put(key, i);
      reference[key] = i;
    }
    INFO("step " << step);
    CHECK(are_equal(map, reference));
    for (int i = 0; i < kCount; i += 2) {
      REQUIRE(map.erase(i));
      reference.erase(i);
    }
    CHECK(are_equal(map, reference));
    for (int i = kCount - 1; i >= 0; --i) REQUIRE(map.erase(i) == (i % 2 == 1));
    CHECK(map.begin() == map.end());
    CHECK(map.empty());
  }
}

TEST_CASE("the map does what std::map does, and its copies keep what they had") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (const std::uint64_t keys : {20U, 300U, 4000U}) {
    Numbers map;
    Reference reference;
    std::vector<std::pair<Numbers, Reference>> copies;
    for (int step = 0; step < 20'000; ++step) {
      const int key = static_cast<int>(random.below(keys));
      // Phases that grow and phases that shrink, so that nodes are split and joined on all levels.
      const bool is_growing = (step / 4000) % 2 == 0;
      if (random.below(10) < (is_growing ? 7U : 3U)) {
        const bool is_new = !reference.contains(key);
        reference[key] = step;
        REQUIRE(map.put(key, step) == is_new);
      } else {
        REQUIRE(map.erase(key) == (reference.erase(key) == 1));
      }
      const int probe = static_cast<int>(random.below(keys + 2)) - 1;
      const auto expected = reference.lower_bound(probe);
      const auto found = map.lower_bound(probe);
      REQUIRE((found == map.end()) == (expected == reference.end()));
      if (expected != reference.end()) REQUIRE(found->first == expected->first);
      REQUIRE(map.contains(probe) == reference.contains(probe));
      if (step % 1500 == 0) copies.emplace_back(map, reference);
    }
    REQUIRE(are_equal(map, reference));
    for (const auto& [copy, was] : copies) REQUIRE(are_equal(copy, was));
  }
}

TEST_CASE("a walk from a lower bound goes through all that follows") {
  Numbers map;
  for (int i = 0; i < 1000; ++i) map.put(2 * i, i);
  for (const int start : {-5, 0, 1, 63, 64, 65, 1001, 1998, 1999}) {
    int expected = start < 0 ? 0 : (start + 1) / 2;
    for (auto it = map.lower_bound(start); it != map.end(); it++) REQUIRE(it->second == expected++);
    CHECK(expected == 1000);
  }
}

TEST_CASE("keys of text are found by a view without a copy of it") {
  PersistentMap<std::string, int> map;
  for (int i = 0; i < 100; ++i) map.put("key-" + std::to_string(i), i);
  CHECK(*map.find(std::string_view("key-42")) == 42);
  CHECK(map.find(std::string_view("key-100")) == nullptr);
  CHECK(map.lower_bound(std::string_view("key-98"))->second == 98);
}

TEST_CASE("a copy shares every value, a change copies only a path, and all is freed with the last holder") {
  // Counts its own copies: what a node's copy costs.
  struct Counted {
    std::shared_ptr<int> copies;
    explicit Counted(std::shared_ptr<int> counter) : copies(std::move(counter)) {}
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    Counted(Counted&&) noexcept = default;
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) noexcept = default;
    ~Counted() = default;
  };
  const auto copies = std::make_shared<int>(0);
  {
    PersistentMap<int, Counted> map;
    for (int i = 0; i < 10'000; ++i) map.put(i, Counted(copies));
    CHECK(*copies == 0);
    const auto old = map;
    CHECK(*copies == 0);
    map.put(5000, Counted(copies));
    CHECK(*copies > 0);
    CHECK(*copies <= 32);  // one leaf
    *copies = 0;
    map.put(5000, Counted(copies));  // the path is the map's own now
    CHECK(*copies == 0);
    map.erase(9999);
    CHECK(*copies <= 64);  // a leaf, and a neighbour that it may be joined with
    CHECK(old.size() == 10'000);
    CHECK(old.contains(9999));
  }
  CHECK(copies.use_count() == 1);
}

TEST_CASE("copies in other threads are read, changed and dropped without regard to each other") {
  PersistentMap<int, std::shared_ptr<const int>> map;
  for (int i = 0; i < 2000; ++i) map.put(i, std::make_shared<const int>(i));
  std::atomic<int> wrong = 0;
  const auto work = [&wrong](PersistentMap<int, std::shared_ptr<const int>> copy, int offset) {
    for (int round = 0; round < 5; ++round) {
      const auto before = copy;
      for (int i = offset; i < 2000; i += 3) {
        copy.erase(i);
        copy.put(10'000 * offset + i, std::make_shared<const int>(i));
      }
      for (const auto& [key, value] : before) {
        if (round == 0 && *value != key) ++wrong;
      }
      copy = before;
    }
    if (copy.size() != 2000) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int offset = 1; offset <= 3; ++offset) threads.emplace_back(work, map, offset);
  for (int i = 0; i < 2000; i += 2) map.erase(i);  // this thread's own goes on too
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(map.size() == 1000);
  for (const auto& [key, value] : map) REQUIRE(*value == key);
}

}  // namespace
}  // namespace slipway
