// SPDX-License-Identifier: Apache-2.0
#include "plugin/store_sweep.hpp"

#include "base/fs.hpp"
#include "plugin/manifest_rules.hpp"
#include "plugin/use_lock.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace slipway::plugin {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kReplacementPrefix = ".slipway-";  // fs::write_file_atomically

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (stdfs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "0.1.0-3fa9c2d1"
bool is_version_directory(std::string_view name) {
  const std::size_t dash = name.find_last_of('-');
  return dash != std::string_view::npos && dash > 0 && name.size() - dash - 1 == 8 &&
         name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
}

bool is_named(const LockFile& lock, const std::string& name, const std::string& version) {
  const LockEntry* entry = lock.find(name);
  if (entry == nullptr) return false;
  return (entry->current && entry->current->directory() == version) ||
         (entry->previous && entry->previous->directory() == version);
}

}  // namespace

Status remove_tree(const std::string& path) {
  // Without the right to write no owner but root can empty them.
  chmod(path.c_str(), 0700);
  chmod((path + "/helpers").c_str(), 0700);
  std::error_code error;
  stdfs::remove_all(path, error);
  if (error) return fs::error_of(error.value(), "removing", path);
  return ok();
}

Result<std::vector<std::string>> sweep_leftovers(const std::string& directory, const LockFile& lock) {
  std::vector<std::string> swept;
  const auto sweep_directory = [&](const std::string& path) -> Status {
    const auto own = UseLock::own(path);
    if (!own) return ok();  // somebody works in it, or has it loaded
    SLIPWAY_TRY(remove_tree(path));
    swept.push_back(path);
    return ok();
  };
  std::error_code ignored;
  for (const std::string& name : names_in(directory)) {
    const std::string path = std::string(directory).append("/").append(name);
    if (name.starts_with(kStagingPrefix)) {
      SLIPWAY_TRY(sweep_directory(path));
    } else if (name.starts_with(kReplacementPrefix)) {
      if (stdfs::remove(path, ignored)) swept.push_back(path);
    } else if (is_plugin_name(name)) {
      for (const std::string& version : names_in(path)) {
        if (!is_version_directory(version) || is_named(lock, name, version)) continue;
        SLIPWAY_TRY(sweep_directory(std::string(path).append("/").append(version)));
      }
      if (lock.find(name) == nullptr) stdfs::remove(path, ignored);  // only if it is empty
    }
  }
  return swept;
}

}  // namespace slipway::plugin
