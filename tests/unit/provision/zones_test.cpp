// SPDX-License-Identifier: Apache-2.0
// zones_test - which zone a machine gets and why; zones that fail for everybody.
#include "provision/zones.hpp"

#include "base/random.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace slipway::provision {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
const std::vector<Zone> kAbc = {{"a", true, ""}, {"b", true, ""}, {"c", true, ""}};

struct World {
  std::vector<Zone> zones = kAbc;
  model::ZonePopulations populations = {};
  std::vector<ZoneRestriction> restrictions = {};
  ZoneTries tries = {};
  SickZones sick = {};
  Now now = {100 * kSecond, 1'800'000'000'000};

  Result<ZoneChoice> choose() const {
    return choose_zone({{"3"}, zones, populations, restrictions, tries, sick, now});
  }
  std::string zone() const {
    const auto choice = choose();
    return choice ? choice->zone : choice.error().message;
  }
  void fail_in(const std::string& name) {
    REQUIRE(tries.note_failure(name, possible_zones(zones, restrictions)));
  }
};

TEST_CASE("a cloud without zones gives the empty zone and no error", "[T48]") {
  World world;
  world.zones.clear();
  const auto choice = world.choose();
  REQUIRE(choice);
  CHECK(choice->zone.empty());
  CHECK(choice->candidates.empty());
}

TEST_CASE("the zone with the fewest machines comes first, ties by name", "[T51][T52]") {
  World world;
  CHECK(world.zone() == "a");
  world.populations = {{"a", 2}, {"b", 1}, {"c", 1}};
  CHECK(world.zone() == "b");
  world.populations = {{"a", 2}, {"b", 1}};
  CHECK(world.zone() == "c");
}

TEST_CASE("after a restart with two machines in a the next one goes to b", "[T50]") {
  World world;
  world.zones.pop_back();
  world.populations = {{"a", 2}};
  CHECK(world.zone() == "b");
}

TEST_CASE("thirty choices over three zones are ten each", "[T53][T96]") {
  World world;
  for (int i = 0; i < 30; ++i) REQUIRE(add_machine(world.populations, world.zones, world.zone()));
  CHECK(world.populations == model::ZonePopulations{{"a", 10}, {"b", 10}, {"c", 10}});
  CHECK_FALSE(add_machine(world.populations, world.zones, "d"));
  CHECK_FALSE(add_machine(world.populations, world.zones, ""));
  CHECK(world.populations.size() == 3);
}

TEST_CASE("derived zones exclude all others, an empty derivation none", "[T54][T56]") {
  World world;
  world.populations = {{"b", 9}};
  world.restrictions = zone_restrictions({}, {PlacementKind::zone, "b", ContainerKind::unknown});
  CHECK(world.zone() == "b");
  CHECK(world.choose()->candidates[1].reason == "excluded by placement zone=b");
  world.restrictions.push_back({"its volumes", {}});
  CHECK(world.zone() == "b");
  world.restrictions = {{"its volumes", {}}};
  CHECK(world.zone() == "a");
}

TEST_CASE("when no zone is suitable the error has the reason of each", "[T55]") {
  World world;
  world.zones[2] = {"c", false, "maintenance"};
  Constraints constraints;
  constraints.zones = {"b", "c"};
  world.restrictions = zone_restrictions(constraints, {PlacementKind::zone, "c", ContainerKind::unknown});
  const auto choice = world.choose();
  REQUIRE_FALSE(choice);
  CHECK(choice.error().code == Code::not_found);
  CHECK(
      choice.error().message ==
      "suitable availability zone for machine 3 not found: a excluded by constraint zones=b,c, placement "
      "zone=c; b excluded by placement zone=c; c not available: maintenance; change its zones= or placement, "
      "or wait until a zone is available");
}

TEST_CASE("whether a zone is left is said after each failure", "[T58][T59]") {
  ZoneTries tries;
  const std::vector<std::string> possible = {"a", "b"};
  const auto no_zone = tries.note_failure("", possible);
  REQUIRE_FALSE(no_zone);
  CHECK(no_zone.error().message == "no zone provided");
  CHECK(tries.note_failure("a", possible).value());
  CHECK(tries.note_failure("a", possible).value());  // the same again
  CHECK(tries.has_failed("a"));
  CHECK_FALSE(tries.note_failure("b", possible).value());
  CHECK(tries.is_empty());
  CHECK_FALSE(tries.note_failure("a", {}).value());  // all have gone meanwhile
}

TEST_CASE("zones are tried in the order a, b, c, a, b, c", "[T59]") {
  World world;
  std::string order;
  for (int i = 0; i < 6; ++i) {
    order += world.zone();
    world.fail_in(world.zone());
  }
  CHECK(order == "abcabc");
}

