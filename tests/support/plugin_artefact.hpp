// SPDX-License-Identifier: Apache-2.0
// plugin_artefact.hpp - a good package of the plugin tiny (plugins/tiny.c), to be spoiled: its files in
// memory, a key that is trusted for it, archives with entries of any kind, and patches of the library. One
// thread.
#pragma once

#include "plugin/package_archive.hpp"
#include "plugin/plugin_store.hpp"
#include "plugin/signature.hpp"
#include "support/temp_dir.hpp"

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slipway::testing {

// One entry of an archive, whatever it is.
struct TarEntry {
  std::string path;
  std::string bytes;
  unsigned type = 0100000;  // S_IFREG
  std::string link = {};    // of a symbolic link
  std::string hard_link = {};
};
[[nodiscard]] std::string tar_gz(const std::vector<TarEntry>& entries);

// tiny.so as it was built; or with a second exported symbol.
[[nodiscard]] const std::string& tiny_library();
[[nodiscard]] const std::string& loud_library();
[[nodiscard]] Manifest tiny_manifest();

// The files of a package by path, unsigned.
[[nodiscard]] plugin::PackageBytes tiny_files();
[[nodiscard]] plugin::FileHashes hashes_of(const plugin::PackageBytes& files);
// Adds plugin.sig over what is there.
void sign(plugin::PackageBytes& files, const SigningKey& key, const std::string& name = "tiny",
          const std::string& version = "0.1.0");

[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& bytes, unsigned mode = 0644);
// Makes the directory (0755) with the files.
void write_files(const std::string& directory, const plugin::PackageBytes& files);

// A place of its own with a store, a trust directory and a trusted key.
struct Site {
  Site();
  [[nodiscard]] plugin::PluginStore store() const { return {dir.path("plugins"), policy}; }
  [[nodiscard]] std::string path(const std::string& name) const { return dir.path(name); }
  // An archive of the version, signed.
  [[nodiscard]] std::string archive(const std::string& version = "0.1.0") const;
  [[nodiscard]] bool was_code_run() const;

  TempDir dir;
  SigningKey key;
  plugin::TrustPolicy policy;
};

// Edits of a library in memory. What it looks for must be there.
class ElfPatch {
 public:
  explicit ElfPatch(std::string& bytes) : bytes_(bytes) {}

  [[nodiscard]] Elf64_Ehdr& header() { return at<Elf64_Ehdr>(0); }
  [[nodiscard]] Elf64_Phdr& segment(std::uint32_t type, unsigned nth = 0);
  [[nodiscard]] Elf64_Shdr& section(const std::string& name);
  // The entry of the tag; of DT_NULL the first, behind which there are more.
  [[nodiscard]] Elf64_Dyn& dynamic(std::int64_t tag);
  // Puts one more entry before the end of the dynamic section.
  void add_dynamic(std::int64_t tag, std::uint64_t value);
  [[nodiscard]] Elf64_Sym& symbol(const std::string& name);
  // The note of the section, from its header on.
  [[nodiscard]] slipway_note_record& note() {
    return at<slipway_note_record>(section(SLIPWAY_NOTE_SECTION).sh_offset);
  }
  // Overwrites each occurrence by a text of the same length.
  void replace(const std::string& from, const std::string& to);
  // Where a text begins in the dynamic strings.
  [[nodiscard]] std::uint64_t string_offset(const std::string& text);

  template <class T>
  [[nodiscard]] T& at(std::uint64_t offset) {
    return *reinterpret_cast<T*>(bytes_.data() + offset);
  }

 private:
  std::string& bytes_;
};

}  // namespace slipway::testing
