// SPDX-License-Identifier: Apache-2.0
// store_sweep.hpp - what a crash or a kill leaves in <data>/plugins, for plugin_store.cpp. Thread rule: the
// store's lock is held.
#pragma once

#include "plugin/lock_file.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

inline constexpr std::string_view kStagingPrefix = ".staging-";

// Removes a plugin's directory, whose files and directories nobody may write (0444, 0555). Good if it is not
// there.
Status remove_tree(const std::string& path);

// Removes staging directories whose maker is gone, files that were to replace lock.json, and versions that it
// does not name and nobody has loaded. What does not look like ours stays. Returns the paths.
[[nodiscard]] Result<std::vector<std::string>> sweep_leftovers(const std::string& directory,
                                                               const LockFile& lock);

}  // namespace slipway::plugin
