// SPDX-License-Identifier: Apache-2.0
#include "plugin/safe_open.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace slipway::plugin {
namespace {

constexpr mode_t kOthersWrite = 0022;

struct FreeText {
  void operator()(char* text) const noexcept { std::free(text); }
};

std::string octal(mode_t mode) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return buffer.data();
}

Status check_owner(const struct stat& info, std::string_view path, const OwnerRules& rules) {
  const uid_t own = geteuid();
  if (info.st_uid != 0 && info.st_uid != own && !rules.owners.contains(info.st_uid)) {
    return fail(Code::denied,
                "{}: the owner is uid {}, expected {}; who owns it could exchange what is loaded", path,
                info.st_uid, own == 0 ? std::string("root") : message("root or uid {}", own))
        .detail("to_do", message("chown {} {}", own, path));
  }
  // In such a directory nobody can rename or remove what is not his own.
  const bool is_safe_to_share = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0 && info.st_uid == 0;
  if ((info.st_mode & kOthersWrite) != 0 && !is_safe_to_share) {
    return fail(Code::denied, "{}: the mode is {}, expected that only the owner may write", path,
                octal(info.st_mode))
        .detail("to_do", message("chmod go-w {}", path));
  }
  return ok();
}

Status check(const SafeFile& file, const OwnerRules& rules) {
  SLIPWAY_TRY(unless_off(rules.disabled, TrustCheck::owner, check_owner(file.info, file.path, rules)));
  if (!S_ISREG(file.info.st_mode) && !file.is_directory()) {
    return unless_off(rules.disabled, TrustCheck::file,
                      fail(Code::invalid, "{}: expected a regular file or a directory", file.path));
  }
  return ok();
}

// O_NONBLOCK: a FIFO must not hold us up before we can refuse it.
Result<SafeFile> open_at(int directory, const char* name, std::string path, int flags) {
  SafeFile file{std::move(path),
                fs::FileDescriptor(openat(directory, name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK))};
  if (!file.descriptor.is_open()) {
    if (errno != ELOOP && errno != ENXIO) return fs::error_of(errno, "opening", file.path);
    return refused_by(TrustCheck::file,
                      fail(Code::invalid, "{}: expected a regular file or a directory, it is {}", file.path,
                           errno == ELOOP ? "a symbolic link" : "a device or a socket"));
  }
  if (fstat(file.descriptor.get(), &file.info) != 0) return fs::error_of(errno, "examining", file.path);
  return file;
}

}  // namespace

Result<SafeFile> open_safely(const std::string& path, const OwnerRules& rules) {
  const std::unique_ptr<char, FreeText> resolved(realpath(path.c_str(), nullptr));
  if (resolved == nullptr) return fs::error_of(errno, "finding", path);
  std::vector<std::string> parts;
  for (const std::string_view part : text::split(resolved.get(), '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  SLIPWAY_TRY(SafeFile at, open_at(AT_FDCWD, "/", "/", O_PATH | O_DIRECTORY));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SLIPWAY_TRY(check(at, rules));
    const bool is_last = i + 1 == parts.size();
    std::string below = at.path == "/" ? "/" + parts[i] : at.path + "/" + parts[i];
    SLIPWAY_TRY(at, open_at(at.descriptor.get(), parts[i].c_str(), std::move(below),
                            O_NOFOLLOW | (is_last ? O_RDONLY : O_PATH | O_DIRECTORY)));
  }
  SLIPWAY_TRY(check(at, rules));
  return at;
}

Result<SafeFile> open_safely_at(int directory, const std::string& directory_path, const std::string& name,
                                const OwnerRules& rules) {
  const int no_follow = rules.disabled.contains(TrustCheck::file) ? 0 : O_NOFOLLOW;
  SLIPWAY_TRY(SafeFile file,
              open_at(directory, name.c_str(), directory_path + "/" + name, O_RDONLY | no_follow));
  SLIPWAY_TRY(check(file, rules));
  return file;
}

}  // namespace slipway::plugin
