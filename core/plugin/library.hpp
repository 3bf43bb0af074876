// SPDX-License-Identifier: Apache-2.0
// library.hpp - a plugin's shared object in this process. What is loaded stays until the process ends: its
// statics, thread-locals and exception types may be in use for ever, so there is no way to unload here. Runs
// the library's constructors: only for what trust.hpp let through, or in a child.
#pragma once

#include <slipway/abi.h>
#include <slipway/result.hpp>

#include <string>

namespace slipway::plugin {

// The plugin's table, from the first call on the same one for the same path. Errors name the file: invalid
// (not loadable, no entry, a table that is too short), unsupported (another ABI: what it was built for, what
// this host speaks, what to do). Thread-safe.
[[nodiscard]] Result<const slipway_plugin*> load_library(const std::string& path);

}  // namespace slipway::plugin
