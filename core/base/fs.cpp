// SPDX-License-Identifier: Apache-2.0
#include "base/fs.hpp"

#include "base/crash.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace slipway::fs {
namespace {

constexpr mode_t kModeBits = 07777;

// The call until no signal interrupts it.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
      return Code::conflict;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return Code::exhausted;
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
      return Code::invalid;
    default:
      return Code::unavailable;
  }
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string octal(mode_t mode) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04o", static_cast<unsigned>(mode));
  return buffer.data();
}

// "uid 1000 (anna)"
std::string user_text(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return is_known ? message("uid {} ({})", uid, found->pw_name) : message("uid {}", uid);
}

// A word that a shell takes as it is.
std::string shell_word(std::string_view text) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_safe)) return std::string(text);
  std::string out = "'";
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

Status sync_directory(const std::string& path) {
  const FileDescriptor directory(
      retried([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!directory.is_open()) return error_of(errno, "opening", path);
  if (retried([&] { return fsync(directory.get()); }) != 0) return error_of(errno, "syncing", path);
  return ok();
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = retried([&] { return write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return error_of(errno, "writing", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

// Fills the file that mkostemp made and puts it in its place.
Status fill_and_rename(FileDescriptor file, const std::string& aside, const std::string& path,
                       std::string_view bytes, mode_t mode) {
  if (fchmod(file.get(), mode) != 0) return error_of(errno, "setting the mode of", aside);
  SLIPWAY_TRY(write_all(file.get(), bytes, aside));
  if (retried([&] { return fsync(file.get()); }) != 0) return error_of(errno, "syncing", aside);
  if (const int error = file.close(); error != 0) return error_of(error, "closing", aside);
  if (rename(aside.c_str(), path.c_str()) != 0) return error_of(errno, "replacing", path);
  return ok();
}

struct OpenFile {
  FileDescriptor file;
  struct stat info {};
};

// Opens a regular file for reading. O_NONBLOCK: a FIFO must not hold us up before we can refuse it.
Result<OpenFile> open_regular(const std::string& path) {
  OpenFile opened{FileDescriptor(
      retried([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); }))};
  if (!opened.file.is_open()) return error_of(errno, "opening", path);
  if (fstat(opened.file.get(), &opened.info) != 0) return error_of(errno, "examining", path);
  if (!S_ISREG(opened.info.st_mode)) return fail(Code::invalid, "reading {}: expected a regular file", path);
  return opened;
}

// Reads one byte more than allowed to see that there is more; the size that fstat tells may change or, in
// /proc and /sys, be 0.
Result<std::string> read_all(const OpenFile& opened, const std::string& path, std::size_t max_bytes) {
  std::string bytes;
  std::size_t filled = 0;
  const auto told = static_cast<std::size_t>(std::max<off_t>(0, opened.info.st_size));
  while (filled <= max_bytes) {
    if (filled == bytes.size()) {
      const std::size_t wanted = filled == 0 ? told + 1 : std::max<std::size_t>(4096, 2 * filled);
      bytes.resize(std::min(wanted, max_bytes + 1));
    }
    const ssize_t count =
        retried([&] { return read(opened.file.get(), bytes.data() + filled, bytes.size() - filled); });
    if (count < 0) return error_of(errno, "reading", path);
    if (count == 0) {
      bytes.resize(filled);
      return bytes;
    }
    filled += static_cast<std::size_t>(count);
  }
  return fail(Code::invalid, "reading {}: expected at most {} bytes, it has more", path, max_bytes);
}

Status check_owner_and_mode(const struct stat& info, const std::string& path, std::string_view what,
                            std::optional<mode_t> exact_mode) {
  if (const uid_t own = geteuid(); info.st_uid != 0 && info.st_uid != own) {
    const std::string wanted = own == 0 ? user_text(0) : user_text(0) + " or " + user_text(own);
    return fail(Code::denied, "{} {}: the owner is {}, expected {}; run: chown {} {}", what, path,
                user_text(info.st_uid), wanted, own, shell_word(path));
  }
  const mode_t mode = info.st_mode & kModeBits;
  if (exact_mode && mode != *exact_mode) {
    return fail(Code::denied, "{} {}: the mode is {}, expected {}; run: chmod {} {}", what, path, octal(mode),
                octal(*exact_mode), octal(*exact_mode), shell_word(path));
  }
  if (!exact_mode && (mode & 0022U) != 0) {
    return fail(Code::denied,
                "{} {}: the mode is {}, expected that only the owner may write; run: chmod go-w {}", what,
                path, octal(mode), shell_word(path));
  }
  return ok();
}

// "pid 4711 (slipwayd)" as the holder wrote it into the lock file; between its lock and its writing, or when
// it cannot be read, "another process".
std::string holder_of(int fd) {
  std::array<char, 32> buffer{};
  const ssize_t count = retried([&] { return pread(fd, buffer.data(), buffer.size(), 0); });
  const std::string_view pid =
      text::trim(std::string_view(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count))));
  const bool is_number =
      !pid.empty() && std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return "another process";
  const auto comm = read_file(message("/proc/{}/comm", pid), 64);
  return comm ? message("pid {} ({})", pid, text::escaped(text::trim(*comm))) : message("pid {}", pid);
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

FileDescriptor::~FileDescriptor() { close(); }

// Not repeated after EINTR: on Linux the descriptor is gone by then.
int FileDescriptor::close() noexcept {
  if (!is_open()) return 0;
  return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno;
}

Error error_of(int error_number, std::string_view doing, std::string_view path) {
  return fail(code_of(error_number), "{} {}: {}", doing, path, std::generic_category().message(error_number));
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  SLIPWAY_TRY(const OpenFile opened, open_regular(path));
  return read_all(opened, path, max_bytes);
}

Status write_file_atomically(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string directory = parent_of(path);
  std::string aside = directory + "/.slipway-XXXXXX";
  FileDescriptor file(mkostemp(aside.data(), O_CLOEXEC));
  if (!file.is_open()) return error_of(errno, "making a file beside", path);
  if (auto status = fill_and_rename(std::move(file), aside, path, bytes, mode); !status) {
    unlink(aside.c_str());
    return status;
  }
  return sync_directory(directory);
}

Status make_directory(const std::string& path, mode_t mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return ok();
    return fail(Code::invalid, "making directory {}: a file has this name", path);
  }
  if (errno != ENOENT) return error_of(errno, "examining", path);

  const std::string parent = parent_of(path);
  if (parent != path && parent != ".") SLIPWAY_TRY(make_directory(parent, mode));
  if (mkdir(path.c_str(), mode) != 0) {
    // Somebody made it meanwhile, or the path ends in a slash and the parent was the same directory.
    if (errno == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return ok();
    return error_of(errno, "making directory", path);
  }
  // mkdir obeys the umask.
  if (chmod(path.c_str(), mode) != 0) return error_of(errno, "setting the mode of", path);
  return sync_directory(parent);
}

Status check_private(const std::string& path, std::string_view what, std::optional<mode_t> exact_mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return error_of(errno, "examining", path);
  return check_owner_and_mode(info, path, what, exact_mode);
}

Result<std::string> read_private_file(const std::string& path, std::string_view what, std::size_t max_bytes,
                                      std::optional<mode_t> exact_mode) {
  SLIPWAY_TRY(const OpenFile opened, open_regular(path));
  SLIPWAY_TRY(check_owner_and_mode(opened.info, path, what, exact_mode));
  return read_all(opened, path, max_bytes);
}

Result<FileLock> FileLock::try_lock(const std::string& path) {
  FileDescriptor file(retried(
      [&] { return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600); }));
  if (!file.is_open()) return error_of(errno, "opening lock file", path);
  if (retried([&] { return flock(file.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return error_of(errno, "locking", path);
    return fail(Code::conflict, "{} is locked by {}", path, holder_of(file.get()));
  }
  if (ftruncate(file.get(), 0) != 0) return error_of(errno, "emptying", path);
  SLIPWAY_TRY(write_all(file.get(), std::to_string(getpid()) + "\n", path));
  return FileLock(std::move(file));
}

}  // namespace slipway::fs
