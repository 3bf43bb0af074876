// SPDX-License-Identifier: Apache-2.0
// package.hpp - a plugin's files and the archive that carries them, NAME_VERSION_linux_ARCH.tar.gz:
//   NAME.so  plugin.json  plugin.sig  LICENSE  README.md  helpers/FILE
// flat, regular files only. Packing is reproducible: the same files and key, the same bytes. Unpacking reads
// hostile archives: every name must be one of these, nothing is followed, all is bounded. Thread-safe: free
// functions.
#pragma once

#include "base/signing.hpp"
#include "plugin/trust_check.hpp"

#include <slipway/result.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

// SHA-256 in hexadecimal by the file's path in the package.
using FileHashes = std::map<std::string, std::string>;

struct PackageLimits {
  std::uint64_t archive_bytes = 256ULL << 20U;
  std::uint64_t file_bytes = 256ULL << 20U;  // of the library and of a helper; texts: 1 MiB
  std::uint64_t total_bytes = 512ULL << 20U;
  std::size_t files = 256;
};

// What a path in a package is; nothing else may be in one.
enum class PackageFileKind { library, manifest, signature, licence, readme, helper };
[[nodiscard]] Result<PackageFileKind> package_file_kind(std::string_view path);
[[nodiscard]] std::uint64_t max_bytes_of(PackageFileKind kind, const PackageLimits& limits);

// The hash of a whole package: SHA-256 (hexadecimal) over the sorted lines "HASH  PATH".
[[nodiscard]] std::string package_digest(const FileHashes& files);

// Where the files are before packing: path in the package to path on disk.
using PackageSources = std::map<std::string, std::string>;
// NAME.so, plugin.json beside it, and LICENSE, README.md and helpers/ beside it or in one of the directories.
// invalid: something is missing, with where it was looked for.
[[nodiscard]] Result<PackageSources> collect_package(const std::string& library,
                                                     const std::vector<std::string>& directories);

struct PackReport {
  std::string archive;         // path
  std::string archive_sha256;  // what sha256sum prints
  std::string digest;          // package_digest(): its first 8 digits are in the installed directory's name
  std::vector<std::string> files;
  KeyId signer;
};
// Checks manifest and library as installing will, signs, and writes the archive into `output_directory`.
[[nodiscard]] Result<PackReport> pack(const PackageSources& sources, const SigningKey& key,
                                      const std::string& output_directory);

// Writes the archive's files into an empty directory, open as `directory`, made 0600. `path` is for errors.
// invalid, with details["check"] "package" or "size": what is wrong with which entry. What a switched off
// check would refuse is left out, never written.
[[nodiscard]] Status unpack(int archive, std::string_view path, int directory, const PackageLimits& limits,
                            const DisabledChecks& disabled = {});

}  // namespace slipway::plugin
