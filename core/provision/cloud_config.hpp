// SPDX-License-Identifier: Apache-2.0
// cloud_config.hpp - the user's cloud-config laid over Slipway's by an allow-list. Pure.
#pragma once

#include "provision/userdata.hpp"
#include "provision/yaml_tree.hpp"

namespace slipway::provision {

// Where the agent's nonce lies on the machine; nothing of the user's may be written below it.
inline constexpr std::string_view kAgentDirectory = "/var/lib/slipway";

// Slipway's own part.
[[nodiscard]] Yaml own_cloud_config(const UserDataInput& input);

// Slipway's part and the user's. Lists of both are joined (in write_files ours is last), ssh keys each once;
// "default" is kept among the users, since the ssh keys go to it; maps of apt are merged, else the user's
// value wins. invalid: a key that would cost the machine's reachability or Slipway's own part, or that is not
// known, with the reason.
[[nodiscard]] Result<Yaml> merge_cloud_config(Yaml own, Yaml users);

}  // namespace slipway::provision
