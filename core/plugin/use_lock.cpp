// SPDX-License-Identifier: Apache-2.0
#include "plugin/use_lock.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxLockTable = 4U << 20U;

// "process 4711 (slipwayd)" for each that holds a flock on the inode, by /proc/locks. The device is not
// compared: for overlay and btrfs the kernel lists another one than stat tells.
std::string holders_of(ino_t inode) {
  const auto table = fs::read_file("/proc/locks", kMaxLockTable);
  if (!table) return "another process";
  const std::string suffix = message(":{}", inode);
  std::string out;
  for (const std::string_view line : text::split(*table, '\n')) {
    // 1: FLOCK  ADVISORY  READ 4711 08:01:123456 0 EOF
    std::vector<std::string_view> words;
    for (const std::string_view word : text::split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.size() < 6 || words[1] != "FLOCK" || !words[5].ends_with(suffix)) continue;
    const auto comm = fs::read_file(message("/proc/{}/comm", words[4]), 64);
    out += message("{}process {}{}", out.empty() ? "" : ", ", words[4],
                   comm ? message(" ({})", text::escaped(text::trim(*comm))) : "");
  }
  return out.empty() ? "another process" : out;
}

Result<fs::FileDescriptor> lock_directory(const std::string& path, int operation,
                                          std::string_view otherwise) {
  fs::FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open()) return fs::error_of(errno, "opening", path);
  struct stat info {};
  if (fstat(directory.get(), &info) != 0) return fs::error_of(errno, "examining", path);
  while (flock(directory.get(), operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fs::error_of(errno, "locking", path);
    return fail(Code::conflict, "{} {} {}", path, otherwise, holders_of(info.st_ino));
  }
  // It may have been removed between open and flock.
  if (fstat(directory.get(), &info) != 0 || info.st_nlink == 0) return fs::error_of(ENOENT, "opening", path);
  return directory;
}

}  // namespace

Result<UseLock> UseLock::share(const std::string& directory) {
  SLIPWAY_TRY(fs::FileDescriptor held, lock_directory(directory, LOCK_SH, "is being changed by"));
  return UseLock(std::move(held));
}

Result<UseLock> UseLock::own(const std::string& directory) {
  SLIPWAY_TRY(fs::FileDescriptor held, lock_directory(directory, LOCK_EX, "is in use by"));
  return UseLock(std::move(held));
}

}  // namespace slipway::plugin
