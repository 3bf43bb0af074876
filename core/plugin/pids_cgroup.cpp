// SPDX-License-Identifier: Apache-2.0
// pids_cgroup.cpp - cgroup v2, and the pids hierarchy of v1 where v2 has no pids controller (hybrid).
// Thread-safe.
#include "plugin/pids_cgroup.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>

namespace slipway::plugin {

namespace {

constexpr const char* kCgroupRoot = "/sys/fs/cgroup";
constexpr std::size_t kMaxProcFile = 64 * 1024;

struct OwnCgroup {
  std::string directory;
  bool is_v2 = true;
};

// A file of the kernel: one write, never created.
Status write_control(const std::string& path, std::string_view value) {
  const fs::FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return fs::error_of(errno, "opening", path);
  if (write(file.get(), value.data(), value.size()) < 0) return fs::error_of(errno, "writing", path);
  return ok();
}

// Lines of /proc/self/cgroup are HIERARCHY:CONTROLLERS:PATH; v2 is "0::PATH".
std::optional<std::string> path_in(std::string_view memberships, std::string_view controllers) {
  for (const std::string_view line : text::split(memberships, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    if (line.substr(first + 1, second - first - 1) == controllers)
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

Result<OwnCgroup> own_cgroup() {
  SLIPWAY_TRY(const auto memberships, fs::read_file("/proc/self/cgroup", kMaxProcFile));
  struct statfs info {};
  const bool is_v2 = statfs(kCgroupRoot, &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
  const auto path = path_in(memberships, is_v2 ? "" : "pids");
  if (!path) return fail(Code::unsupported, "no pids controller in /proc/self/cgroup");
  const std::string below = *path == "/" ? "" : *path;
  return OwnCgroup{std::string(kCgroupRoot) + (is_v2 ? "" : "/pids") + below, is_v2};
}

bool is_delegated(const std::string& directory) {
  std::array<char, 8> value{};
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    if (getxattr(directory.c_str(), name, value.data(), value.size()) == 1 && value[0] == '1') return true;
  }
  return false;
}

// The names are PREFIX, pid of the maker, "-", number.
pid_t maker_of(const std::string& name) { return std::atoi(name.c_str() + kPidsCgroupPrefix.size()); }

template <class Wanted>
void remove_those_in(const std::string& directory, Wanted wanted) noexcept {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kPidsCgroupPrefix) && wanted(name)) remove_pids_cgroup(at->path().string());
  }
}

// What makers left that were killed. An empty cgroup of one that lives may be about to be entered.
void remove_abandoned(const std::string& directory) noexcept {
  remove_those_in(directory, [](const std::string& name) {
    const pid_t maker = maker_of(name);
    return maker > 0 && kill(maker, 0) != 0 && errno == ESRCH;
  });
}

}  // namespace

Result<std::string> make_pids_cgroup(unsigned max_processes) {
  static std::atomic<unsigned> count{0};
  SLIPWAY_TRY(const auto own, own_cgroup());
  const bool has_systemd = access("/run/systemd/system", F_OK) == 0;
  if (has_systemd && !(own.is_v2 && is_delegated(own.directory))) {
    return fail(Code::unsupported, "{} belongs to systemd; the unit needs Delegate=yes", own.directory);
  }
  if (own.is_v2) SLIPWAY_TRY(write_control(own.directory + "/cgroup.subtree_control", "+pids"));

  static std::once_flag swept;
  std::call_once(swept, [&own] { remove_abandoned(own.directory); });
  const std::string directory =
      message("{}/{}{}-{}", own.directory, kPidsCgroupPrefix, getpid(), count.fetch_add(1));
  if (mkdir(directory.c_str(), 0755) != 0) return fs::error_of(errno, "making cgroup", directory);
  if (auto limited = write_control(directory + "/pids.max", std::to_string(max_processes)); !limited) {
    remove_pids_cgroup(directory);
    return std::move(limited).error();
  }
  return directory;
}

void remove_pids_cgroup(const std::string& directory) noexcept {
  // Of a child that made children and was killed.
  remove_those_in(directory, [](const std::string&) { return true; });
  rmdir(directory.c_str());
}

}  // namespace slipway::plugin
