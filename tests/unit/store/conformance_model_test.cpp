// SPDX-License-Identifier: Apache-2.0
// conformance_model_test.cpp - random transactions in random groups, with faults, crashes and power cuts
// between them, against the naive reference. A failure prints the seed; SLIPWAY_SEED=N repeats it alone.
#include "support/log_capture.hpp"
#include "support/store_fixture.hpp"
#include "support/store_reference.hpp"

#include <cstdlib>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;

namespace {

constexpr int kGroups = 40;

class Walk {
 public:
  Walk(Backend& backend, StoreFixture& fixture, std::uint64_t seed)
      : backend_(backend), fixture_(fixture), random_(seed) {}

  void run() {
    for (int i = 0; i < kGroups; ++i) {
      step();
      const std::uint64_t dice = random_.below(20);
      if (dice == 0) fixture_.reopen();
      if (dice == 1) fixture_.crash_and_reopen();
      if (dice == 2) fixture_.lose_power_and_reopen();
      compare();
    }
    std::vector<std::string> words;
    for (const Change& change : fixture_.changes_after({0}, 1 + random_.below(9))) {
      words.push_back(message("{} {} {}", change.op, change.entity, change.id));
    }
    CHECK(words == said_);
  }

 private:
  // One group: what each member should be told, by the reference; then what it was told.
  void step() {
    next_ = reference_;
    std::vector<std::string> words;
    std::vector<ReferenceTxn> group(1 + random_.below(3));
    std::vector<bool> is_allowed;
    std::vector<store::Txn> txns;
    for (ReferenceTxn& txn : group) {
      txn = reference_.random_txn(random_);
      txns.push_back(to_txn(txn));
      is_allowed.push_back(next_.apply(txn, ReferenceState::kNotKnown, words));
    }
    const bool is_any_allowed = std::find(is_allowed.begin(), is_allowed.end(), true) != is_allowed.end();
    std::optional<CommitFault> fault;
    if (is_any_allowed && random_.below(6) == 0) fault = static_cast<CommitFault>(random_.below(3));
    if (fault) backend_.fail_next_commit(*fault);

    const auto ends = fixture_.commit_group(std::move(txns));
    if (fault) return check_failed(*fault, ends, is_allowed, words);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      REQUIRE(ends[i].has_value() == is_allowed[i]);
      if (!ends[i]) {
        CHECK(ends[i].error().code == Code::conflict);
        continue;
      }
      CHECK(*ends[i] > newest_);
      newest_ = *ends[i];
      REQUIRE(reference_.apply(group[i], newest_, said_));
    }
  }

  void check_failed(CommitFault fault, const std::vector<StoreFixture::Committed>& ends,
                    const std::vector<bool>& is_allowed, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
      REQUIRE_FALSE(ends[i]);
      CHECK(ends[i].error().code == Code::unavailable);
      const bool is_unknown = fault != CommitFault::refused && is_allowed[i];
      CHECK(ends[i].error().outcome == (is_unknown ? Outcome::unknown : Outcome::rejected));
    }
    const Snapshot shown = fixture_->snapshot();
    CHECK(shown.revision >= newest_);
    if (!reference_.difference(shown) && shown.revision == newest_) return;
    REQUIRE(fault != CommitFault::refused);
    const auto wrong = next_.difference(shown);
    if (wrong) FAIL("neither the state before nor the one after: " << *wrong);
    reference_ = next_;
    reference_.adopt_revisions(shown);
    newest_ = shown.revision;
    said_.insert(said_.end(), words.begin(), words.end());
  }

  void compare() {
    const auto wrong = reference_.difference(fixture_->snapshot());
    if (wrong) FAIL(*wrong);
    CHECK(fixture_->snapshot().revision == newest_);
  }

  Backend& backend_;
  StoreFixture& fixture_;
  SeededRandom random_;
  ReferenceState reference_;
  ReferenceState next_;
  std::vector<std::string> said_;
  Revision newest_;
};

template <class B>
void walk(std::uint64_t seeds) {
  const LogCapture log;
  const char* chosen = std::getenv("SLIPWAY_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  const std::uint64_t last = chosen != nullptr ? first : seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    INFO("SLIPWAY_SEED=" << seed);
    store::StoreSettings settings;
    settings.recent_changes = seed % 2 == 0 ? 5 : 1000;
    B backend;
    StoreFixture fixture(backend, settings);
    fixture.reopen();
    Walk(backend, fixture, seed).run();
  }
}

}  // namespace

TEST_CASE("random transactions with faults end as the reference says, in memory", "[conformance]") {
  walk<MemoryBackend>(200);
}

TEST_CASE("random transactions with faults end as the reference says, on SQLite", "[conformance]") {
  walk<SqliteBackend>(std::getenv("SLIPWAY_LONG") != nullptr ? 200 : 20);
}
