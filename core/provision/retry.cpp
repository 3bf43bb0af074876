// SPDX-License-Identifier: Apache-2.0
// retry.cpp - the arithmetic of tries. Pure but for the random number.
#include "provision/retry.hpp"

#include "base/crash.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace slipway::provision {
namespace {

using model::BlockedReason;
using model::MachineState;

constexpr std::int64_t kLongestAskedMs = 3'600'000;

// Whole seconds where that is exact enough: "10s", "1m", not "10234ms".
std::string delay_text(std::int64_t ms) {
  return text::format_duration_ms(ms < 1000 ? ms : (ms + 500) / 1000 * 1000);
}

struct Turn {
  StartTries tries;
  const StartFailure& failure;
  const RetryPolicy& policy;
  std::int64_t now_ms;
  Random& random;

  RetryDecision fail_for_good(bool is_transient) {
    RetryDecision out;
    out.tries = {std::min(policy.tries, tries.used + 1), tries.failures};  // no zones: row T64
    out.state = MachineState::failed;
    out.is_transient = is_transient;
    out.message = is_transient ? message("{} ({} tries used up; to try again: slipway machine retry {})",
                                         failure.words, out.tries.used, failure.machine)
                               : message(
                                     "{} (tried again when its constraints or the configuration change, or: "
                                     "slipway machine retry {})",
                                     failure.words, failure.machine);
    return out;
  }

  RetryDecision blocked(BlockedReason reason, std::int64_t next_try_ms) {
    RetryDecision out;
    out.tries = std::move(tries);
    out.state = MachineState::blocked;
    out.blocked = reason;
    out.next_try_ms = next_try_ms;
    out.message = failure.words;
    return out;
  }

  // The cloud's own delay, bounded, and later by up to a fifth so that not all come at once.
  std::int64_t asked_ms(std::int64_t otherwise) {
    const std::int64_t asked =
        std::clamp<std::int64_t>(failure.judgement.retry_after_ms.value_or(otherwise), 0, kLongestAskedMs);
    return asked + std::llround(static_cast<double>(asked) * 0.2 * random.unit());
  }

  std::int64_t backoff_ms() {
    const auto grown = std::chrono::duration_cast<std::chrono::milliseconds>(
                           policy.backoff.delay(std::max(tries.failures, 1U), random))
                           .count();
    return failure.judgement.retry_after_ms ? std::max(grown, asked_ms(0)) : grown;
  }

  RetryDecision again(std::int64_t delay_ms, std::string words) {
    RetryDecision out;
    out.tries = std::move(tries);
    out.next_try_ms = now_ms + delay_ms;
    out.message = std::move(words);
    return out;
  }

  // Row T76, second form. More attempts: the tries that are left.
  RetryDecision again_with_a_try() {
    ++tries.failures;
    const std::int64_t delay_ms = backoff_ms();
    return again(delay_ms,
                 message("failed to start machine {} ({}), retrying in {} ({} more attempts)",
                         failure.machine, failure.words, delay_text(delay_ms), policy.tries - tries.used));
  }

  [[nodiscard]] std::uint32_t retries_left() const {
    return tries.used + 1 < policy.tries ? policy.tries - 1 - tries.used : 0;
  }

  RetryDecision retry() {
    if (retries_left() == 0) return fail_for_good(true);
    ++tries.used;
    return again_with_a_try();
  }

  // A cloud that is away takes tries but the last retry, and so never the chance of those who come after it.
  RetryDecision back_off() {
    if (retries_left() > 1) ++tries.used;
    return again_with_a_try();
  }

  RetryDecision next_zone() {
    if (retries_left() == 0) return fail_for_good(true);
    const auto is_zone_left = tries.zones.note_failure(failure.zone, failure.possible_zones);
    if (!is_zone_left || !*is_zone_left) return retry();
    // Another zone is another cause: the delay does not grow.
    const std::int64_t delay_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(policy.backoff.delay(1, random)).count();
    return again(
        delay_ms,
        message("failed to start machine {} in zone \"{}\", retrying in {} with new availability zone: {}",
                failure.machine, failure.zone, delay_text(delay_ms), failure.words));
  }

  RetryDecision drop_lookups() {
    if (tries.has_dropped_lookups) return fail_for_good(false);
    tries.has_dropped_lookups = true;
    RetryDecision out =
        again(0, message("{} (types, zones and images are asked for anew and it is tried once "
                         "more)",
                         failure.words));
    out.drop_lookups = true;
    return out;
  }
};

}  // namespace

RetryDecision after_failure(StartTries tries, const StartFailure& failure, const RetryPolicy& policy,
                            std::int64_t now_ms, Random& random) {
  SLIPWAY_ASSERT(policy.tries >= 1);
  Turn turn{std::move(tries), failure, policy, now_ms, random};
  switch (failure.judgement.consequence) {
    case Consequence::none:
      return turn.again(0, "");
    case Consequence::fail:
    case Consequence::unsupported:
      return turn.fail_for_good(false);
    case Consequence::suspend_credential:
      return turn.blocked(BlockedReason::credential, 0);
    case Consequence::next_zone:
      return turn.next_zone();
    case Consequence::blocked_quota:
      return turn.blocked(BlockedReason::quota, now_ms + turn.asked_ms(policy.quota_probe.count()));
    case Consequence::throttled:
      return turn.blocked(BlockedReason::throttled, now_ms + turn.asked_ms(0));
    case Consequence::back_off:
      return turn.back_off();
    case Consequence::retry:
      return turn.retry();
    case Consequence::drop_lookups_once:
      return turn.drop_lookups();
  }
  SLIPWAY_ASSERT_MSG(false, "a consequence that is not there");
  return {};
}

}  // namespace slipway::provision
