// SPDX-License-Identifier: Apache-2.0
// clock.hpp - time as an interface, so that the same loop runs in real and in virtual time. Two times, never
// mixed: monotonic nanoseconds for waiting and deadlines (every `_ns`), UTC milliseconds for what people read
// (every `_ms`).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>

namespace slipway {

// Thread-safe in all implementations.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // Nanoseconds since an arbitrary start; never goes back.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  // Milliseconds since 1970-01-01 UTC; may jump when the machine's clock is set.
  [[nodiscard]] virtual std::int64_t utc_ms() const = 0;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override;
  [[nodiscard]] std::int64_t utc_ms() const override;
};

// Stands still until somebody moves it. For tests of things that only look at the time; what waits for the
// time uses VirtualExecutor (executor.hpp), which moves its own clock.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t utc_ms = 1'800'000'000'000) : utc_ns_(utc_ms * 1'000'000) {}

  [[nodiscard]] std::int64_t monotonic_ns() const override;
  [[nodiscard]] std::int64_t utc_ms() const override;
  // Moves both times forward; a negative step is a programmer error.
  void advance(std::chrono::nanoseconds step);
  // Sets the UTC time alone, as an operator or NTP does.
  void set_utc_ms(std::int64_t utc_ms);

 private:
  mutable std::mutex times_mutex_;  // guards both times
  std::int64_t monotonic_ns_ = 1'000'000'000;
  std::int64_t utc_ns_;  // in ns, so that steps below a millisecond add up
};

// A point on a clock's monotonic time after which nobody waits any more.
class Deadline {
 public:
  [[nodiscard]] static Deadline never() { return Deadline(std::numeric_limits<std::int64_t>::max()); }
  // A span that leaves the clock's range gives never().
  [[nodiscard]] static Deadline after(const Clock& clock, std::chrono::nanoseconds span);
  [[nodiscard]] static Deadline at_ns(std::int64_t monotonic_ns) { return Deadline(monotonic_ns); }

  [[nodiscard]] bool is_never() const { return at_ns_ == std::numeric_limits<std::int64_t>::max(); }
  [[nodiscard]] bool has_passed(const Clock& clock) const { return clock.monotonic_ns() >= at_ns_; }
  // What is left, at least 0; never() gives the largest span.
  [[nodiscard]] std::chrono::nanoseconds left(const Clock& clock) const;
  [[nodiscard]] std::int64_t ns() const { return at_ns_; }
  [[nodiscard]] Deadline sooner(Deadline other) const { return at_ns_ <= other.at_ns_ ? *this : other; }

  auto operator<=>(const Deadline&) const = default;

 private:
  explicit Deadline(std::int64_t at_ns) : at_ns_(at_ns) {}
  std::int64_t at_ns_;
};

}  // namespace slipway
