// SPDX-License-Identifier: Apache-2.0
// elf_symbols.hpp - what the linker wrote about a shared object, for the author's own build. It trusts the
// file, unlike the host's reader (core/plugin/elf_file), which an SDK cannot have. Thread rule: a free
// function.
#pragma once

#include <slipway/result.hpp>

#include <string>
#include <vector>

namespace slipway::sdk {

struct ElfSymbols {
  std::vector<std::string> exported;  // defined and visible to others, sorted
  std::vector<std::string> needed;    // libraries
  bool has_note = false;              // the section of abi.h
};

// invalid: no 64-bit ELF file with section headers.
[[nodiscard]] Result<ElfSymbols> read_elf_symbols(const std::string& path);

}  // namespace slipway::sdk
