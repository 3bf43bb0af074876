// SPDX-License-Identifier: Apache-2.0
#include "plugin/elf_file.hpp"

#include "base/fs.hpp"
#include "plugin/elf_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxNoteBytes = 64U << 10U;  // of one segment
constexpr std::size_t kMaxSymbols = 65'536;
constexpr std::size_t kMaxBuckets = 65'536;
constexpr std::size_t kMaxStringTable = 16U << 20U;
constexpr std::size_t kMaxSections = 1024;

// A file that is not read by mmap: nothing can pull it away under us.
class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const override {
    std::string bytes(count, '\0');
    std::size_t filled = 0;
    while (filled < count) {
      const ssize_t got =
          pread(descriptor_, bytes.data() + filled, count - filled, static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fs::error_of(errno, "reading", "the file");
      if (got == 0) return fail(Code::unavailable, "the file became shorter while it was read");
      filled += static_cast<std::size_t>(got);
    }
    return bytes;
  }

 private:
  int descriptor_;
  std::uint64_t size_;
};

// The dynamic section as the loader understands it: of a tag that may stand once, its value.
struct Dynamic {
  std::optional<std::uint64_t> strings;
  std::optional<std::uint64_t> strings_size;
  std::optional<std::uint64_t> symbols;
  std::optional<std::uint64_t> gnu_hash;
  std::optional<std::uint64_t> hash;
  std::optional<std::uint64_t> soname;
  std::vector<std::uint64_t> needed;
  std::vector<std::uint64_t> run_paths;
  bool has_text_relocations = false;
};

Status set_once(std::optional<std::uint64_t>& place, std::uint64_t value, std::string_view tag) {
  if (place) return fail(Code::invalid, "{} stands twice in the dynamic section", tag);
  place = value;
  return ok();
}

Status take_tag(Dynamic& out, const Elf64_Dyn& entry) {
  const std::uint64_t value = entry.d_un.d_val;
  switch (entry.d_tag) {
    case DT_STRTAB:
      return set_once(out.strings, value, "DT_STRTAB");
    case DT_STRSZ:
      return set_once(out.strings_size, value, "DT_STRSZ");
    case DT_SYMTAB:
      return set_once(out.symbols, value, "DT_SYMTAB");
    case DT_GNU_HASH:
      return set_once(out.gnu_hash, value, "DT_GNU_HASH");
    case DT_HASH:
      return set_once(out.hash, value, "DT_HASH");
    case DT_SONAME:
      return set_once(out.soname, value, "DT_SONAME");
    // Filters and auditors are loaded, too.
    case DT_NEEDED:
    case DT_FILTER:
    case DT_AUXILIARY:
    case DT_AUDIT:
    case DT_DEPAUDIT:
      out.needed.push_back(value);
      return ok();
    case DT_RPATH:
    case DT_RUNPATH:
      out.run_paths.push_back(value);
      return ok();
    case DT_TEXTREL:
      out.has_text_relocations = true;
      return ok();
    case DT_FLAGS:
      out.has_text_relocations = out.has_text_relocations || (value & DF_TEXTREL) != 0;
      return ok();
    default:
      return ok();
  }
}

Result<Dynamic> read_dynamic(const ElfReader& elf) {
  SLIPWAY_TRY(const auto entries, elf.dynamic_entries());
  Dynamic out;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) {
      if (!out.strings || !out.strings_size || !out.symbols) {
        return fail(Code::invalid, "the dynamic section has no string table or no symbol table");
      }
      return out;
    }
    SLIPWAY_TRY(take_tag(out, entry));
  }
  return fail(Code::invalid, "the dynamic section has no end");
}

