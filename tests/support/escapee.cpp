// SPDX-License-Identifier: Apache-2.0
// escapee.cpp - a child that confines itself as a plugin's host does and then tries one thing that a plugin
// must not be able to do (or must), for tests of the sandbox.
//   escapee PROFILE ATTEMPT OWN_DIRECTORY OUTSIDE_DIRECTORY PARENT_PID
// To the channel it writes the layers it got and, after a line feed, the reason of a refusal. Exit code: 0 it
// could, 1 it was refused, 2 there is no sandbox, 3 there is no such attempt. An attempt is harmless where
// nothing stops it: what would change the machine has arguments that the kernel refuses after it has looked
// at who asks.
#include "base/text.hpp"
#include "escapee_attempts.hpp"
#include "plugin/sandbox.hpp"
#include "plugin/spawner.hpp"

#include <boost/describe/enum_from_string.hpp>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

using namespace slipway;

namespace {

void tell(const std::string& text) {
  if (write(plugin::kChannelFd, text.data(), text.size()) < 0) std::_Exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  plugin::SandboxSpec spec;
  if (argc != 6 || !boost::describe::enum_from_string(argv[1], spec.profile)) return 3;
  const testing::Surroundings around{argv[3], argv[4], std::atoi(argv[5])};
  const auto* attempt = testing::find_attempt(argv[2]);
  if (attempt == nullptr) return 3;

  spec.mode = plugin::SandboxMode::best_effort;
  spec.readable_paths = {around.own};
  spec.limits.memory_bytes = testing::kMemoryLimit;
  const auto report = plugin::enter_sandbox(spec);
  if (!report) {
    tell(report.error().message);
    return 2;
  }
  tell(text::join(report->layers, ", ") + "|" + text::join(report->missing, "; ") + "\n");
  const int error = attempt->run(around);
  if (error == 0) return 0;
  tell(std::strerror(error));
  return 1;
}
