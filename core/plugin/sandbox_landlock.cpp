// SPDX-License-Identifier: Apache-2.0
// sandbox_landlock.cpp - Landlock by its system calls: Debian 12 has no library for it, and its headers end
// at version 2 of seven. Thread rule: see sandbox.hpp.
#include "base/fs.hpp"
#include "plugin/sandbox_layers.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace slipway::plugin::detail {

namespace {

// The kernel's struct landlock_ruleset_attr as of version 6. Older kernels take it when the members that they
// do not know are 0.
struct RulesetAttributes {
  std::uint64_t handled_access_fs;   // since 1
  std::uint64_t handled_access_net;  // since 4
  std::uint64_t scoped;              // since 6
};

constexpr std::uint64_t kBindTcp = 1U << 0U;
constexpr std::uint64_t kConnectTcp = 1U << 1U;
constexpr std::uint64_t kAbstractSockets = 1U << 0U;
constexpr std::uint64_t kSignals = 1U << 1U;

// Rights are numbered from 0 as they were added: execute to make_sym, refer, truncate, ioctl_dev.
constexpr std::uint64_t known_file_rights(long version) {
  const unsigned count = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return (1ULL << count) - 1;
}

// A path that does not exist needs no rule.
Status allow_reading(int ruleset, const std::string& path) {
  const fs::FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return ok();
    return fs::error_of(errno, "opening", path);
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return fs::error_of(errno, "examining", path);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
  if (S_ISDIR(info.st_mode)) rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
  rule.parent_fd = file.get();
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return fs::error_of(errno, "allowing to read", path);
  }
  return ok();
}

}  // namespace

Result<std::string> restrict_by_landlock(const std::vector<std::string>& paths, bool forbid_tcp) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return fs::error_of(errno, "asking for the version of", "landlock");

  RulesetAttributes attributes{};
  attributes.handled_access_fs = known_file_rights(version);
  if (version >= 4 && forbid_tcp) attributes.handled_access_net = kBindTcp | kConnectTcp;
  if (version >= 6) attributes.scoped = kAbstractSockets | kSignals;
  const fs::FileDescriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset.is_open()) return fs::error_of(errno, "making a ruleset of", "landlock");
  for (const auto& path : paths) SLIPWAY_TRY(allow_reading(ruleset.get(), path));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return fs::error_of(errno, "entering a ruleset of", "landlock");
  }
  return message("landlock {}", version);
}

}  // namespace slipway::plugin::detail
