// SPDX-License-Identifier: Apache-2.0
// elf_note_fuzz.cpp - any bytes as a plugin's library: read within their end, or refused with words.
#include "plugin/elf_file.hpp"
#include "plugin/load_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

class Memory final : public slipway::plugin::ByteSource {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] slipway::Result<std::string> read(std::uint64_t offset, std::size_t count) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset) std::abort();
    return std::string(bytes_.substr(offset, count));
  }

 private:
  std::string_view bytes_;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto facts = slipway::plugin::read_elf(Memory({reinterpret_cast<const char*>(data), size}), "x.so");
  if (!facts) {
    if (!facts.error().message.starts_with("x.so: ")) std::abort();
    return 0;
  }
  if (facts->note.has_value() != facts->note_problem.empty()) std::abort();
  if (!std::is_sorted(facts->exported.begin(), facts->exported.end())) std::abort();
  const auto status = slipway::plugin::check_loading(*facts, slipway::Profile::pure, "x.so");
  if (!status && !status.error().details.contains("check")) std::abort();
  return 0;
}
