// SPDX-License-Identifier: Apache-2.0
// retry_test - exact counts of tries, the words of each state, delays.
#include "provision/retry.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <vector>

namespace slipway::provision {
namespace {

using model::BlockedReason;
using model::MachineState;
constexpr std::int64_t kNow = 1'800'000'000'000;

struct Script {
  RetryPolicy policy = {10, {std::chrono::seconds(10), std::chrono::minutes(5), 2.0, 0.0}};
  std::vector<std::string> zones = {};
  StartTries tries = {};
  SeededRandom random{1};

  RetryDecision fail(Consequence consequence, std::optional<std::int64_t> after = {}) {
    std::string zone;
    for (auto at = zones.rbegin(); at != zones.rend(); ++at)
      if (!tries.zones.has_failed(*at)) zone = *at;
    const Judgement judgement{Verdict::rejected, consequence, after};
    const auto out = after_failure(tries, {{"7"}, zone, "no host", judgement, zones}, policy, kNow, random);
    tries = out.tries;
    return out;
  }
  int calls_until_failed(Consequence consequence) {
    for (int calls = 1; calls < 1000; ++calls)
      if (fail(consequence).state == MachineState::failed) return calls;
    return -1;
  }
};

TEST_CASE("calls until the end are retries + 1, and with zones retries * zones + 1", "[T60][T61][T62]") {
  for (std::uint32_t retries = 0; retries <= 6; ++retries) {
    for (std::size_t count = 1; count <= 5; ++count) {
      CAPTURE(retries, count);
      Script script;
      Script independent;
      script.policy.tries = independent.policy.tries = retries + 1;
      for (std::size_t i = 0; i < count; ++i) script.zones.emplace_back(1, static_cast<char>('a' + i));
      independent.zones = script.zones;
      CHECK(script.calls_until_failed(Consequence::next_zone) == static_cast<int>(retries * count + 1));
      CHECK(script.tries.zones.is_empty());
      CHECK(independent.calls_until_failed(Consequence::retry) == static_cast<int>(retries + 1));
    }
  }
  Script three;
  three.policy.tries = 4;
  three.zones = {"a", "b", "c"};
  CHECK(three.calls_until_failed(Consequence::next_zone) == 10);
}

TEST_CASE("a zone-independent failure marks no zone", "[T62]") {
  Script script;
  script.zones = {"a", "b"};
  const auto out = script.fail(Consequence::retry);
  CHECK(out.tries.zones.is_empty());
  CHECK(out.tries.used == 1);
}

TEST_CASE("the messages of a retry are exact, in two zones with one retry", "[T76][T77][T78]") {
  Script script;
  script.policy.tries = 2;
  script.zones = {"a", "b"};
  const auto first = script.fail(Consequence::next_zone);
  CHECK(first.message ==
        "failed to start machine 7 in zone \"a\", retrying in 10s with new availability zone: no host");
  CHECK(first.tries.used == 0);
  CHECK(first.next_try_ms == kNow + 10'000);
  CHECK(first.state == MachineState::pending);
  const auto second = script.fail(Consequence::next_zone);
  CHECK(second.message == "failed to start machine 7 (no host), retrying in 10s (1 more attempts)");
  CHECK(second.tries.used == 1);
  const auto last = script.fail(Consequence::next_zone);
  CHECK(last.state == MachineState::failed);
  CHECK(last.message == "no host (2 tries used up; to try again: slipway machine retry 7)");
  CHECK(last.next_try_ms == 0);
  CHECK(last.is_transient);
  CHECK(last.tries.used == 2);
}

TEST_CASE("a failure in a cloud without zones that claims a zone uses up a try", "[T58]") {
  Script script;
  CHECK(script.fail(Consequence::next_zone).tries.used == 1);
}

TEST_CASE("delays double to five minutes, and what the cloud asks for is kept", "[T77]") {
  Script script;
  script.policy.tries = 100;
  for (const std::int64_t seconds : {10, 20, 40, 80, 160, 300, 300})
    CHECK(script.fail(Consequence::retry).next_try_ms == kNow + seconds * 1000);
  Script asked;
  const auto next = asked.fail(Consequence::back_off, 60'000).next_try_ms - kNow;
  CHECK(next >= 60'000);
  CHECK(next <= 72'000);
}

TEST_CASE("a cloud that does not answer never ends a machine, nor takes its last retry", "[T78]") {
  Script script;
  for (int i = 0; i < 500; ++i) {
    const auto out = script.fail(Consequence::back_off);
    REQUIRE(out.state == MachineState::pending);
    REQUIRE(out.next_try_ms <= kNow + 300'000);
  }
  CHECK(script.tries.used == 8);
  CHECK(script.fail(Consequence::retry).state == MachineState::pending);
  CHECK(script.fail(Consequence::retry).state == MachineState::failed);
  Script single;
  single.policy.tries = 1;
  CHECK(single.fail(Consequence::back_off).state == MachineState::pending);
}

TEST_CASE("what blocks uses no try and says why and until when") {
  Script script;
  const auto quota = script.fail(Consequence::blocked_quota);
  CHECK(quota.state == MachineState::blocked);
  CHECK(quota.blocked == BlockedReason::quota);
  CHECK(quota.next_try_ms >= kNow + 60'000);
  CHECK(quota.next_try_ms <= kNow + 72'000);
  CHECK(quota.message == "no host");
  const auto throttled = script.fail(Consequence::throttled, 2000);
  CHECK(throttled.blocked == BlockedReason::throttled);
  CHECK(throttled.next_try_ms >= kNow + 2000);
  CHECK(throttled.next_try_ms <= kNow + 2400);
  const auto huge = script.fail(Consequence::throttled, std::numeric_limits<std::int64_t>::max());
  CHECK(huge.next_try_ms <= kNow + 3'600'000 * 6 / 5);
  const auto credential = script.fail(Consequence::suspend_credential);
  CHECK(credential.blocked == BlockedReason::credential);
  CHECK(credential.next_try_ms == 0);
  CHECK(script.tries == StartTries{});
}

TEST_CASE("what cannot work is final at once, look-ups are dropped one time") {
  for (const Consequence consequence : {Consequence::fail, Consequence::unsupported}) {
    Script script;
    const auto out = script.fail(consequence);
    CHECK(out.state == MachineState::failed);
    CHECK_FALSE(out.is_transient);
    CHECK(out.message.rfind("no host (", 0) == 0);
  }
  Script script;
  const auto first = script.fail(Consequence::drop_lookups_once);
  CHECK(first.drop_lookups);
  CHECK(first.state == MachineState::pending);
  CHECK(first.next_try_ms == kNow);
  CHECK(first.tries.used == 0);
  CHECK(script.fail(Consequence::drop_lookups_once).state == MachineState::failed);
}

}  // namespace
}  // namespace slipway::provision
