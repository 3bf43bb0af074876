// SPDX-License-Identifier: Apache-2.0
// backoff.cpp - growing, capped, jittered delays. Pure but for the random number.
#include "base/backoff.hpp"

#include "base/crash.hpp"

#include <algorithm>
#include <cmath>

namespace slipway {

std::chrono::nanoseconds Backoff::delay(unsigned tries, Random& random) const {
  SLIPWAY_ASSERT(tries >= 1);
  SLIPWAY_ASSERT(first.count() > 0 && cap >= first && cap <= std::chrono::hours(365 * 24));
  SLIPWAY_ASSERT(factor >= 1.0 && jitter >= 0.0 && jitter < 1.0);
  // The power may be infinite; the cap takes that too.
  const double grown = static_cast<double>(first.count()) * std::pow(factor, tries - 1);
  const double capped = std::min(grown, static_cast<double>(cap.count()));
  const double spread = 1.0 - jitter + 2.0 * jitter * random.unit();
  return std::chrono::nanoseconds(std::llround(capped * spread));
}

}  // namespace slipway
