// SPDX-License-Identifier: Apache-2.0
// package_write.hpp - one new file in a directory that nobody else can write. Thread rule: one thread.
#pragma once

#include "base/fs.hpp"
#include "plugin/package.hpp"

#include <string>
#include <string_view>

namespace slipway::plugin {

class PackageWriter {
 public:
  // Below `directory`; `path` is one of a package. conflict: it exists.
  [[nodiscard]] static Result<PackageWriter> create(int directory, const std::string& path,
                                                    PackageFileKind kind);
  Status write(std::string_view bytes);
  // Sets the mode (0444, a helper 0555), syncs, closes.
  Status finish();

 private:
  PackageWriter(fs::FileDescriptor file, std::string path, PackageFileKind kind)
      : file_(std::move(file)), path_(std::move(path)), kind_(kind) {}
  fs::FileDescriptor file_;
  std::string path_;
  PackageFileKind kind_;
};

}  // namespace slipway::plugin
