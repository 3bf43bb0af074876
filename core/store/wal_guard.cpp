// SPDX-License-Identifier: Apache-2.0
#include "store/wal_guard.hpp"

#include "base/fs.hpp"
#include "store/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace slipway::store {
namespace {

// https://www.sqlite.org/fileformat2.html, 4.1: a header, then frames of a header and a page each. All
// numbers are big-endian. A frame is of this log if it has the header's two salts; it ends a transaction if
// its database size is not 0.
constexpr std::int64_t kHeaderSize = 32;
constexpr std::int64_t kFrameHeaderSize = 24;
constexpr std::uint32_t kMagic = 0x377f0682;
constexpr std::size_t kPageSizeAt = 8;
constexpr std::size_t kHeaderSaltAt = 16;
constexpr std::size_t kHeaderSumsAt = 24;
constexpr std::size_t kFrameSizeAt = 4;
constexpr std::size_t kFrameSaltAt = 8;
constexpr std::size_t kSaltSize = 8;

constexpr std::string_view kState =
    "SELECT (SELECT value FROM meta WHERE name = 'controller'),"
    " (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'epoch'),"
    " (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'revision')";

Result<WalState> read_state(sqlite::Database& database) {
  SLIPWAY_TRY(const auto rows, database.query(kState));
  const Values& row = rows.at(0);
  // Not one of them is ever absent once a store was opened, but a page that a crash left half moved may hide
  // some.
  if (std::find(row.begin(), row.end(), Value()) != row.end()) {
    return fail(Code::not_found, "{}: has no state, or not all of it", database.path());
  }
  WalState state;
  state.controller = sqlite::text_of(row[0]);
  state.epoch = sqlite::number_of(row[1]);
  state.revision = sqlite::number_of(row[2]);
  return state;
}

std::string log_path(const std::string& path) { return path + "-wal"; }

bool read_at(const fs::FileDescriptor& file, std::int64_t offset, std::span<char> bytes) {
  return ::pread(file.get(), bytes.data(), bytes.size(), offset) == static_cast<ssize_t>(bytes.size());
}

std::uint32_t number_at(std::span<const char> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = (number << 8U) | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

// The sums of section 4.2 over all but themselves. The magic's lowest bit says in which order they take the
// bytes of a number.
bool is_header_valid(std::span<const char> header) {
  const std::uint32_t magic = number_at(header, 0);
  if ((magic & ~1U) != kMagic) return false;
  const bool is_big_endian = (magic & 1U) != 0;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  for (std::size_t at = 0; at < kHeaderSumsAt; at += 8) {
    const auto word = [&](std::size_t from) {
      const std::uint32_t number = number_at(header, from);
      return is_big_endian ? number : __builtin_bswap32(number);
    };
    first += word(at) + second;
    second += word(at + 4) + first;
  }
  return first == number_at(header, kHeaderSumsAt) && second == number_at(header, kHeaderSumsAt + 4);
}

}  // namespace

std::optional<WalState> state_without_log(const std::string& path, const std::string& vfs) {
  if (files::size(log_path(path)) <= kHeaderSize) return std::nullopt;
  // What a crash left half moved, a page even, cannot be read without its log; then there is nothing to
  // compare.
  auto database = sqlite::Database::open(path, sqlite::Access::frozen, vfs);
  if (!database) return std::nullopt;
  const auto check = database->query("PRAGMA quick_check(meta)");
  if (!check || *check != std::vector<Values>{{Value("ok")}}) return std::nullopt;
  auto state = read_state(*database);
  if (!state) return std::nullopt;
  return *std::move(state);
}

Status check_log_belongs(sqlite::Database& database, const std::optional<WalState>& without_log) {
  if (!without_log) return ok();
  SLIPWAY_TRY(const WalState now, read_state(database));
  SLIPWAY_TRY(const auto base, database.query("SELECT epoch, revision FROM wal_base"));
  const auto tied = [](const WalState& state) { return std::tie(state.epoch, state.revision); };
  const std::int64_t base_epoch = base.empty() ? 0 : sqlite::number_of(base[0][0]);
  const std::int64_t base_revision = base.empty() ? 0 : sqlite::number_of(base[0][1]);
  const bool is_own = now.controller == without_log->controller &&
                      std::tie(base_epoch, base_revision) <= tied(*without_log) &&
                      tied(*without_log) <= tied(now);
  if (is_own) return ok();
  return fail(Code::invalid,
              "{} does not belong to {}: it leads from revision {} of controller {} to revision {}, and the "
              "database is at revision {} of controller {}; bring the database that it was written for, or "
              "move it elsewhere if the database was replaced on purpose",
              log_path(database.path()), database.path(), base_revision, now.controller, now.revision,
              without_log->revision, without_log->controller);
}

Status check_log_is_whole(const std::string& path, std::int64_t valid_pages) {
  const fs::FileDescriptor file(::open(log_path(path).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kHeaderSize> header{};
  if (!file.is_open() || !read_at(file, 0, header)) return ok();
  constexpr std::string_view kAdvice =
      "commits that were acknowledged cannot be read; restore a backup, or move it elsewhere to go on "
      "without "
      "them";
  // The header is durable before there is a frame.
  if (!is_header_valid(header) && files::size(log_path(path)) > kHeaderSize) {
    return fail(Code::internal, "{} has a damaged header: {}", log_path(path), kAdvice);
  }
  const std::int64_t frame_size = kFrameHeaderSize + number_at(header, kPageSizeAt);
  const std::string_view salts(header.data() + kHeaderSaltAt, kSaltSize);

  std::array<char, kFrameHeaderSize> frame{};
  bool is_commit_seen = false;
  for (std::int64_t at = kHeaderSize + valid_pages * frame_size; read_at(file, at, frame); at += frame_size) {
    if (std::string_view(frame.data() + kFrameSaltAt, kSaltSize) != salts) continue;  // of an earlier log
    if (is_commit_seen) {
      return fail(Code::internal, "{} is damaged behind page {}: {}", log_path(path), valid_pages, kAdvice);
    }
    is_commit_seen = number_at(frame, kFrameSizeAt) != 0;
  }
  return ok();
}

Status note_log_base(sqlite::Database& database) {
  return database.execute(
      "UPDATE wal_base SET"
      " epoch = coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'epoch'), 0),"
      " revision = coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'revision'), 0)");
}

}  // namespace slipway::store
