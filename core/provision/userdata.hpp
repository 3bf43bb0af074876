// SPDX-License-Identifier: Apache-2.0
// userdata.hpp - what cloud-init gets: Slipway's part and the user's in one, written by encoders and never by
// putting pieces of text together. Pure: the same input, the same bytes, because attempts hash their request.
#pragma once

#include <slipway/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::provision {

inline constexpr std::size_t kMaxUserPart = 256 * 1024;  // bytes; no cloud takes as much

struct UserDataInput {
  std::string hostname;
  std::vector<std::string> ssh_keys;  // "TYPE BASE64 COMMENT"
  std::string http_proxy;             // empty: none; these four
  std::string https_proxy;
  std::string no_proxy;
  std::string apt_proxy;
  bool refresh_packages = false;  // the lists of packages, at the first boot
  bool upgrade_packages = false;
  std::string nonce;              // proves to the controller that the agent runs on what this attempt made
  std::string user_part;          // empty, #cloud-config, or a script (#!)
  std::size_t max_bytes = 16384;  // the plugin's max_user_data_bytes
  bool accepts_gzip = false;
};

// One cloud-config, or MIME parts if the user's part is a script; gzip only if it would be too large
// otherwise and the cloud takes it. invalid: the member and what is wrong, in YAML with line and column; what
// is too large, with both sizes.
[[nodiscard]] Result<std::string> make_user_data(const UserDataInput& input);

}  // namespace slipway::provision
