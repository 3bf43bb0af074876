// SPDX-License-Identifier: Apache-2.0
// in_process.hpp - an instance of a plugin in this process: calls run on a pool of its own, its completions
// arrive where no plugin code runs, and what hangs for ever is written off instead of waited for.
#pragma once

#include "plugin/channel.hpp"

#include <memory>

namespace slipway::plugin {

// Loads the library if it is not, and makes the instance; `opened` comes on spec.completions. Constructors of
// the library and create() run in this process: only for what trust.hpp let through, or in a child.
//   pool: where calls run; nullptr: spec.threads threads of the channel's own, which a plugin may block. An
//     executor that is given outlives the channel (the simulation gives its virtual one).
// A create() that does not end in 5 s is written off: `unavailable`.
void open_in_process(OpenSpec spec, Executor* pool, Done<std::unique_ptr<Channel>> opened);

}  // namespace slipway::plugin
