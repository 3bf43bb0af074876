// SPDX-License-Identifier: Apache-2.0
// choice.hpp - what was decided for an attempt and why, as it is stored in model::Attempt::choice for
// `machine explain`. Pure.
#pragma once

#include "provision/types.hpp"
#include "provision/zones.hpp"

#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <boost/describe/class.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::provision {

struct ImageCandidate {
  std::string id;
  std::string reason;

  bool operator==(const ImageCandidate&) const = default;
};
BOOST_DESCRIBE_STRUCT(ImageCandidate, (), (id, reason))

// The plugin resolves images (images.resolve), so the core has candidates only where the plugin names some.
struct ImageChoice {
  std::string id;
  std::string description;  // "Ubuntu 24.04 amd64"
  Arch arch = Arch::unknown;
  std::uint64_t min_mem_mib = 0;
  std::uint64_t min_disk_mib = 0;
  std::string reason;
  std::vector<ImageCandidate> candidates;
  std::uint64_t more_candidates = 0;  // that were cut to store it

  bool operator==(const ImageChoice&) const = default;
};
BOOST_DESCRIBE_STRUCT(ImageChoice, (),
                      (id, description, arch, min_mem_mib, min_disk_mib, reason, candidates, more_candidates))

struct Choice {
  TypeChoice type;
  ImageChoice image;
  ZoneChoice zone;

  bool operator==(const Choice&) const = default;
};
BOOST_DESCRIBE_STRUCT(Choice, (), (type, image, zone))

// A row's bound: a machine has an attempt for each try, and they stay.
inline constexpr std::size_t kChoiceMaxBytes = 16 * 1024;

// JSON of at most kChoiceMaxBytes. What is longer loses candidates from the ends of its longest lists, which
// more_candidates counts, and then the ends of its texts: it is for people, a request is never made from it.
[[nodiscard]] std::string encode_choice(Choice choice);

// invalid: not such a text. An empty text is an empty choice.
[[nodiscard]] Result<Choice> decode_choice(std::string_view text);

}  // namespace slipway::provision
