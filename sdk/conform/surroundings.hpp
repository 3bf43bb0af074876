// SPDX-License-Identifier: Apache-2.0
// surroundings.hpp - what a request to make something must name, chosen as the core would: type, image, zone,
// subnet. Values.
#pragma once

#include "conform/bench.hpp"

#include <string>

namespace slipway::conform {

struct Surroundings {
  std::string type;
  Hardware hardware;
  std::string image;
  std::string zone;
  std::string subnet;
};

// Asks the plugin: the smallest type, an image that fits, the first zone that is available.
[[nodiscard]] Result<Surroundings> look_around(const Bench& bench, Subject& subject);
// Where there is no cloud to ask.
[[nodiscard]] Surroundings made_up_surroundings();

}  // namespace slipway::conform