class StringTable {
 public:
  explicit StringTable(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<std::string> at(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return fail(Code::invalid, "a name lies outside the string table");
    const std::size_t end = bytes_.find('\0', offset);
    if (end == std::string::npos) return fail(Code::invalid, "a name in the string table has no end");
    return bytes_.substr(offset, end - offset);
  }

 private:
  std::string bytes_;
};

Result<StringTable> read_strings(const ElfReader& elf, const Dynamic& dynamic) {
  if (*dynamic.strings_size > kMaxStringTable) {
    return fail(Code::invalid, "the string table has {} bytes, expected at most {}", *dynamic.strings_size,
                kMaxStringTable);
  }
  SLIPWAY_TRY(std::string bytes, elf.at_address(*dynamic.strings, *dynamic.strings_size));
  return StringTable(std::move(bytes));
}

struct SymbolRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// The table that glibc asks first: symbols from `first` on, in chains by bucket; the last chain's end, marked
// by its lowest bit, is the end of the symbols.
Result<SymbolRange> gnu_hash_range(const ElfReader& elf, std::uint64_t address) {
  SLIPWAY_TRY(const auto head, elf.array_at<std::uint32_t>(address, 4));
  const std::uint64_t bucket_count = head[0];
  const std::uint64_t first = head[1];
  const std::uint64_t bloom_words = head[2];
  if (bucket_count == 0 || bucket_count > kMaxBuckets || bloom_words > kMaxBuckets) {
    return fail(Code::invalid, "the hash table of symbols is too large or empty");
  }
  const std::uint64_t buckets_at = address + 16 + 8 * bloom_words;
  SLIPWAY_TRY(const auto buckets, elf.array_at<std::uint32_t>(buckets_at, bucket_count));
  const std::uint64_t last = *std::max_element(buckets.begin(), buckets.end());
  if (last < first) return SymbolRange{first, first};
  const std::uint64_t chain_at = buckets_at + 4 * bucket_count;
  constexpr std::uint64_t kBlock = 1024;
  for (std::uint64_t at = last; at < kMaxSymbols;) {
    const std::uint64_t chain_address = chain_at + 4 * (at - first);
    const std::uint64_t count = std::min(kBlock, elf.bytes_left(chain_address) / 4);
    if (count == 0) break;
    SLIPWAY_TRY(const auto chain, elf.array_at<std::uint32_t>(chain_address, count));
    for (const std::uint32_t hash : chain) {
      ++at;
      if ((hash & 1U) != 0) return SymbolRange{first, at};
    }
  }
  return fail(Code::invalid, "the hash table of symbols has no end, or more than {} symbols", kMaxSymbols);
}

Result<SymbolRange> symbol_range(const ElfReader& elf, const Dynamic& dynamic) {
  if (dynamic.gnu_hash) return gnu_hash_range(elf, *dynamic.gnu_hash);
  if (!dynamic.hash) return fail(Code::invalid, "there is no hash table of symbols");
  SLIPWAY_TRY(const auto head, elf.array_at<std::uint32_t>(*dynamic.hash, 2));
  return SymbolRange{1, std::max<std::uint64_t>(1, head[1])};
}

Status read_symbols(const ElfReader& elf, const Dynamic& dynamic, const StringTable& strings, ElfFacts& out) {
  SLIPWAY_TRY(const SymbolRange range, symbol_range(elf, dynamic));
  if (range.first > range.end || range.end > kMaxSymbols) {
    return fail(Code::invalid, "more than {} dynamic symbols", kMaxSymbols);
  }
  if (range.first == range.end) return ok();
  SLIPWAY_TRY(const auto symbols, elf.array_at<Elf64_Sym>(*dynamic.symbols + range.first * sizeof(Elf64_Sym),
                                                          range.end - range.first));
  for (const Elf64_Sym& symbol : symbols) {
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    const bool is_seen = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || !is_seen) continue;
    SLIPWAY_TRY(out.exported.emplace_back(), strings.at(symbol.st_name));
    out.has_ifuncs = out.has_ifuncs || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
  }
  std::sort(out.exported.begin(), out.exported.end());
  return ok();
}

// A note of ours in the file.
struct FoundNote {
  std::uint64_t offset = 0;  // of its header
  std::uint64_t size = 0;    // header, name and descriptor
  slipway_note note{};
};

// Collects our notes in one segment. False: sizes run over its end.
bool scan_notes(std::string_view bytes, std::uint64_t offset, std::uint64_t alignment,
                std::vector<FoundNote>& found) {
  const auto aligned = [alignment](std::uint64_t x) { return (x + alignment - 1) / alignment * alignment; };
  // With its NUL, as the note counts it.
  const std::string_view own_name(SLIPWAY_NOTE_NAME, sizeof SLIPWAY_NOTE_NAME);
  static_assert(sizeof SLIPWAY_NOTE_NAME == SLIPWAY_NOTE_NAME_BYTES);
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes.size();) {
    Elf64_Nhdr head{};
    std::memcpy(&head, bytes.data() + at, sizeof head);
    const std::uint64_t name_at = at + sizeof head;
    const std::uint64_t desc_at = at + aligned(sizeof head + head.n_namesz);
    if (desc_at + head.n_descsz > bytes.size()) return false;
    if (bytes.substr(name_at, head.n_namesz) == own_name && head.n_type == SLIPWAY_NOTE_TYPE) {
      FoundNote note{offset + at, desc_at + head.n_descsz - at, {}};
      if (head.n_descsz < sizeof note.note) return false;
      std::memcpy(&note.note, bytes.data() + desc_at, sizeof note.note);
      found.push_back(note);
    }
    at = at + aligned(desc_at - at + head.n_descsz);
  }
  return true;
}

