// SPDX-License-Identifier: Apache-2.0
// package_fuzz.cpp - any bytes as a package (tar, as libarchive reads it with and without gzip) and as a
// plugin.sig: nothing but a package's files comes out, within the limits, and only where it was told to.
#include "base/fs.hpp"
#include "plugin/package.hpp"
#include "plugin/signature.hpp"

#include <fcntl.h>
#include <stdlib.h>  // mkdtemp
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

namespace {

namespace stdfs = std::filesystem;
using namespace slipway;

// In memory if that is possible: what is unpacked is synced. Goes with the process.
struct Place {
  Place() {
    std::error_code ignored;
    path = stdfs::is_directory("/dev/shm", ignored) ? "/dev/shm/slipway-fuzz-XXXXXX"
                                                    : "/tmp/slipway-fuzz-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) abort();
  }
  ~Place() {
    std::error_code ignored;
    stdfs::remove_all(path, ignored);
  }
  std::string path;
};

void try_package(std::string_view bytes) {
  static const Place place;
  const std::string out = place.path + "/out";
  stdfs::create_directory(out);
  const fs::FileDescriptor archive(memfd_create("package", MFD_CLOEXEC));
  const fs::FileDescriptor directory(open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!archive.is_open() || !directory.is_open()) abort();
  if (write(archive.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();

  const plugin::PackageLimits limits{1U << 20U, 1U << 20U, 2U << 20U, 16};
  const auto status = plugin::unpack(archive.get(), "x.tar.gz", directory.get(), limits);
  if (!status && status.error().message.empty()) abort();
  std::uintmax_t total = 0;
  for (const auto& entry : stdfs::recursive_directory_iterator(out)) {
    if (entry.is_directory() && entry.path() == out + "/helpers") continue;
    if (!entry.is_regular_file() || entry.is_symlink()) abort();
    if (!plugin::package_file_kind(entry.path().string().substr(out.size() + 1))) abort();
    total += entry.file_size();
  }
  if (total > limits.total_bytes) abort();
  stdfs::remove_all(out);
  if (!stdfs::is_empty(place.path)) abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto signature = plugin::parse_signature(bytes); signature && signature->text() != bytes) abort();
  try_package(bytes);
  return 0;
}
