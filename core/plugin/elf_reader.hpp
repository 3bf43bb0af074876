// SPDX-License-Identifier: Apache-2.0
// elf_reader.hpp - the frame of an ELF file for elf_file.cpp: header, segments, sections, and bytes by file
// offset or by address, each checked and all of it bounded. Thread rule: one thread.
#pragma once

#include "plugin/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <type_traits>

namespace slipway::plugin {

struct ElfSection {
  std::string name;
  Elf64_Shdr header{};
};

class ElfReader {
 public:
  // Checks the header, and that the segments are such that an address means one place in the file. The file
  // outlives the reader.
  [[nodiscard]] static Result<ElfReader> open(const ByteSource& file);

  [[nodiscard]] const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // Up to the end of the segment; what follows DT_NULL counts for nothing.
  [[nodiscard]] Result<std::vector<Elf64_Dyn>> dynamic_entries() const;
  // None if the file has no section headers.
  [[nodiscard]] Result<std::vector<ElfSection>> sections(std::size_t max) const;

  [[nodiscard]] Result<std::string> at_offset(std::uint64_t offset, std::uint64_t count) const;
  // From the file's part of the one segment that the address lies in.
  [[nodiscard]] Result<std::string> at_address(std::uint64_t address, std::uint64_t count) const;
  // Bytes from the address to the end of the file's part of its segment.
  [[nodiscard]] std::uint64_t bytes_left(std::uint64_t address) const;

  template <class T>
  [[nodiscard]] Result<std::vector<T>> array_at(std::uint64_t address, std::uint64_t count) const {
    if (count > kMaxReadBytes / sizeof(T)) return fail(Code::invalid, "a table is too large");
    SLIPWAY_TRY(const std::string bytes, at_address(address, count * sizeof(T)));
    return as_array<T>(bytes);
  }

 private:
  static constexpr std::uint64_t kMaxReadBytes = 64ULL << 20U;  // in all
  static constexpr unsigned kMaxReads = 300;

  explicit ElfReader(const ByteSource& file) : file_(file) {}
  [[nodiscard]] Status read_header();
  [[nodiscard]] Status read_segments();

  template <class T>
  [[nodiscard]] static std::vector<T> as_array(std::string_view bytes) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }

  const ByteSource& file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  mutable unsigned reads_ = 0;
  mutable std::uint64_t read_bytes_ = 0;
};

}  // namespace slipway::plugin
