// SPDX-License-Identifier: Apache-2.0
// settings.hpp - what the provisioner of an environment is given to go by: times and limits. Defaults are
// those of DESIGN 12 and EXACTLY_ONCE. Values.
#pragma once

#include <chrono>
#include <cstddef>

namespace slipway::provision {

using std::chrono::milliseconds;

// The times of EXACTLY_ONCE. A request that was given up may still take effect until `late_bound` after
// create_timeout, and be absent from listings for another `visibility_lag`.
struct Timings {
  milliseconds create_timeout{30'000};       // of a create, from its attempt's commit
  milliseconds late_bound{60'000};           // D
  milliseconds visibility_lag{30'000};       // V
  milliseconds building_limit{20 * 60'000};  // a server that builds for longer is deleted and tried again
  milliseconds down_after{3 * 60'000};       // missing from complete listings for so long,
  unsigned down_listings = 3;                // or from so many, is down
  milliseconds harvest_age{10 * 60'000};     // younger instances are never collected
  milliseconds stop_again{10'000};           // for what is still there so long after an accepted deletion
};

// How much is collected in one pass: at most max(least, percent of the environment's instances).
struct HarvestCap {
  std::size_t least = 5;
  unsigned percent = 10;
};

}  // namespace slipway::provision
