// SPDX-License-Identifier: Apache-2.0
// isolated.hpp - an instance of a plugin in a child process (slipway-plugin-host), behind a socket: what the
// plugin does to its process, it does to itself alone.
#pragma once

#include "plugin/channel.hpp"
#include "plugin/sandbox.hpp"
#include "plugin/spawner.hpp"

#include <memory>
#include <string>

namespace slipway::plugin {

struct Isolation {
  std::string program;  // path of slipway-plugin-host
  SandboxSpec sandbox;
  Spawner& spawner;
  Executor& helpers;  // where a new process is waited for, some milliseconds; runs until `opened` has come
};

// Starts the child, which loads the library behind its sandbox and makes the instance; `opened` comes on
// spec.completions. A child that is not ready in 10 s is killed: `unavailable`.
void open_isolated(OpenSpec spec, Isolation isolation, Done<std::unique_ptr<Channel>> opened);

}  // namespace slipway::plugin
