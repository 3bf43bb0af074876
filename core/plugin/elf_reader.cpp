// SPDX-License-Identifier: Apache-2.0
#include "plugin/elf_reader.hpp"

#include <algorithm>

namespace slipway::plugin {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif
constexpr std::size_t kMaxSegments = 64;
constexpr std::uint64_t kMaxDynamicBytes = 1024 * sizeof(Elf64_Dyn);
constexpr std::uint64_t kMaxSectionNames = 64U << 10U;
constexpr std::uint64_t kPage = 4096;               // the smallest that the loader maps by
constexpr std::uint64_t kAddressEnd = 1ULL << 47U;  // a user's addresses end here

std::uint64_t page_end(const Elf64_Phdr& segment) {
  return (segment.p_vaddr + segment.p_memsz + kPage - 1) / kPage * kPage;
}

// The loader maps whole pages and lets a later segment cover an earlier one: then it would act on other bytes
// than we read. No linker makes such files.
Status check_loadable(const Elf64_Phdr& segment, const Elf64_Phdr* before, std::uint64_t file_size) {
  if (segment.p_filesz > segment.p_memsz)
    return fail(Code::invalid, "a segment is larger in the file than in memory");
  if (segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset) {
    return fail(Code::invalid, "a segment lies outside the file of {} bytes; is it whole?", file_size);
  }
  if (segment.p_vaddr >= kAddressEnd || segment.p_memsz >= kAddressEnd - segment.p_vaddr) {
    return fail(Code::invalid, "a segment's address is out of range");
  }
  const bool is_power_of_2 = segment.p_align != 0 && (segment.p_align & (segment.p_align - 1)) == 0;
  if (!is_power_of_2 || segment.p_align < kPage || segment.p_align > kAddressEnd ||
      (segment.p_vaddr - segment.p_offset) % segment.p_align != 0) {
    return fail(Code::invalid, "a segment is not aligned to pages");
  }
  if (before != nullptr && segment.p_vaddr / kPage * kPage < page_end(*before)) {
    return fail(Code::invalid, "segments overlap or are not in order");
  }
  return ok();
}

}  // namespace

Result<ElfReader> ElfReader::open(const ByteSource& file) {
  ElfReader reader(file);
  SLIPWAY_TRY(reader.read_header());
  SLIPWAY_TRY(reader.read_segments());
  return reader;
}

Status ElfReader::read_header() {
  if (file_.size() < sizeof header_)
    return fail(Code::invalid, "expected a shared object, it has {} bytes", file_.size());
  SLIPWAY_TRY(const std::string bytes, at_offset(0, sizeof header_));
  if (!bytes.starts_with(ELFMAG)) return fail(Code::invalid, "expected a shared object, it is no ELF file");
  std::memcpy(&header_, bytes.data(), sizeof header_);
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT) {
    return fail(Code::invalid, "expected a 64-bit little-endian ELF file of version 1");
  }
  if (header_.e_machine != kMachine) {
    return fail(Code::invalid,
                "it is for another machine (ELF number {}), this host is {}; take the package for {}",
                header_.e_machine, host_arch(), host_arch());
  }
  if (header_.e_type != ET_DYN) {
    return fail(Code::invalid, "expected a shared object (ET_DYN), it is of ELF type {}", header_.e_type);
  }
  return ok();
}

Status ElfReader::read_segments() {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 || header_.e_phnum > kMaxSegments) {
    return fail(Code::invalid, "expected 1 to {} program headers, it has {}", kMaxSegments, header_.e_phnum);
  }
  SLIPWAY_TRY(const std::string bytes, at_offset(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr)));
  segments_ = as_array<Elf64_Phdr>(bytes);
  const Elf64_Phdr* before = nullptr;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    SLIPWAY_TRY(check_loadable(segment, before, file_.size()));
    before = &segment;
  }
  return ok();
}

Result<std::vector<Elf64_Dyn>> ElfReader::dynamic_entries() const {
  const auto is_dynamic = [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; };
  const auto found = std::find_if(segments_.begin(), segments_.end(), is_dynamic);
  if (found == segments_.end() || std::count_if(found, segments_.end(), is_dynamic) != 1) {
    return fail(Code::invalid, "expected one PT_DYNAMIC segment");
  }
  // The loader reads up to DT_NULL and ignores the size; so the size bounds only where we look for it.
  const std::uint64_t count = std::min({found->p_filesz, bytes_left(found->p_vaddr), kMaxDynamicBytes});
  SLIPWAY_TRY(const std::string bytes, at_address(found->p_vaddr, count));
  return as_array<Elf64_Dyn>(bytes);
}

Result<std::vector<ElfSection>> ElfReader::sections(std::size_t max) const {
  std::vector<ElfSection> out;
  if (header_.e_shoff == 0) return out;
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum > max ||
      header_.e_shstrndx >= header_.e_shnum) {
    return fail(Code::invalid, "the section headers are not usable");
  }
  SLIPWAY_TRY(const std::string bytes, at_offset(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr)));
  const auto headers = as_array<Elf64_Shdr>(bytes);
  const Elf64_Shdr& names_header = headers[header_.e_shstrndx];
  if (names_header.sh_size > kMaxSectionNames)
    return fail(Code::invalid, "the names of sections are too long");
  SLIPWAY_TRY(const std::string names, at_offset(names_header.sh_offset, names_header.sh_size));
  for (const Elf64_Shdr& header : headers) {
    if (header.sh_name >= names.size()) continue;  // has no name, so is none that we look for
    const std::size_t end = std::min(names.find('\0', header.sh_name), names.size());
    out.push_back({names.substr(header.sh_name, end - header.sh_name), header});
  }
  return out;
}

Result<std::string> ElfReader::at_offset(std::uint64_t offset, std::uint64_t count) const {
  if (offset > file_.size() || count > file_.size() - offset) {
    return fail(Code::invalid, "{} bytes at {} lie outside the file of {} bytes; is it whole?", count, offset,
                file_.size());
  }
  if (++reads_ > kMaxReads || count > kMaxReadBytes - read_bytes_) {
    return fail(Code::invalid, "its tables are too large");
  }
  read_bytes_ += count;
  return file_.read(offset, count);
}

Result<std::string> ElfReader::at_address(std::uint64_t address, std::uint64_t count) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t into = address - segment.p_vaddr;
    if (into > segment.p_filesz || count > segment.p_filesz - into) continue;
    return at_offset(segment.p_offset + into, count);
  }
  return fail(Code::invalid, "{} bytes at address {} are not in the file", count, address);
}

std::uint64_t ElfReader::bytes_left(std::uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t into = address - segment.p_vaddr;
    if (into < segment.p_filesz) return segment.p_filesz - into;
  }
  return 0;
}

}  // namespace slipway::plugin
