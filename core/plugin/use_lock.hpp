// SPDX-License-Identifier: Apache-2.0
// use_lock.hpp - who has loaded a version of a plugin holds its directory, so that nobody removes it below
// him: a flock on the directory, dropped by the kernel with the process, however that ends. Does not wait.
// One owner.
#pragma once

#include "base/fs.hpp"

#include <slipway/result.hpp>

#include <string>

namespace slipway::plugin {

class UseLock {
 public:
  // For as long as anything of the directory is in use; many may share it. not_found: no such directory (any
  // more); conflict: it is being removed.
  [[nodiscard]] static Result<UseLock> share(const std::string& directory);
  // For who changes or removes it. conflict: "PATH is in use by process 4711 (slipwayd)".
  [[nodiscard]] static Result<UseLock> own(const std::string& directory);

  [[nodiscard]] int descriptor() const { return directory_.get(); }

 private:
  explicit UseLock(fs::FileDescriptor directory) : directory_(std::move(directory)) {}
  fs::FileDescriptor directory_;
};

}  // namespace slipway::plugin