// Empty: the note is where abi.h says that it is, in one section of its name.
Result<std::string> section_problem(const ElfReader& elf, const FoundNote& note) {
  SLIPWAY_TRY(const auto sections, elf.sections(kMaxSections));
  std::size_t count = 0;
  bool is_this = false;
  for (const ElfSection& section : sections) {
    if (section.name != SLIPWAY_NOTE_SECTION) continue;
    ++count;
    is_this = section.header.sh_type == SHT_NOTE && section.header.sh_offset == note.offset &&
              section.header.sh_size >= note.size && section.header.sh_size < note.size + 4;
  }
  if (count != 1) return message("{} sections are named {}, expected one", count, SLIPWAY_NOTE_SECTION);
  if (!is_this) return message("the section {} is not the note of the PT_NOTE segment", SLIPWAY_NOTE_SECTION);
  return std::string();
}

Status read_note(const ElfReader& elf, ElfFacts& out) {
  std::vector<FoundNote> found;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_NOTE) continue;
    if (segment.p_filesz > kMaxNoteBytes || segment.p_align > 8) {
      return fail(Code::invalid, "a PT_NOTE segment is too large or oddly aligned");
    }
    SLIPWAY_TRY(const std::string bytes, elf.at_offset(segment.p_offset, segment.p_filesz));
    if (!scan_notes(bytes, segment.p_offset, segment.p_align == 8 ? 8 : 4, found)) {
      out.note_problem = "a note runs over the end of its segment, or is shorter than abi.h says";
      return ok();
    }
  }
  if (found.size() != 1) {
    out.note_problem = found.empty() ? "it has no Slipway note, so it is no plugin; build it with "
                                       "SLIPWAY_PLUGIN of the SDK"
                                     : message("it has {} Slipway notes, expected one", found.size());
    return ok();
  }
  SLIPWAY_TRY(out.note_problem, section_problem(elf, found.front()));
  if (out.note_problem.empty()) out.note = found.front().note;
  return ok();
}

void read_protections(const ElfReader& elf, ElfFacts& out) {
  bool has_stack = false;
  for (const Elf64_Phdr& segment : elf.segments()) {
    const bool is_code = (segment.p_flags & PF_X) != 0;
    if (segment.p_type == PT_LOAD && is_code && (segment.p_flags & PF_W) != 0) out.has_writable_code = true;
    if (segment.p_type != PT_GNU_STACK) continue;
    has_stack = true;
    out.has_executable_stack = out.has_executable_stack || is_code;
  }
  // Without the segment the loader makes every stack of the process executable.
  if (!has_stack) out.has_executable_stack = true;
}

Result<ElfFacts> read_facts(const ByteSource& file) {
  SLIPWAY_TRY(const ElfReader elf, ElfReader::open(file));
  ElfFacts out;
  out.size = file.size();
  read_protections(elf, out);
  SLIPWAY_TRY(const Dynamic dynamic, read_dynamic(elf));
  SLIPWAY_TRY(const StringTable strings, read_strings(elf, dynamic));
  out.has_text_relocations = dynamic.has_text_relocations;
  for (const std::uint64_t name : dynamic.needed) {
    SLIPWAY_TRY(out.needed.emplace_back(), strings.at(name));
  }
  for (const std::uint64_t name : dynamic.run_paths) {
    SLIPWAY_TRY(out.run_paths.emplace_back(), strings.at(name));
  }
  if (dynamic.soname) {
    SLIPWAY_TRY(out.soname, strings.at(*dynamic.soname));
  }
  SLIPWAY_TRY(read_symbols(elf, dynamic, strings, out));
  SLIPWAY_TRY(read_note(elf, out));
  return out;
}

}  // namespace

std::string ElfFacts::sdk_version() const {
  if (!note) return {};
  return message("{}.{}.{}", note->sdk_version >> 16U, note->sdk_version >> 8U & 0xffU,
                 note->sdk_version & 0xffU);
}

Result<ElfFacts> read_elf(const ByteSource& file, std::string_view path) {
  auto facts = read_facts(file);
  if (!facts) return std::move(facts).error().within(path);
  return facts;
}

Result<ElfFacts> read_elf(int descriptor, std::string_view path) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return fs::error_of(errno, "examining", path);
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid, "{}: expected a regular file", path);
  return read_elf(DescriptorSource(descriptor, static_cast<std::uint64_t>(info.st_size)), path);
}

Result<ElfFacts> read_elf(const std::string& path) {
  const fs::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) return fs::error_of(errno, "opening", path);
  return read_elf(file.get(), path);
}

std::string_view host_arch() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
#error "name this machine as Debian does, and give ElfReader its EM_ number"
#endif
}

}  // namespace slipway::plugin
