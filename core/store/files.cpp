// SPDX-License-Identifier: Apache-2.0
#include "store/files.hpp"

#include "base/fs.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

namespace slipway::store::files {
namespace {

using fs::FileDescriptor;

Result<FileDescriptor> open_new(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return fs::error_of(errno, "making", path);
  return file;
}

Status copy_bytes(const FileDescriptor& from, const FileDescriptor& to, const std::string& path) {
  constexpr std::size_t kChunk = std::size_t{1} << 20U;
  for (;;) {
    const ssize_t count = ::sendfile(to.get(), from.get(), nullptr, kChunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs::error_of(errno, "writing", path);
    if (count == 0) return ok();
  }
}

}  // namespace

Status sync(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return fs::error_of(errno, "opening", path);
  if (::fsync(file.get()) != 0) return fs::error_of(errno, "syncing", path);
  return ok();
}

Status create(const std::string& path) {
  SLIPWAY_TRY(open_new(path));
  return sync(parent(path));
}

Status copy(const std::string& from, const std::string& to) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return fs::error_of(errno, "opening", from);
  SLIPWAY_TRY(FileDescriptor target, open_new(to));
  Status end = copy_bytes(source, target, to);
  if (end && ::fsync(target.get()) != 0) end = fs::error_of(errno, "syncing", to);
  if (const int error = target.close(); end && error != 0) end = fs::error_of(error, "closing", to);
  if (end) end = sync(parent(to));
  if (!end) ::unlink(to.c_str());
  return end;
}

Status rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return fs::error_of(errno, "replacing", to);
  return sync(parent(to));
}

Status link(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) != 0) {
    if (errno == ENOENT && !exists(from)) return ok();
    return fs::error_of(errno, "keeping " + from + " as", to);
  }
  return sync(parent(to));
}

Status remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return ok();
    return fs::error_of(errno, "removing", path);
  }
  return sync(parent(path));
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

std::uint64_t size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::string parent(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string utc_stamp(std::int64_t utc_ms) {
  const auto seconds = static_cast<std::time_t>(utc_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {buffer.data(), length};
}

Result<std::int64_t> parse_utc_stamp(std::string_view stamp) {
  const std::string text(stamp);
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &parts);
  if (end == nullptr || *end != '\0') {
    return fail(Code::invalid, "expected a time as 20261130T120824Z, got \"{}\"", stamp);
  }
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000;
}

}  // namespace slipway::store::files
