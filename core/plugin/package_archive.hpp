// SPDX-License-Identifier: Apache-2.0
// package_archive.hpp - tar.gz over libarchive, for package.cpp: of its many formats and filters only these
// two are switched on. Reading is unpack() of package.hpp. Thread-safe: free functions.
#pragma once

#include <slipway/result.hpp>

#include <map>
#include <string>

namespace slipway::plugin {

// A package's files by path.
using PackageBytes = std::map<std::string, std::string>;

// The same bytes for the same files: sorted, without times, owners and names of users; 0644, helpers 0755.
[[nodiscard]] Result<std::string> write_archive(const PackageBytes& files);

}  // namespace slipway::plugin
