// SPDX-License-Identifier: Apache-2.0
// sandbox.hpp - what a plugin's child process shuts itself into before it loads the plugin (SECURITY 4). The
// namespaces come from the spawner, which makes the child in them; everything else is done here, by the
// child, because it needs what exec gives: a dumpable process, a heap, one thread. Thread rule: called once,
// in main, before there is another thread.
#pragma once

#include <slipway/messages/manifest.hpp>
#include <slipway/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace slipway::plugin {

// plugins.sandbox: whether a plugin runs where a layer of its sandbox cannot be had.
enum class SandboxMode { require, best_effort };
BOOST_DESCRIBE_ENUM(SandboxMode, require, best_effort)

struct SandboxLimits {
  std::uint64_t memory_bytes = 1ULL << 30U;  // RLIMIT_DATA: heap, stacks of threads, private mappings
  std::uint32_t open_files = 256;
};

struct SandboxSpec {
  Profile profile = Profile::pure;
  SandboxMode mode = SandboxMode::require;
  // Absolute: the plugin's directory; what the loader needs is added.
  std::vector<std::string> readable_paths = {};
  SandboxLimits limits = {};
};

// For people: "user namespace", "landlock 7", "seccomp"; of what is missing, with the reason.
struct SandboxReport {
  std::vector<std::string> layers;
  std::vector<std::string> missing;
};
BOOST_DESCRIBE_STRUCT(SandboxReport, (), (layers, missing))

// From now on this process can do what its profile says:
//   pure    reads `readable_paths` and the loader's files; has memory, threads, clocks, pipes and the
//           descriptors it was given
//   net     also TCP and UDP over IPv4 and IPv6, with the files that name resolution and TLS read
//   system  everything: no layer that its machines would inherit
// Afterwards: a system call that a plugin's library may try is refused with EPERM, one that is unknown here
// answers ENOSYS (libraries then fall back), one that only an attack makes kills (SIGSYS). Call it once; when
// it fails the process must end, it may be half confined. unsupported: a layer cannot be had and the mode is
// `require`.
[[nodiscard]] Result<SandboxReport> enter_sandbox(const SandboxSpec& spec);

}  // namespace slipway::plugin
