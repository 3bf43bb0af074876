// SPDX-License-Identifier: Apache-2.0
#include "support/plugin_artefact.hpp"

#include <slipway/codec.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace slipway::testing {
namespace {

void require(bool is_met, const std::string& what) {
  if (!is_met) throw std::runtime_error(what);
}

// In memory if that is possible: there are hundreds of sites, and what is installed is synced.
std::filesystem::path quick_place() {
  std::error_code ignored;
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory, ignored) ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

std::string tar_gz(const std::vector<TarEntry>& entries) {
  std::string out(4U << 20U, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  archive_write_add_filter_gzip(writer);
  require(archive_write_open_memory(writer, out.data(), out.size(), &used) == ARCHIVE_OK, "archive");
  for (const TarEntry& made : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, made.path.c_str());
    archive_entry_set_filetype(entry, made.type);
    archive_entry_set_perm(entry, 0644);
    if (!made.link.empty()) archive_entry_set_symlink(entry, made.link.c_str());
    if (!made.hard_link.empty()) archive_entry_set_hardlink(entry, made.hard_link.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(made.bytes.size()));
    require(archive_write_header(writer, entry) == ARCHIVE_OK, "entry " + made.path);
    if (!made.bytes.empty()) archive_write_data(writer, made.bytes.data(), made.bytes.size());
    archive_entry_free(entry);
  }
  require(archive_write_free(writer) == ARCHIVE_OK, "archive");
  out.resize(used);
  return out;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  require(in.good(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const std::string& path, const std::string& bytes, unsigned mode) {
  {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    require(out.good(), path);
  }
  require(chmod(path.c_str(), mode) == 0, path);
}

void write_files(const std::string& directory, const plugin::PackageBytes& files) {
  const auto make = [](const std::string& path) {
    std::filesystem::create_directories(path);
    require(chmod(path.c_str(), 0755) == 0, path);
  };
  make(directory);
  for (const auto& [path, bytes] : files) {
    if (path.starts_with("helpers/")) make(directory + "/helpers");
    write_text(directory + "/" + path, bytes);
  }
}

const std::string& tiny_library() {
  static const std::string bytes = read_text(SLIPWAY_TINY_PLUGIN);
  return bytes;
}

const std::string& loud_library() {
  static const std::string bytes = read_text(SLIPWAY_LOUD_PLUGIN);
  return bytes;
}

Manifest tiny_manifest() {
  Manifest manifest;
  manifest.name = "tiny";
  manifest.version = "0.1.0";
  manifest.summary = "does nothing";
  manifest.kinds = {Kind::provider};
  SettingInfo& endpoint = manifest.settings.emplace_back();
  endpoint.name = "endpoint";
  endpoint.doc = "where it is";
  endpoint.required = true;
  manifest.methods = {"account.probe/1", "instances.start/1"};
  manifest.abi_major = SLIPWAY_ABI_MAJOR;
  manifest.abi_minor = SLIPWAY_ABI_MINOR;
  manifest.sdk = "0.1.0";
  return manifest;
}

plugin::PackageBytes tiny_files() {
  return {{"tiny.so", tiny_library()},
          {"plugin.json", encode(tiny_manifest())},
          {"LICENSE", "free\n"},
          {"README.md", "# tiny\n"},
          {"helpers/mount.sh", "#!/bin/sh\n"}};
}

plugin::FileHashes hashes_of(const plugin::PackageBytes& files) {
  plugin::FileHashes out;
  for (const auto& [path, bytes] : files) out.emplace(path, hex(sha256(bytes)));
  return out;
}

void sign(plugin::PackageBytes& files, const SigningKey& key, const std::string& name,
          const std::string& version) {
  files.erase("plugin.sig");
  files["plugin.sig"] = plugin::sign_package(key, name, version, hashes_of(files)).text();
}

Site::Site()
    : dir(quick_place()), key([] {
        SeededRandom random(7);
        return SigningKey::make(random);
      }()) {
  policy.trust_directory = dir.path("trust.d");
  // As `trust add` writes it, but without its syncs: there are hundreds of sites.
  const std::string base = policy.trust_directory + "/" + key.public_key().id().value;
  write_files(policy.trust_directory, {});
  write_text(base + ".pem", key.public_key().pem());
  write_text(base + ".json", R"({"name":"maker","plugins":["other","tiny"]})");
  setenv("SLIPWAY_TINY_MARK", dir.path("mark").c_str(), 1);
}

std::string Site::archive(const std::string& version) const {
  plugin::PackageBytes files = tiny_files();
  Manifest manifest = tiny_manifest();
  manifest.version = version;
  files["plugin.json"] = encode(manifest);
  sign(files, key, "tiny", version);
  const std::string path = dir.path("tiny_" + version + ".tar.gz");
  write_text(path, plugin::write_archive(files).value());
  return path;
}

bool Site::was_code_run() const { return std::filesystem::exists(dir.path("mark")); }

Elf64_Phdr& ElfPatch::segment(std::uint32_t type, unsigned nth) {
  for (unsigned i = 0; i < header().e_phnum; ++i) {
    auto& segment = at<Elf64_Phdr>(header().e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == type && nth-- == 0) return segment;
  }
  throw std::runtime_error("no such segment");
}

Elf64_Shdr& ElfPatch::section(const std::string& name) {
  const auto header_at = [&](unsigned i) -> Elf64_Shdr& {
    return at<Elf64_Shdr>(header().e_shoff + i * sizeof(Elf64_Shdr));
  };
  const std::uint64_t names = header_at(header().e_shstrndx).sh_offset;
  for (unsigned i = 0; i < header().e_shnum; ++i) {
    if (bytes_.data() + names + header_at(i).sh_name == name) return header_at(i);
  }
  throw std::runtime_error("no section " + name);
}

Elf64_Dyn& ElfPatch::dynamic(std::int64_t tag) {
  const Elf64_Shdr place = section(".dynamic");
  for (std::uint64_t offset = 0; offset < place.sh_size; offset += sizeof(Elf64_Dyn)) {
    auto& entry = at<Elf64_Dyn>(place.sh_offset + offset);
    if (entry.d_tag == tag) return entry;
  }
  throw std::runtime_error("no such dynamic entry");
}

void ElfPatch::add_dynamic(std::int64_t tag, std::uint64_t value) {
  Elf64_Dyn& end = dynamic(DT_NULL);
  require((&end + 1)->d_tag == DT_NULL, "no room in the dynamic section");
  end.d_tag = tag;
  end.d_un.d_val = value;
}

Elf64_Sym& ElfPatch::symbol(const std::string& name) {
  const Elf64_Shdr place = section(".dynsym");
  const std::uint64_t names = section(".dynstr").sh_offset;
  for (std::uint64_t offset = 0; offset < place.sh_size; offset += sizeof(Elf64_Sym)) {
    auto& symbol = at<Elf64_Sym>(place.sh_offset + offset);
    if (bytes_.data() + names + symbol.st_name == name) return symbol;
  }
  throw std::runtime_error("no symbol " + name);
}

void ElfPatch::replace(const std::string& from, const std::string& to) {
  require(from.size() == to.size() && bytes_.find(from) != std::string::npos, "nothing to replace: " + from);
  for (std::size_t at = bytes_.find(from); at != std::string::npos; at = bytes_.find(from, at + 1)) {
    bytes_.replace(at, from.size(), to);
  }
}

std::uint64_t ElfPatch::string_offset(const std::string& text) {
  const Elf64_Shdr place = section(".dynstr");
  const std::size_t found = bytes_.find(text, place.sh_offset);
  require(found != std::string::npos && found < place.sh_offset + place.sh_size, "no string " + text);
  return found - place.sh_offset;
}

}  // namespace slipway::testing
