// SPDX-License-Identifier: Apache-2.0
// clock.cpp - the machine's clock, the fake one, and the arithmetic of deadlines, which saturates instead of
// overflowing. Thread-safe.
#include "base/clock.hpp"

#include "base/crash.hpp"

#include <algorithm>
#include <ctime>

namespace slipway {

namespace {

std::int64_t read_ns(clockid_t id) {
  timespec now{};
  SLIPWAY_ASSERT(::clock_gettime(id, &now) == 0);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// a - b for a deadline a and a time b, kept inside the type.
std::int64_t saturated_difference(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

std::int64_t SystemClock::monotonic_ns() const { return read_ns(CLOCK_MONOTONIC); }

std::int64_t SystemClock::utc_ms() const { return read_ns(CLOCK_REALTIME) / 1'000'000; }

std::int64_t FakeClock::monotonic_ns() const {
  const std::lock_guard lock(times_mutex_);
  return monotonic_ns_;
}

std::int64_t FakeClock::utc_ms() const {
  const std::lock_guard lock(times_mutex_);
  return utc_ns_ / 1'000'000;
}

void FakeClock::advance(std::chrono::nanoseconds step) {
  SLIPWAY_ASSERT(step.count() >= 0);
  const std::lock_guard lock(times_mutex_);
  monotonic_ns_ += step.count();
  utc_ns_ += step.count();
}

void FakeClock::set_utc_ms(std::int64_t utc_ms) {
  const std::lock_guard lock(times_mutex_);
  utc_ns_ = utc_ms * 1'000'000;
}

Deadline Deadline::after(const Clock& clock, std::chrono::nanoseconds span) {
  std::int64_t at_ns = 0;
  if (!__builtin_add_overflow(clock.monotonic_ns(), span.count(), &at_ns)) return Deadline(at_ns);
  return span.count() > 0 ? never() : Deadline(std::numeric_limits<std::int64_t>::min());
}

std::chrono::nanoseconds Deadline::left(const Clock& clock) const {
  if (is_never()) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(
      std::max<std::int64_t>(0, saturated_difference(at_ns_, clock.monotonic_ns())));
}

}  // namespace slipway
