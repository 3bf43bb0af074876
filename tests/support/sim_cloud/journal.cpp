// SPDX-License-Identifier: Apache-2.0
#include "support/sim_cloud/journal.hpp"

#include <filesystem>
#include <iterator>
#include <system_error>

namespace slipway::sim {

Result<Journal> Journal::open(const std::string& path, std::vector<JournalEntry>& entries) {
  std::string text;
  if (std::ifstream in(path, std::ios::binary); in) {
    text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  for (std::size_t at = 0; at < whole;) {
    const std::size_t end = text.find('\n', at);
    auto entry = decode<JournalEntry>(std::string_view(text).substr(at, end - at));
    if (!entry) return std::move(entry).error().within(message("{} line {}", path, entries.size() + 1));
    entries.push_back(*std::move(entry));
    at = end + 1;
  }
  std::error_code ec;
  if (whole < text.size()) std::filesystem::resize_file(path, whole, ec);
  Journal journal;
  journal.file_.open(path, std::ios::binary | std::ios::app);
  if (ec || !journal.file_) return fail(Code::unavailable, "{}: cannot be written", path);
  return journal;
}

void Journal::append(const JournalEntry& entry) {
  if (file_.is_open()) file_ << encode(entry, {.omit_defaults = true}) << '\n' << std::flush;
}

}  // namespace slipway::sim
