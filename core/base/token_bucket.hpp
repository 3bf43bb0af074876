// SPDX-License-Identifier: Apache-2.0
// token_bucket.hpp - the request budget of one credential: so many a second, some saved up, less for a while
// after the cloud said "too many". Pure integer arithmetic on the times it is given (monotonic ns of one
// Clock), so nothing drifts and virtual time is exact.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace slipway {

// Starts full. A time before the latest one seen counts as the latest. Thread-safe.
class TokenBucket {
 public:
  // DESIGN 12. Each 1 to 1 000 000.
  struct Budget {
    std::uint32_t per_second = 20;
    std::uint32_t burst = 40;
  };
  struct Take {
    bool is_taken;
    std::int64_t at_ns;  // the time given if taken, else when a token will be there if nobody else takes it
  };

  explicit TokenBucket(Budget budget);

  // Takes a token if there is one.
  Take try_take(std::int64_t now_ns);
  // Takes a token now or the next one to come, and returns from when it may be spent: reservations queue in
  // the order of the calls. nullopt, and nothing taken, if that would be after latest_ns.
  std::optional<std::int64_t> reserve(std::int64_t now_ns, std::int64_t latest_ns);
  // The cloud answered 429: what was saved up is gone and the rate is halved, down to a 32nd of the budget;
  // it is back in full 60 s later, in 60 even steps. More answers within a second after that are of the same
  // event. Times already reserved stay.
  void on_throttled(std::int64_t now_ns);

  // Tokens a second at that time, for metrics.
  [[nodiscard]] double rate_per_second(std::int64_t now_ns) const;

 private:
  [[nodiscard]] std::int64_t rate_at(std::int64_t now_ns) const;
  [[nodiscard]] std::int64_t rate_ends_ns(std::int64_t now_ns) const;
  [[nodiscard]] std::int64_t time_of_next_ns() const;
  void advance_to(std::int64_t now_ns);

  // One token is 10^12 parts; a rate is parts in a ns, which is thousandths of a token in a second: both are
  // whole numbers, so that rate * time is exact.
  const std::int64_t full_rate_;
  const std::int64_t capacity_;
  mutable std::mutex level_mutex_;  // guards all below
  std::int64_t level_;              // at level_at_ns_; below 0 when tokens are reserved
  std::int64_t level_at_ns_ = 0;
  std::int64_t throttled_rate_;               // right after the last throttling
  std::optional<std::int64_t> throttled_at_;  // absent: full rate
};

}  // namespace slipway
