// SPDX-License-Identifier: Apache-2.0
#include "plugin/package_archive.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"
#include "plugin/package.hpp"
#include "plugin/package_write.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>

namespace slipway::plugin {
namespace {

constexpr std::size_t kBlock = 64U << 10U;

struct Free {
  void operator()(archive_entry* entry) const noexcept { archive_entry_free(entry); }
};
struct FreeReader {
  void operator()(archive* reader) const noexcept { archive_read_free(reader); }
};
struct FreeWriter {
  void operator()(archive* writer) const noexcept { archive_write_free(writer); }
};
using Reader = std::unique_ptr<archive, FreeReader>;
using Writer = std::unique_ptr<archive, FreeWriter>;

std::string words_of(archive* a) {
  const char* words = archive_error_string(a);
  return words == nullptr ? "unreadable" : text::escaped(words);
}

// libarchive writes through this.
la_ssize_t append(archive*, void* out, const void* bytes, std::size_t count) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

bool write_entry(archive* writer, const std::string& path, const std::string& bytes) {
  const std::unique_ptr<archive_entry, Free> entry(archive_entry_new());
  if (entry == nullptr) return false;
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), path.starts_with("helpers/") ? 0755 : 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  archive_entry_set_mtime(entry.get(), 0, 0);
  return archive_write_header(writer, entry.get()) == ARCHIVE_OK &&
         archive_write_data(writer, bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size());
}

// One archive on its way into a directory.
class Unpacker {
 public:
  Unpacker(archive* reader, std::string_view path, int directory, const PackageLimits& limits,
           const DisabledChecks& disabled)
      : reader_(reader), path_(path), directory_(directory), limits_(limits), disabled_(disabled) {}

  Status run() {
    for (;;) {
      archive_entry* entry = nullptr;
      const int result = archive_read_next_header(reader_, &entry);
      if (result == ARCHIVE_EOF) return ok();
      if (result != ARCHIVE_OK) return broken();
      SLIPWAY_TRY(take(entry));
    }
  }

 private:
  // A refused entry whose check is off is left out.
  Status take(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    const std::string path = name == nullptr ? std::string() : name;
    if (++entries_ > limits_.files) {
      SLIPWAY_TRY(refuse(TrustCheck::package, message("it has more than {} entries", limits_.files)));
    }
    const auto kind = package_file_kind(path);
    if (!kind) {
      return refuse(TrustCheck::package,
                    message("entry \"{}\": {}", text::escaped(path.substr(0, 128)), kind.error().message));
    }
    const bool is_plain_file = archive_entry_filetype(entry) == AE_IFREG &&
                               archive_entry_hardlink(entry) == nullptr &&
                               archive_entry_symlink(entry) == nullptr;
    if (!is_plain_file)
      return refuse(TrustCheck::package, message("entry {}: expected a regular file", path));
    if (!seen_.insert(path).second)
      return refuse(TrustCheck::package, message("entry {} stands twice", path));
    SLIPWAY_TRY(check_size(
        path, *kind,
        archive_entry_size_is_set(entry) != 0 ? static_cast<std::uint64_t>(archive_entry_size(entry)) : 0));
    return extract(path, *kind);
  }

  Status extract(const std::string& path, PackageFileKind kind) {
    SLIPWAY_TRY(PackageWriter writer, PackageWriter::create(directory_, path, kind));
    std::array<char, kBlock> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): scratch
    std::uint64_t size = 0;
    for (;;) {
      const la_ssize_t got = archive_read_data(reader_, buffer.data(), buffer.size());
      if (got == ARCHIVE_RETRY) continue;
      if (got < 0) return broken();
      if (got == 0) break;
      // What the header says about sizes is a claim; these are counted.
      size += static_cast<std::uint64_t>(got);
      total_ += static_cast<std::uint64_t>(got);
      SLIPWAY_TRY(check_size(path, kind, size));
      SLIPWAY_TRY(writer.write({buffer.data(), static_cast<std::size_t>(got)}));
    }
    return writer.finish();
  }

  [[nodiscard]] Status check_size(const std::string& path, PackageFileKind kind, std::uint64_t size) const {
    if (const std::uint64_t max = max_bytes_of(kind, limits_); size > max) {
      return refuse(TrustCheck::size,
                    message("entry {}: it has at least {} bytes, expected at most {}", path, size, max));
    }
    if (total_ > limits_.total_bytes) {
      return refuse(TrustCheck::size,
                    message("its files have more than {} bytes together", limits_.total_bytes));
    }
    return ok();
  }

  [[nodiscard]] Status refuse(TrustCheck check, const std::string& why) const {
    return unless_off(disabled_, check, fail(Code::invalid, "{}: {}", path_, why));
  }

  [[nodiscard]] Error broken() const {
    return refused_by(TrustCheck::package,
                      fail(Code::invalid, "{}: expected a package, a tar.gz of `slipway plugin pack`: {}",
                           path_, words_of(reader_)));
  }

  archive* reader_;
  std::string_view path_;
  int directory_;
  const PackageLimits& limits_;
  const DisabledChecks& disabled_;
  std::set<std::string> seen_;
  std::size_t entries_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

Result<std::string> write_archive(const PackageBytes& files) {
  std::string out;
  const Writer writer(archive_write_new());
  // gzip's header has a time unless it is told not to.
  bool is_good = writer != nullptr && archive_write_set_format_ustar(writer.get()) == ARCHIVE_OK &&
                 archive_write_add_filter_gzip(writer.get()) == ARCHIVE_OK &&
                 archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr) == ARCHIVE_OK &&
                 archive_write_open(writer.get(), &out, nullptr, append, nullptr) == ARCHIVE_OK;
  for (const auto& [path, bytes] : files) is_good = is_good && write_entry(writer.get(), path, bytes);
  is_good = is_good && archive_write_close(writer.get()) == ARCHIVE_OK;
  if (!is_good) return fail(Code::internal, "writing the package: {}", words_of(writer.get()));
  return out;
}

Status unpack(int archive, std::string_view path, int directory, const PackageLimits& limits,
              const DisabledChecks& disabled) {
  struct stat info {};
  if (fstat(archive, &info) != 0) return fs::error_of(errno, "examining", path);
  if (static_cast<std::uint64_t>(info.st_size) > limits.archive_bytes) {
    SLIPWAY_TRY(unless_off(disabled, TrustCheck::size,
                           fail(Code::invalid, "{}: it has {} bytes, expected at most {}", path, info.st_size,
                                limits.archive_bytes)));
  }
  if (lseek(archive, 0, SEEK_SET) != 0) return fs::error_of(errno, "reading", path);
  const Reader reader(archive_read_new());
  const bool is_set_up = reader != nullptr && archive_read_support_format_tar(reader.get()) == ARCHIVE_OK &&
                         archive_read_support_filter_gzip(reader.get()) == ARCHIVE_OK;
  if (!is_set_up) return fail(Code::internal, "libarchive reads no tar.gz here");
  if (archive_read_open_fd(reader.get(), archive, kBlock) != ARCHIVE_OK) {
    return refused_by(TrustCheck::package,
                      fail(Code::invalid, "{}: expected a package, a tar.gz of `slipway plugin pack`: {}",
                           path, words_of(reader.get())));
  }
  return Unpacker(reader.get(), path, directory, limits, disabled).run();
}

}  // namespace slipway::plugin
