// SPDX-License-Identifier: Apache-2.0
// sandbox_root.cpp - a root directory with a handful of read-only mounts: what Landlock refuses to open is
// not even there, which also hides what Landlock does not cover (names, sockets in the file system, /proc).
// Thread rule: see sandbox.hpp.
#include "base/fs.hpp"
#include "plugin/sandbox_layers.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace slipway::plugin::detail {

namespace {

// Where the new root grows. It must exist; that it covers what was there does not matter, because copies of
// all mounts are taken before.
constexpr const char* kStage = "/proc";

struct Copy {
  const std::string* path;
  fs::FileDescriptor tree;
  bool is_directory;
};

bool is_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/';
}

// Read-only copies of the mounts at these paths, not attached anywhere yet. The paths are sorted, so what
// lies below another follows it and is left out.
Result<std::vector<Copy>> copy_mounts(const std::vector<std::string>& paths) {
  std::vector<Copy> copies;
  for (const auto& path : paths) {
    if (!copies.empty() && copies.back().is_directory && is_below(path, *copies.back().path)) continue;
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;
    fs::FileDescriptor tree(
        open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (!tree.is_open()) return fs::error_of(errno, "copying the mount of", path);
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    if (mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0) {
      return fs::error_of(errno, "making read-only the mount of", path);
    }
    copies.push_back({&path, std::move(tree), S_ISDIR(info.st_mode)});
  }
  return copies;
}

// A directory or an empty file to mount on, with the directories above it.
bool make_mount_point(const std::string& path, bool is_directory) {
  for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  if (is_directory) return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  return fs::FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444)).is_open();
}

}  // namespace

Result<std::string> enter_private_root(const std::vector<std::string>& paths) {
  // What is mounted here must not show outside; and pivot_root refuses shared mounts.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fs::error_of(errno, "making private", "/");
  }
  SLIPWAY_TRY(const auto copies, copy_mounts(paths));
  if (mount("tmpfs", kStage, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=0755") != 0) {
    return fs::error_of(errno, "mounting a tmpfs on", kStage);
  }
  for (const auto& copy : copies) {
    const std::string point = kStage + *copy.path;
    if (!make_mount_point(point, copy.is_directory)) return fs::error_of(errno, "making", point);
    if (move_mount(copy.tree.get(), "", AT_FDCWD, point.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      return fs::error_of(errno, "mounting", point);
    }
  }
  // The old root comes to lie over the new one, and is then taken away.
  if (chdir(kStage) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
      chdir("/") != 0) {
    return fs::error_of(errno, "changing the root to", kStage);
  }
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0) {
    return fs::error_of(errno, "making read-only", "/");
  }
  return "private root";
}

}  // namespace slipway::plugin::detail
