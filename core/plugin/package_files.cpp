// SPDX-License-Identifier: Apache-2.0
#include "plugin/package_files.hpp"

#include "base/text.hpp"
#include "plugin/package_write.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxListed = 10'000;  // a build tree's directory may hold more than a package

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

Result<std::vector<std::string>> names_in(const SafeFile& directory) {
  // The stream takes a descriptor of its own: its place in the directory is not shared.
  const int own = openat(directory.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> stream(own < 0 ? nullptr : fdopendir(own));
  if (stream == nullptr) return fs::error_of(errno, "listing", directory.path);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxListed) {
      return refused_by(TrustCheck::package,
                        fail(Code::invalid, "{}: it has more than {} entries", directory.path, kMaxListed));
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What the directory has, by paths of a package, before anything is opened.
class Opener {
 public:
  Opener(const SafeFile& directory, const PackageRules& rules) : directory_(directory), rules_(rules) {}

  Result<std::vector<PackageEntry>> open() {
    SLIPWAY_TRY(const auto names, names_in(directory_));
    if (!rules_.is_strict) choose_library(names);
    for (const std::string& name : names) {
      if (name == "helpers") {
        SLIPWAY_TRY(add_helpers());
      } else {
        SLIPWAY_TRY(add(directory_, name, name));
      }
    }
    if (!has_library_) {
      return refused_by(
          TrustCheck::package,
          fail(Code::invalid, "{}: expected a plugin's directory, it has no NAME.so", directory_.path));
    }
    return std::move(entries_);
  }

 private:
  // In a build tree other libraries may lie beside the plugin.
  void choose_library(const std::vector<std::string>& names) {
    const std::string own = directory_.path.substr(directory_.path.find_last_of('/') + 1) + ".so";
    if (std::find(names.begin(), names.end(), own) != names.end()) library_ = own;
  }

  Status add_helpers() {
    SLIPWAY_TRY(const SafeFile helpers,
                open_safely_at(directory_.descriptor.get(), directory_.path, "helpers", rules_.owner));
    if (!helpers.is_directory()) return unexpected("helpers");
    SLIPWAY_TRY(const auto names, names_in(helpers));
    for (const std::string& name : names) SLIPWAY_TRY(add(helpers, name, "helpers/" + name));
    return ok();
  }

  Status add(const SafeFile& where, const std::string& name, const std::string& path) {
    const auto kind = package_file_kind(path);
    if (!kind) return unexpected(path);
    if (*kind == PackageFileKind::library) {
      if (library_ && name != *library_) return ok();
      if (has_library_) return unexpected(path);
    }
    SLIPWAY_TRY(SafeFile file, open_safely_at(where.descriptor.get(), where.path, name, rules_.owner));
    if (file.is_directory()) return unexpected(path);
    const std::uint64_t max = max_bytes_of(*kind, rules_.limits);
    const auto size = static_cast<std::uint64_t>(file.info.st_size);
    if (size > max) {
      SLIPWAY_TRY(
          unless_off(rules_.owner.disabled, TrustCheck::size,
                     fail(Code::invalid, "{}: it has {} bytes, expected at most {}", file.path, size, max)));
    }
    if (entries_.size() >= rules_.limits.files) {
      SLIPWAY_TRY(unless_off(
          rules_.owner.disabled, TrustCheck::package,
          fail(Code::invalid, "{}: it has more than {} files", directory_.path, rules_.limits.files)));
    }
    has_library_ = has_library_ || *kind == PackageFileKind::library;
    entries_.push_back({path, *kind, std::move(file)});
    return ok();
  }

  [[nodiscard]] Status unexpected(const std::string& path) const {
    if (!rules_.is_strict) return ok();
    return unless_off(rules_.owner.disabled, TrustCheck::package,
                      fail(Code::invalid, "{}: {} is no file of a package, or one too many", directory_.path,
                           text::escaped(path)));
  }

  const SafeFile& directory_;
  const PackageRules& rules_;
  std::vector<PackageEntry> entries_;
  std::optional<std::string> library_;  // the only one that counts
  bool has_library_ = false;
};

// Gives the file's bytes to `take`, in pieces.
template <class Take>
Status for_each_piece(const PackageEntry& entry, Take take) {
  std::array<char, 64U << 10U> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): scratch
  for (off_t at = 0;;) {
    const ssize_t got = pread(entry.file.descriptor.get(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fs::error_of(errno, "reading", entry.file.path);
    if (got == 0) return ok();
    SLIPWAY_TRY(take(std::string_view(buffer.data(), static_cast<std::size_t>(got))));
    at += got;
  }
}

}  // namespace

Result<std::vector<PackageEntry>> open_package(const SafeFile& directory, const PackageRules& rules) {
  if (!directory.is_directory()) {
    return refused_by(TrustCheck::file,
                      fail(Code::invalid, "{}: expected a plugin's directory", directory.path));
  }
  return Opener(directory, rules).open();
}

Result<std::string> read_entry(const PackageEntry& entry) {
  std::string bytes;
  SLIPWAY_TRY(for_each_piece(entry, [&](std::string_view piece) -> Status {
    bytes += piece;
    return ok();
  }));
  return bytes;
}

Result<std::string> hash_entry(const PackageEntry& entry) {
  Sha256 hash;
  SLIPWAY_TRY(for_each_piece(entry, [&](std::string_view piece) -> Status {
    hash.update(piece);
    return ok();
  }));
  return hex(hash.finish());
}

Status copy_entry(const PackageEntry& entry, int directory) {
  SLIPWAY_TRY(PackageWriter writer, PackageWriter::create(directory, entry.path, entry.kind));
  SLIPWAY_TRY(for_each_piece(entry, [&](std::string_view piece) { return writer.write(piece); }));
  return writer.finish();
}

}  // namespace slipway::plugin
