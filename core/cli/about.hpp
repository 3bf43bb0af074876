// SPDX-License-Identifier: Apache-2.0
// about.hpp - the nouns with which the command speaks about itself: version, help, manual, completion. No
// daemon.
#pragma once

#include "cli/command.hpp"

#include <string_view>
#include <vector>

namespace slipway::cli {

inline constexpr std::string_view kPurpose =
    "makes the machines that you ask for, keeps them, removes them without a trace";

[[nodiscard]] std::string_view version();       // "0.1.0"
[[nodiscard]] std::string_view build();         // "release": the kind of build, lower case
[[nodiscard]] std::string_view release_date();  // "December 1, 2026", for the manual

[[nodiscard]] std::vector<Noun> about_nouns();
// Lets the arguments of help and manual be completed and checked: the names of all nouns.
void add_noun_names(Commands& commands);

}  // namespace slipway::cli
