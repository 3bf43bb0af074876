// SPDX-License-Identifier: Apache-2.0
// pids_cgroup.hpp - a limit to the number of processes of a `system` child, which may fork: a cgroup of its
// own below this process's. Only where cgroups are ours to make: the root cgroup of a machine without
// systemd, or one that systemd delegated (Delegate=yes). Thread-safe: free functions.
#pragma once

#include <slipway/result.hpp>

#include <string>
#include <string_view>

namespace slipway::plugin {

// The last part of its path begins so; for whoever looks into /proc/PID/cgroup.
constexpr std::string_view kPidsCgroupPrefix = "slipway-plugin-";

// Makes one with at most `max_processes` in it and returns its directory. The first call removes those of
// processes that were killed. unsupported: with the reason.
[[nodiscard]] Result<std::string> make_pids_cgroup(unsigned max_processes);

// Stays when something that the child started still lives in it.
void remove_pids_cgroup(const std::string& directory) noexcept;

}  // namespace slipway::plugin
