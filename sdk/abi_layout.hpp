// SPDX-License-Identifier: Apache-2.0
// abi_layout.hpp - abi.h as lines of text, one for each constant, struct and member, so that it can be
// recorded and an edit judged. The assertions in abi.h hold the numbers; this also holds types, signatures
// and constants, and tells growth from breakage. Thread rule: free functions without state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::sdk {

// "constant NAME VALUE", "struct NAME SIZE", "member STRUCT.NAME OFFSET TYPE", "type NAME TYPE".
[[nodiscard]] std::string abi_layout();

// What in `compiled` a plugin or a host that was compiled by `recorded` cannot live with, each with what a
// compatible edit would be. Empty: it only grew, as the comment at the head of abi.h allows.
[[nodiscard]] std::vector<std::string> abi_incompatibilities(std::string_view recorded,
                                                             std::string_view compiled);

}  // namespace slipway::sdk
