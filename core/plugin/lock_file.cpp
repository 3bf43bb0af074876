// SPDX-License-Identifier: Apache-2.0
#include "plugin/lock_file.hpp"

#include "base/fs.hpp"
#include "plugin/manifest_rules.hpp"

#include <slipway/codec.hpp>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxBytes = 4U << 20U;
constexpr std::uint32_t kFormat = 1;

// What makes paths of its own: a directory below <data>/plugins, and nothing else.
Status check_version(const LockedVersion& version, std::string_view place) {
  const bool is_safe = !version.version.empty() && version.version.find('/') == std::string::npos &&
                       version.version.front() != '.' && version.digest == package_digest(version.files);
  if (is_safe) return ok();
  return fail(Code::invalid, "{}: version, digest and files do not belong together", place);
}

Status check(const LockFile& lock) {
  if (lock.format != kFormat) {
    return fail(Code::unsupported, "format: expected {}, got {}; it is of another version of Slipway",
                kFormat, lock.format);
  }
  for (const auto& [name, entry] : lock.plugins) {
    if (!is_plugin_name(name)) return fail(Code::invalid, "plugins: \"{}\" is no name of a plugin", name);
    if (entry.current) SLIPWAY_TRY(check_version(*entry.current, message("plugins.{}.current", name)));
    if (entry.previous) SLIPWAY_TRY(check_version(*entry.previous, message("plugins.{}.previous", name)));
  }
  return ok();
}

}  // namespace

const LockEntry* LockFile::find(const std::string& name) const {
  const auto found = plugins.find(name);
  return found == plugins.end() ? nullptr : &found->second;
}

Result<LockFile> read_lock_file(const std::string& path) {
  auto text = fs::read_private_file(path, "lock file of the plugins", kMaxBytes);
  if (!text) {
    if (text.error().code == Code::not_found) return LockFile{};
    return std::move(text).error();
  }
  auto lock = decode<LockFile>(*text, {.max_bytes = kMaxBytes});
  if (!lock) return std::move(lock).error().within(path);
  if (auto status = check(*lock); !status) return std::move(status).error().within(path);
  return lock;
}

Status write_lock_file(const std::string& path, const LockFile& lock) {
  return fs::write_file_atomically(path, encode(lock) + "\n", 0644);
}

}  // namespace slipway::plugin
