// SPDX-License-Identifier: Apache-2.0
// sandbox_layers.hpp - the layers of enter_sandbox(), one file each, for sandbox.cpp and spawner.cpp only.
// Each returns its name for people, or why it cannot be had. Thread rule: enter_sandbox's.
#pragma once

#include <slipway/messages/manifest.hpp>
#include <slipway/result.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace slipway::plugin::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
constexpr bool kHasSanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasSanitizer = false;
#endif

// What abort() becomes in process 1 of a pid namespace, which the kernel does not let a SIGABRT of its own
// end.
constexpr int kAbortExitCode = 128 + SIGABRT;

// "UID GID" of the parent, which a new user namespace cannot tell; enter_sandbox() takes it out of the
// environment.
constexpr const char* kOuterIdsVariable = "SLIPWAY_OUTER_IDS";

// A root directory that holds these paths alone, read-only. Needs a mount namespace and CAP_SYS_ADMIN in its
// user namespace. Paths that do not exist are left out.
[[nodiscard]] Result<std::string> enter_private_root(const std::vector<std::string>& paths);

// Landlock: these paths may be read and nothing else, nothing executed; no signal and no abstract socket
// leads out; with `forbid_tcp` no TCP either. As much of it as the kernel knows.
[[nodiscard]] Result<std::string> restrict_by_landlock(const std::vector<std::string>& paths,
                                                       bool forbid_tcp);

// The system calls of the profile, pure or net; for every thread of the process.
[[nodiscard]] Result<std::string> filter_system_calls(Profile profile);

}  // namespace slipway::plugin::detail
