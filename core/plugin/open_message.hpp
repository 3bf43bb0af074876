// SPDX-License-Identifier: Apache-2.0
// open_message.hpp - the first frame to a child and its answer. Both ends are of one build. Values.
#pragma once

#include "plugin/channel.hpp"
#include "plugin/sandbox.hpp"

#include <string>
#include <vector>

namespace slipway::plugin {

BOOST_DESCRIBE_STRUCT(SandboxLimits, (), (memory_bytes, open_files))
BOOST_DESCRIBE_STRUCT(SandboxSpec, (), (profile, mode, readable_paths, limits))

struct OpenMessage {
  std::string library;
  SandboxSpec sandbox;
  unsigned threads = 4;
  std::uint64_t table_number = 0;
  CreateMessage create;
};
BOOST_DESCRIBE_STRUCT(OpenMessage, (), (library, sandbox, threads, table_number, create))

// The body of `done` with id 0, when the instance is made.
struct OpenedMessage {
  std::string description;  // the manifest
  std::vector<std::string> layers;
  std::vector<std::string> missing;
};
BOOST_DESCRIBE_STRUCT(OpenedMessage, (), (description, layers, missing))

}  // namespace slipway::plugin
