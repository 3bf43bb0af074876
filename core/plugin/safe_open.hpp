// SPDX-License-Identifier: Apache-2.0
// safe_open.hpp - opens what only root or this process's user can have put where it is. The path is resolved
// first and then walked from the root with openat and without following links, so what was examined is what
// is open, whatever is renamed meanwhile. Thread-safe: free functions.
#pragma once

#include "base/fs.hpp"
#include "plugin/trust_check.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <set>
#include <string>

namespace slipway::plugin {

struct SafeFile {
  std::string path;  // absolute, without links
  fs::FileDescriptor descriptor;
  struct stat info {};

  [[nodiscard]] bool is_directory() const { return S_ISDIR(info.st_mode); }
};

struct OwnerRules {
  std::set<uid_t> owners;  // besides root and this process's user
  DisabledChecks disabled;
};

// A regular file or a directory, open for reading. Refused by `owner`: it or a directory above it belongs to
// somebody else, or others may write there (a sticky directory of root's is safe); by `file`: something
// else than a regular file or a directory.
[[nodiscard]] Result<SafeFile> open_safely(const std::string& path, const OwnerRules& rules);
// A file in an open directory, under the same rules; `directory_path` is for errors.
[[nodiscard]] Result<SafeFile> open_safely_at(int directory, const std::string& directory_path,
                                              const std::string& name, const OwnerRules& rules);

}  // namespace slipway::plugin
