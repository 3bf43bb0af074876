// SPDX-License-Identifier: Apache-2.0
#include "plugin/package_write.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace slipway::plugin {

Result<PackageWriter> PackageWriter::create(int directory, const std::string& path, PackageFileKind kind) {
  if (kind == PackageFileKind::helper && mkdirat(directory, "helpers", 0700) != 0 && errno != EEXIST) {
    return fs::error_of(errno, "making", "helpers");
  }
  fs::FileDescriptor file(
      openat(directory, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return fs::error_of(errno, "making", path);
  return PackageWriter(std::move(file), path, kind);
}

Status PackageWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fs::error_of(errno, "writing", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

Status PackageWriter::finish() {
  if (fchmod(file_.get(), kind_ == PackageFileKind::helper ? 0555 : 0444) != 0) {
    return fs::error_of(errno, "setting the mode of", path_);
  }
  if (fsync(file_.get()) != 0) return fs::error_of(errno, "syncing", path_);
  if (const int error = file_.close(); error != 0) return fs::error_of(error, "closing", path_);
  return ok();
}

}  // namespace slipway::plugin
