// SPDX-License-Identifier: Apache-2.0
#include "provision/sighting.hpp"

#include "provision/harvest.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>

using namespace slipway;
using namespace slipway::provision;
using model::AttemptPhase;
using model::HarvestMode;

namespace {

struct Fixture {
  Fixture() {
    environment.id = {1};
    environment.name = "prod";
    snapshot.controller.uuid = "7f3a9c21-0b1c-4d2e-8f3a-111111111111";
  }

  Nonce attempt(AttemptPhase phase, std::string provider_id = "", std::int64_t environment_id = 1) {
    auto row = std::make_shared<model::Attempt>();
    row->nonce = Nonce::make(random);
    row->environment = {environment_id};
    row->machine = {std::to_string(seq)};
    row->seq = seq++;
    row->phase = phase;
    row->provider_id = std::move(provider_id);
    snapshot.put<model::Attempt>(row);
    return row->nonce;
  }
  // As the cloud shows what was made for the nonce.
  Item item(std::string id, const Nonce& nonce) {
    const auto row = snapshot.find<model::Attempt>(nonce);
    Item out;
    out.id = std::move(id);
    out.marker = markers.make(row ? row->machine : model::MachineId{"77"}, nonce);
    out.created_ms = 1;
    return out;
  }
  Sighting sighting(const Item& seen) const { return sight(snapshot, environment, markers, seen); }

  SeededRandom random{5};
  std::int64_t seq = 0;
  model::Snapshot snapshot;
  model::Environment environment;
  Markers markers{*Key32::from_bytes(std::string(32, 'k')), MarkerKind::labels,
                  "7f3a9c21-0b1c-4d2e-8f3a-111111111111", "a1b2c3d4-0b1c-4d2e-8f3a-222222222222"};
};

struct Harvested : Fixture {
  // One of each class, old enough and seen twice.
  Harvested() {
    add(item("mine", attempt(AttemptPhase::created, "mine")));
    add(item("claimable", attempt(AttemptPhase::sent)));
    add(item("duplicate", attempt(AttemptPhase::created, "another")));
    add(item("abandoned", attempt(AttemptPhase::abandoned)));
    add(item("rejected", attempt(AttemptPhase::rejected)));
    add(item("gone", attempt(AttemptPhase::gone, "gone")));
    add(item("orphan", Nonce::make(random)));
    add(item("released", attempt(AttemptPhase::released, "released")));
    Item forged = item("forged", attempt(AttemptPhase::abandoned));
    forged.marker["slipway-signature"] = "aaaaaaaaaaaaaaaa";
    add(forged);
    Item foreign;
    foreign.id = "foreign";
    add(foreign);
  }
  void add(Item one) {
    items.push_back(std::move(one));
    seen.push_back({items.back(), sighting(items.back()), 2, 0, false});
  }
  Seen& at(std::string_view id) {
    return *std::find_if(seen.begin(), seen.end(), [&](const Seen& s) { return s.item.id == id; });
  }
  Harvest plan(HarvestMode mode, bool is_complete = true) const {
    return plan_harvest(seen, is_complete, mode, timings, cap, now_ms);
  }

