// SPDX-License-Identifier: Apache-2.0
// fault_vfs_test.cpp - every call that the store makes to its disk fails once, and for good: no crash without
// a message, no wrong state, no acknowledged commit lost, and a store that works when the disk does again. A
// sample in the usual run; SLIPWAY_LONG=1 takes every call.
#include "support/log_capture.hpp"
#include "support/store_fixture.hpp"
#include "support/store_ledger.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>
#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;

namespace {

constexpr std::uint64_t kCommits = 24;

bool is_long() { return std::getenv("SLIPWAY_LONG") != nullptr; }

// One life of a store, with a clean end, a crash and a power cut in it. Whatever fails has to say why.
class Script {
 public:
  // Runs it on a new disk; `plan` from the start.
  explicit Script(const std::optional<FaultPlan>& plan) : fixture_(backend_) {
    if (plan) backend_.disk().arm(*plan);
    for (std::uint64_t n = 0; n < kCommits; ++n) {
      if (n == kCommits / 3) fixture_.close();
      if (n == 2 * kCommits / 3) crash();
      if (is_open()) commit(n);
    }
    faults_ = backend_.disk().faults();
    calls_ = count_calls();
    heal_and_check();
  }

  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  [[nodiscard]] const std::array<std::uint64_t, 9>& calls() const { return calls_; }

 private:
  bool is_open() {
    if (fixture_.is_open()) return true;
    const Status opened = fixture_.open();
    if (opened) {
      look();
    } else {
      CHECK_THAT(opened.error().message, Catch::Contains("slipway.db") || Catch::Contains("unavailable"));
    }
    return opened.has_value();
  }

  void commit(std::uint64_t n) {
    const Snapshot now = fixture_->snapshot();
    ledger_.begin(n, now);
    const auto end = fixture_.commit(StoreLedger::transaction(n, now));
    ledger_.end(end);
    if (!end) CHECK_FALSE(end.error().message.empty());
    look();
  }

  void look() {
    if (fixture_->status().health == store::Health::failed) {
      CHECK_FALSE(fixture_->status().message.empty());
      return;
    }
    const auto wrong = ledger_.look(fixture_->snapshot());
    if (wrong) FAIL(*wrong);
  }

  // The process dies and starts again; the disk goes on as it was.
  void crash() {
    backend_.disk().kill();
    fixture_.close();
    backend_.disk().revive();
  }

  std::array<std::uint64_t, 9> count_calls() {
    std::array<std::uint64_t, 9> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = backend_.disk().calls(static_cast<DiskCall>(i));
    return counts;
  }

  void heal_and_check() {
    fixture_.close();
    backend_.disk().disarm();
    fixture_.reopen();
    look();
    commit(kCommits);
    fixture_.lose_power_and_reopen();
    look();
    const auto wrong = StoreLedger::check_changes(fixture_.changes_after({0}), fixture_->snapshot());
    if (wrong) FAIL(*wrong);
    CHECK(fixture_->status().health == store::Health::ok);
  }

  SqliteBackend backend_;
  StoreFixture fixture_;
  StoreLedger ledger_;
  std::uint64_t faults_ = 0;
  std::array<std::uint64_t, 9> calls_{};
};

// Runs the script with each of `total` calls of the kind failing, or with `sample` of them.
void fail_each(DiskCall call, DiskFault fault, std::uint64_t total, std::uint64_t sample) {
  const std::uint64_t step = is_long() ? 1 : std::max<std::uint64_t>(1, total / sample);
  std::uint64_t runs = 0;
  for (std::uint64_t nth = 1; nth <= total; nth += step) {
    for (const bool for_good : {false, true}) {
      FaultPlan plan{call, nth, for_good, fault};
      INFO(message("{} {} of {}, {}: {}", call, nth, total, for_good ? "for good" : "once", fault));
      const Script script(plan);
      CHECK(script.faults() > 0);
      ++runs;
    }
  }
  std::cout << message("{} {}: {} runs for {} calls\n", call, fault, runs, total) << std::flush;
}

}  // namespace

TEST_CASE("every call to the disk fails once and for good, and no commit that was acknowledged is lost",
          "[faults]") {
  const LogCapture log;
  const auto calls = Script(std::nullopt).calls();
  const auto total = [&](DiskCall call) { return calls[static_cast<std::size_t>(call)]; };
  REQUIRE(total(DiskCall::write) > 200);
  REQUIRE(total(DiskCall::sync) > 25);
  fail_each(DiskCall::open, DiskFault::io_error, total(DiskCall::open), 5);
  fail_each(DiskCall::read, DiskFault::io_error, total(DiskCall::read), 6);
  fail_each(DiskCall::read, DiskFault::cut_short, total(DiskCall::read), 6);
  fail_each(DiskCall::write, DiskFault::io_error, total(DiskCall::write), 9);
  fail_each(DiskCall::write, DiskFault::full, total(DiskCall::write), 9);
  fail_each(DiskCall::write, DiskFault::cut_short, total(DiskCall::write), 9);
  fail_each(DiskCall::sync, DiskFault::io_error, total(DiskCall::sync), 8);
  fail_each(DiskCall::truncate, DiskFault::io_error, total(DiskCall::truncate), 2);
  fail_each(DiskCall::remove, DiskFault::io_error, total(DiskCall::remove), 1);
  fail_each(DiskCall::stat, DiskFault::io_error, total(DiskCall::stat), 5);
  fail_each(DiskCall::lock, DiskFault::io_error, total(DiskCall::lock), 4);
  fail_each(DiskCall::shm, DiskFault::io_error, total(DiskCall::shm), 2);
}
