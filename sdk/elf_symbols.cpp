// SPDX-License-Identifier: Apache-2.0
#include "elf_symbols.hpp"

#include <slipway/abi.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace slipway::sdk {
namespace {

// Reads structs out of the file's bytes; nothing lies beyond their end.
class ElfFile {
 public:
  explicit ElfFile(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] bool is_elf() const {
    return bytes_.size() >= sizeof(Elf64_Ehdr) && bytes_.compare(0, SELFMAG, ELFMAG) == 0 &&
           bytes_[EI_CLASS] == ELFCLASS64;
  }
  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    T out{};
    if (offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset)
      std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  [[nodiscard]] Elf64_Shdr section(std::uint64_t index) const {
    return at<Elf64_Shdr>(at<Elf64_Ehdr>(0).e_shoff + index * sizeof(Elf64_Shdr));
  }
  [[nodiscard]] std::string text(const Elf64_Shdr& strings, std::uint64_t offset) const {
    const std::uint64_t begin = strings.sh_offset + offset;
    return begin < bytes_.size() ? bytes_.substr(begin, bytes_.find('\0', begin) - begin) : "";
  }
  // Every entry of a table.
  template <class T, class Work>
  void each(const Elf64_Shdr& table, Work&& work) const {
    for (std::uint64_t at_byte = 0; at_byte + sizeof(T) <= table.sh_size; at_byte += sizeof(T))
      work(at<T>(table.sh_offset + at_byte));
  }

 private:
  const std::string bytes_;
};

bool is_exported(const Elf64_Sym& symbol) {
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
         visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

}  // namespace

Result<ElfSymbols> read_elf_symbols(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Code::invalid, "{}: cannot be read", path);
  const ElfFile file(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!file.is_elf()) return fail(Code::invalid, "{}: expected a 64-bit ELF file", path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (header.e_shnum == 0) return fail(Code::invalid, "{}: has no section headers; do not strip them", path);
  ElfSymbols out;
  const Elf64_Shdr names = file.section(header.e_shstrndx);
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = file.section(i);
    const Elf64_Shdr strings = file.section(section.sh_link);
    if (section.sh_type == SHT_DYNSYM) {
      file.each<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
        if (is_exported(symbol)) out.exported.push_back(file.text(strings, symbol.st_name));
      });
    } else if (section.sh_type == SHT_DYNAMIC) {
      file.each<Elf64_Dyn>(section, [&](const Elf64_Dyn& entry) {
        if (entry.d_tag == DT_NEEDED) out.needed.push_back(file.text(strings, entry.d_un.d_val));
      });
    }
    out.has_note = out.has_note || file.text(names, section.sh_name) == SLIPWAY_NOTE_SECTION;
  }
  std::sort(out.exported.begin(), out.exported.end());
  return out;
}

}  // namespace slipway::sdk