TEST_CASE("failures whose alternatives went away are forgotten on demand") {
  World world;
  world.fail_in("a");
  world.zones.resize(1);
  CHECK_FALSE(world.choose());
  CHECK(world.tries.forget_if_none_left(possible_zones(world.zones, {})));
  CHECK(world.zone() == "a");
}

TEST_CASE("a choice is never out, lists each zone once and does not depend on the order of the input",
          "[T54]") {
  constexpr std::uint64_t kSeed = 20261207;
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    World world;
    world.zones.clear();
    const auto count = 1 + random.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      world.zones.push_back({name, random.below(5) != 0, ""});
      world.populations[name] = random.below(4);
      if (random.below(4) == 0) {
        for (const char* machine : {"7", "8", "9"}) world.sick.note_failure(name, {machine}, 99 * kSecond);
      }
    }
    if (random.below(2) == 0) world.restrictions.push_back({"test", {"a", "c", "z"}});
    const auto possible = possible_zones(world.zones, world.restrictions);
    for (const std::string& name : possible)
      if (random.below(3) == 0) world.fail_in(name);
    const bool is_any_left = std::any_of(possible.begin(), possible.end(),
                                         [&](const auto& name) { return !world.tries.has_failed(name); });
    const auto choice = world.choose();
    REQUIRE(choice.has_value() == is_any_left);
    std::reverse(world.zones.begin(), world.zones.end());
    if (!choice) {
      CHECK(world.zone() == choice.error().message);
      continue;
    }
    CHECK(world.choose().value() == *choice);
    CHECK(std::count(possible.begin(), possible.end(), choice->zone) == 1);
    CHECK_FALSE(world.tries.has_failed(choice->zone));
    std::set<std::string> names;
    for (const ZoneCandidate& candidate : choice->candidates) {
      names.insert(candidate.zone);
      CHECK_FALSE((candidate.verdict != ZoneVerdict::possible && candidate.reason.empty()));
    }
    CHECK(names.size() == count);
    CHECK(choice->candidates.size() == count);
  }
}

TEST_CASE("a zone in which three machines failed is tried last, but still tried") {
  World world;
  world.populations = {{"b", 5}, {"c", 6}};
  for (const char* machine : {"7", "8", "9"}) world.sick.note_failure("a", {machine}, world.now.monotonic_ns);
  CHECK(world.zone() == "b");
  CHECK(world.choose()->candidates[2].reason ==
        "tried last: 3 machines failed here since 2027-01-15T08:00:00Z");
  CHECK(world.sick.find("a", world.now)->state() == "failing until 2027-01-15T08:01:00Z");
  world.fail_in("b");
  world.fail_in("c");
  CHECK(world.zone() == "a");
}

TEST_CASE("a zone is sick only after failures of three different machines within a minute") {
  SickZones sick;
  for (int i = 0; i < 5; ++i) sick.note_failure("a", {"1"}, i * kSecond);
  sick.note_failure("a", {"2"}, 6 * kSecond);
  CHECK_FALSE(sick.is_sick("a", 6 * kSecond));
  sick.note_failure("a", {"3"}, 67 * kSecond);  // both others are older than a minute
  CHECK_FALSE(sick.is_sick("a", 67 * kSecond));
  sick.note_failure("a", {"4"}, 68 * kSecond);
  sick.note_success("a");
  sick.note_failure("a", {"5"}, 69 * kSecond);
  CHECK_FALSE(sick.is_sick("a", 69 * kSecond));
  sick.note_failure("a", {"6"}, 70 * kSecond);
  sick.note_failure("a", {"7"}, 129 * kSecond);
  CHECK(sick.is_sick("a", 129 * kSecond));
  CHECK_FALSE(sick.is_sick("b", 129 * kSecond));
  sick.note_failure("", {"7"}, 129 * kSecond);
  CHECK_FALSE(sick.is_sick("", 129 * kSecond));
}

TEST_CASE("sickness doubles to ten minutes, is not made longer meanwhile, and a success ends it") {
  SickZones sick;
  std::int64_t now = 0;
  const auto fall_sick = [&] {
    for (const char* machine : {"1", "2", "3", "4"}) sick.note_failure("a", {machine}, now);
  };
  for (const std::int64_t seconds : {60, 120, 240, 480, 600, 600}) {
    fall_sick();
    CHECK(sick.is_sick("a", now + seconds * kSecond - 1));
    CHECK_FALSE(sick.is_sick("a", now + seconds * kSecond));
    now += seconds * kSecond;
  }
  fall_sick();
  sick.note_success("a");
  CHECK_FALSE(sick.is_sick("a", now));
  fall_sick();
  CHECK_FALSE(sick.is_sick("a", now + 60 * kSecond));
}

}  // namespace
}  // namespace slipway::provision
