// SPDX-License-Identifier: Apache-2.0
// elf_file.hpp - what a shared object says about itself, read without running or mapping it. What the loader
// will act on (libraries, run paths, symbols, segments) is read where the loader reads it, in the program
// headers and the dynamic section; section headers only tell where the note is said to be. Own code, because
// it reads hostile files: libelf maps the file, follows section headers, and trusts offsets that it finds.
// Every offset and size is checked; a file that could mean one thing here and another to the loader (segments
// that overlap, a table that stands twice) is refused. Thread-safe: free functions.
#pragma once

#include <slipway/abi.h>
#include <slipway/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

// Where bytes come from: a descriptor in the host, memory in the fuzz target.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Exactly `count` bytes from `offset`, which lie within size(). unavailable: the file cannot be read.
  [[nodiscard]] virtual Result<std::string> read(std::uint64_t offset, std::size_t count) const = 0;
};

struct ElfFacts {
  std::uint64_t size = 0;            // bytes of the file
  std::optional<slipway_note> note;  // absent: see note_problem
  std::string note_problem;          // why there is none, or none that counts
  std::string soname;
  std::vector<std::string> needed;  // all that the loader would load with it, by whatever tag
  std::vector<std::string> run_paths;
  std::vector<std::string> exported;  // defined dynamic symbols that others can see, sorted
  bool has_ifuncs = false;            // an exported symbol is found by running code
  bool has_executable_stack = false;
  bool has_writable_code = false;  // a segment that is writable and executable
  bool has_text_relocations = false;

  // "0.1.0", of the note.
  [[nodiscard]] std::string sdk_version() const;
};

// Errors begin with the path. invalid: not an ELF shared object for this machine, or one that contradicts
// itself. Reads at most a few hundred times and 64 MiB.
[[nodiscard]] Result<ElfFacts> read_elf(const ByteSource& file, std::string_view path);
// Of an open file; the descriptor's own offset stays where it is.
[[nodiscard]] Result<ElfFacts> read_elf(int descriptor, std::string_view path);
// For people who look at a file of their own: no check of owner or mode.
[[nodiscard]] Result<ElfFacts> read_elf(const std::string& path);

// "amd64", "arm64": as Debian names this host's machine.
[[nodiscard]] std::string_view host_arch();

}  // namespace slipway::plugin
