// SPDX-License-Identifier: Apache-2.0
// package_files.hpp - a plugin's directory with its files open, each opened once: what is examined, hashed
// and copied is one and the same. Thread-safe: free functions.
#pragma once

#include "plugin/package.hpp"
#include "plugin/safe_open.hpp"

#include <string>
#include <vector>

namespace slipway::plugin {

struct PackageEntry {
  std::string path;  // in the package
  PackageFileKind kind = PackageFileKind::library;
  SafeFile file;
};

struct PackageRules {
  OwnerRules owner;
  PackageLimits limits;
  // True: nothing but a package's files may be there. False (a build tree): what else lies there does not
  // matter, and of several libraries the one named after the directory counts.
  bool is_strict = true;
};

// Sorted by path. Refused by `owner`, `file`, `size` or `package`. There is exactly one library in the
// result.
[[nodiscard]] Result<std::vector<PackageEntry>> open_package(const SafeFile& directory,
                                                             const PackageRules& rules);

// The whole of a file that passed its limit.
[[nodiscard]] Result<std::string> read_entry(const PackageEntry& entry);
// Hexadecimal.
[[nodiscard]] Result<std::string> hash_entry(const PackageEntry& entry);
// Into a new file of the directory (helpers/ is made): 0444, a helper 0555, synced.
[[nodiscard]] Status copy_entry(const PackageEntry& entry, int directory);

}  // namespace slipway::plugin