  std::deque<Item> items;  // `seen` refers to them
  std::vector<Seen> seen;
  Timings timings;
  HarvestCap cap;
  std::int64_t now_ms = 1 + timings.harvest_age.count();
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Fixture, "what a resource is to us follows from its signature and its attempt's row") {
  struct Case {
    AttemptPhase phase;
    std::string row_id;
    Ownership same;   // as an item of the row's id
    Ownership other;  // of another id
  };
  const auto c = GENERATE(values<Case>({
      {AttemptPhase::sent, "", Ownership::claimable, Ownership::claimable},
      {AttemptPhase::created, "a", Ownership::mine, Ownership::duplicate},
      {AttemptPhase::deleting, "a", Ownership::mine, Ownership::duplicate},
      {AttemptPhase::released, "a", Ownership::released, Ownership::duplicate},
      {AttemptPhase::gone, "a", Ownership::collectable, Ownership::collectable},
      {AttemptPhase::abandoned, "", Ownership::collectable, Ownership::collectable},
      {AttemptPhase::rejected, "", Ownership::collectable, Ownership::collectable},
  }));
  const Nonce nonce = attempt(c.phase, c.row_id);
  const Sighting same = sighting(item("a", nonce));
  CHECK(same.ownership == c.same);
  CHECK(same.nonce == nonce);
  REQUIRE(same.attempt);
  CHECK(same.machine == same.attempt->machine);
  CHECK(sighting(item("b", nonce)).ownership == c.other);
}

TEST_CASE_METHOD(Fixture,
                 "a nonce that no row knows is an orphan; the row of another environment does not count") {
  CHECK(sighting(item("a", Nonce::make(random))).ownership == Ownership::orphan);
  CHECK(sighting(item("a", attempt(AttemptPhase::abandoned, "", 2))).ownership == Ownership::orphan);
}

TEST_CASE_METHOD(Fixture, "a wrong signature is unverified whatever our rows say, and names no machine") {
  Item forged = item("a", attempt(AttemptPhase::created, "a"));
  forged.marker["slipway-machine"] = "9";
  const Sighting seen = sighting(forged);
  CHECK(seen.ownership == Ownership::unverified);
  CHECK_FALSE(seen.machine);
  CHECK_FALSE(seen.attempt);
  forged.marker.erase("slipway-nonce");
  CHECK(sighting(forged).ownership == Ownership::unverified);
  forged.marker.erase("slipway-environment");
  CHECK(sighting(forged).ownership == Ownership::foreign);
}

TEST_CASE("of two for one nonce the older one is kept, then the smaller id") {
  Item a;
  Item b;
  a.id = "a";
  b.id = "b";
  CHECK(is_older(a, b));
  CHECK_FALSE(is_older(b, a));
  a.created_ms = 2;
  b.created_ms = 1;
  CHECK(is_older(b, a));
}

TEST_CASE_METHOD(Harvested, "what is collected follows from mode and class", "[T33][T34][T35][T36][T39]") {
  const Ids evidenced = {"duplicate", "abandoned", "rejected", "gone"};
  const Ids all = {"duplicate", "abandoned", "rejected", "gone", "orphan"};
  CHECK(plan(HarvestMode::none).remove.empty());
  CHECK(plan(HarvestMode::destroyed).remove == evidenced);
  CHECK(plan(HarvestMode::unknown).remove == all);
  CHECK(plan(HarvestMode::all).remove == all);
}

TEST_CASE_METHOD(Harvested, "what is ours and stays is named with the reason; what is foreign is not",
                 "[T36][T42]") {
  const Harvest none = plan(HarvestMode::none);
  REQUIRE(none.left.size() == 6);  // the five classes that could go, and the forged one
  const Harvest destroyed = plan(HarvestMode::destroyed);
  REQUIRE(destroyed.left.size() == 2);
  CHECK(destroyed.left[0].id == "orphan");
  CHECK_THAT(destroyed.left[0].why, Catch::Contains("adopt, release or delete"));
  CHECK(destroyed.left[1].id == "forged");
  for (const auto mode :
       {HarvestMode::none, HarvestMode::destroyed, HarvestMode::unknown, HarvestMode::all}) {
    const Harvest out = plan(mode);
    for (const char* id : {"released", "mine", "claimable", "foreign"}) {
      CHECK(std::count(out.remove.begin(), out.remove.end(), id) == 0);
    }
    CHECK(std::count(out.remove.begin(), out.remove.end(), "forged") == 0);
  }
}

TEST_CASE_METHOD(Harvested, "each guard rail alone holds an instance back") {
  REQUIRE(plan(HarvestMode::all).remove.size() == 5);
  CHECK(plan(HarvestMode::all, false).remove.empty());

  at("orphan").is_protected = true;
  CHECK(plan(HarvestMode::all).remove.size() == 4);
  at("gone").complete_listings = 1;
  CHECK(plan(HarvestMode::all).remove.size() == 3);
  now_ms -= 1;
  CHECK(plan(HarvestMode::all).remove.empty());
}

TEST_CASE_METHOD(Harvested,
                 "where the cloud does not say when it was made, age counts from the first sight") {
  items.clear();
  seen.clear();
  Item undated = item("a", attempt(AttemptPhase::abandoned));
  undated.created_ms = 0;
  add(undated);
  seen[0].first_seen_ms = now_ms - timings.harvest_age.count() + 1;
  CHECK(plan(HarvestMode::all).remove.empty());
  seen[0].first_seen_ms -= 1;
  CHECK(plan(HarvestMode::all).remove == Ids{"a"});
}

TEST_CASE_METHOD(Harvested, "more than the cap at once is nothing but a question") {
  CHECK_FALSE(plan(HarvestMode::all).is_over_cap);  // 5 of 8
  add(item("sixth", attempt(AttemptPhase::gone)));
  CHECK(plan(HarvestMode::all).is_over_cap);
  for (int i = 0; i < 51; ++i) {
    const std::string id = "m" + std::to_string(i);
    add(item(id, attempt(AttemptPhase::created, id)));
  }
  CHECK_FALSE(plan(HarvestMode::all).is_over_cap);  // 6 of 60
  add(item("seventh", attempt(AttemptPhase::gone)));
  CHECK(plan(HarvestMode::all).is_over_cap);
}
