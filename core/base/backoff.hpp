// SPDX-License-Identifier: Apache-2.0
// backoff.hpp - how long to wait before the next try. Immutable; the count of tries is kept by the caller, in
// a row where it must survive a restart.
#pragma once

#include "base/random.hpp"

#include <chrono>

namespace slipway {

// first, first*factor, first*factor^2, … up to cap; each spread evenly by ±jitter, so that what failed
// together does not come back together.
struct Backoff {
  std::chrono::nanoseconds first;
  std::chrono::nanoseconds cap;  // at most 365 days; before the jitter
  double factor = 2.0;           // at least 1
  double jitter = 0.2;           // in [0, 1): a part of the delay

  // The delay after `tries` failures in a row, at least 1.
  [[nodiscard]] std::chrono::nanoseconds delay(unsigned tries, Random& random) const;
};

// DESIGN 12.
inline constexpr Backoff kStartBackoff{std::chrono::seconds(10), std::chrono::minutes(5)};
inline constexpr Backoff kPluginRestartBackoff{std::chrono::seconds(1), std::chrono::seconds(60)};

}  // namespace slipway
