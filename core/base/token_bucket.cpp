// SPDX-License-Identifier: Apache-2.0
// token_bucket.cpp - the rate is constant within a step of its recovery, so levels and times are sums over at
// most 60 steps, in whole numbers. Thread-safe.
#include "base/token_bucket.hpp"

#include "base/crash.hpp"

#include <algorithm>
#include <limits>

namespace slipway {

namespace {

constexpr std::int64_t kToken = 1'000'000'000'000;
constexpr std::int64_t kStepNs = 1'000'000'000;
constexpr std::int64_t kSteps = 60;
constexpr std::int64_t kLowestRatePart = 32;
constexpr std::uint32_t kLargest = 1'000'000;  // keeps the capacity below 2^63 parts

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

TokenBucket::TokenBucket(Budget budget)
    : full_rate_(std::int64_t{budget.per_second} * 1000),
      capacity_(std::int64_t{budget.burst} * kToken),
      level_(capacity_),
      throttled_rate_(full_rate_) {
  SLIPWAY_ASSERT(budget.per_second >= 1 && budget.per_second <= kLargest);
  SLIPWAY_ASSERT(budget.burst >= 1 && budget.burst <= kLargest);
}

std::int64_t TokenBucket::rate_at(std::int64_t now_ns) const {
  if (!throttled_at_) return full_rate_;
  const std::int64_t steps = std::min((now_ns - *throttled_at_) / kStepNs, kSteps);
  return throttled_rate_ + (full_rate_ - throttled_rate_) * steps / kSteps;
}

// Until when rate_at(now_ns) holds, not included.
std::int64_t TokenBucket::rate_ends_ns(std::int64_t now_ns) const {
  if (!throttled_at_) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t steps = (now_ns - *throttled_at_) / kStepNs;
  if (steps >= kSteps) return std::numeric_limits<std::int64_t>::max();
  return *throttled_at_ + (steps + 1) * kStepNs;
}

void TokenBucket::advance_to(std::int64_t now_ns) {
  while (level_at_ns_ < now_ns) {
    const std::int64_t rate = rate_at(level_at_ns_);
    const std::int64_t span = std::min(now_ns, rate_ends_ns(level_at_ns_)) - level_at_ns_;
    // Compared before the multiplication, which a long span would overflow.
    const bool fills = span >= divide_up(capacity_ - level_, rate);
    level_ = fills ? capacity_ : level_ + rate * span;
    level_at_ns_ += span;
  }
}

// When the level reaches one token, from level_at_ns_ on.
std::int64_t TokenBucket::time_of_next_ns() const {
  std::int64_t at_ns = level_at_ns_;
  std::int64_t missing = kToken - level_;
  while (missing > 0) {
    const std::int64_t rate = rate_at(at_ns);
    const std::int64_t needed = divide_up(missing, rate);
    const std::int64_t span = std::min(needed, rate_ends_ns(at_ns) - at_ns);
    at_ns += span;
    if (span == needed) break;
    missing -= rate * span;
  }
  return at_ns;
}

TokenBucket::Take TokenBucket::try_take(std::int64_t now_ns) {
  const std::lock_guard lock(level_mutex_);
  advance_to(now_ns);
  if (level_ < kToken) return {false, time_of_next_ns()};
  level_ -= kToken;
  return {true, now_ns};
}

std::optional<std::int64_t> TokenBucket::reserve(std::int64_t now_ns, std::int64_t latest_ns) {
  const std::lock_guard lock(level_mutex_);
  advance_to(now_ns);
  const std::int64_t at_ns = level_ >= kToken ? now_ns : time_of_next_ns();
  if (at_ns > latest_ns) return std::nullopt;
  level_ -= kToken;
  return at_ns;
}

void TokenBucket::on_throttled(std::int64_t now_ns) {
  const std::lock_guard lock(level_mutex_);
  advance_to(now_ns);
  if (throttled_at_ && level_at_ns_ - *throttled_at_ < kStepNs) return;
  throttled_rate_ = std::max(rate_at(level_at_ns_) / 2, full_rate_ / kLowestRatePart);
  throttled_at_ = level_at_ns_;
  level_ = std::min<std::int64_t>(level_, 0);
}

double TokenBucket::rate_per_second(std::int64_t now_ns) const {
  const std::lock_guard lock(level_mutex_);
  return static_cast<double>(rate_at(std::max(now_ns, level_at_ns_))) / 1000.0;
}

}  // namespace slipway
