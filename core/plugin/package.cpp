// SPDX-License-Identifier: Apache-2.0
#include "plugin/package.hpp"

#include "base/crypto.hpp"
#include "base/fs.hpp"
#include "plugin/load_rules.hpp"
#include "plugin/manifest_rules.hpp"
#include "plugin/package_archive.hpp"
#include "plugin/signature.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

namespace slipway::plugin {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kHelpers = "helpers/";
constexpr std::uint64_t kTextMaxBytes = 1U << 20U;

bool is_helper_name(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 64 && is_word(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_word(c) || c == '.' || c == '_' || c == '-'; });
}

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const override {
    return std::string(bytes_.substr(offset, count));
  }

 private:
  std::string_view bytes_;
};

std::optional<std::string> first_existing(const std::vector<std::string>& directories,
                                          const std::string& name) {
  std::error_code ignored;
  for (const std::string& directory : directories) {
    const stdfs::path path = stdfs::path(directory) / name;
    if (stdfs::exists(path, ignored)) return path.string();
  }
  return std::nullopt;
}

Status add_helpers(const std::string& directory, PackageSources& sources) {
  std::error_code error;
  for (stdfs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string path = std::string(kHelpers) + it->path().filename().string();
    if (!package_file_kind(path)) {
      return fail(Code::invalid, "{}: expected a name of letters, digits, dots, - and _",
                  it->path().string());
    }
    sources.emplace(path, it->path().string());
  }
  if (error) return fs::error_of(error.value(), "listing", directory);
  return ok();
}

struct Contents {
  PackageBytes files;
  Manifest manifest;
};

// Reads everything and holds it against the rules that installing has.
Result<Contents> read_sources(const PackageSources& sources) {
  const PackageLimits limits;
  Contents out;
  std::string library;
  for (const auto& [path, source] : sources) {
    SLIPWAY_TRY(const PackageFileKind kind, package_file_kind(path));
    SLIPWAY_TRY(out.files[path], fs::read_file(source, max_bytes_of(kind, limits)));
    if (kind == PackageFileKind::library) library = path;
  }
  out.files.erase("plugin.sig");
  if (library.empty() || !out.files.contains("plugin.json")) {
    return fail(Code::invalid, "a package needs NAME.so and plugin.json");
  }
  auto manifest = read_manifest(out.files["plugin.json"]);
  if (!manifest) return std::move(manifest).error().within(sources.at("plugin.json"));
  SLIPWAY_TRY(const ElfFacts elf, read_elf(MemorySource(out.files[library]), sources.at(library)));
  if (!elf.note) return fail(Code::invalid, "{}: {}", sources.at(library), elf.note_problem);
  SLIPWAY_TRY(agree(*manifest, elf, sources.at(library)));
  SLIPWAY_TRY(check_loading(elf, manifest->profile, sources.at(library)));
  out.manifest = *std::move(manifest);
  return out;
}

}  // namespace

Result<PackageFileKind> package_file_kind(std::string_view path) {
  if (path == "plugin.json") return PackageFileKind::manifest;
  if (path == "plugin.sig") return PackageFileKind::signature;
  if (path == "LICENSE") return PackageFileKind::licence;
  if (path == "README.md") return PackageFileKind::readme;
  if (path.ends_with(".so") && is_plugin_name(path.substr(0, path.size() - 3)))
    return PackageFileKind::library;
  if (path.starts_with(kHelpers) && is_helper_name(path.substr(kHelpers.size())))
    return PackageFileKind::helper;
  return fail(Code::invalid, "expected NAME.so, plugin.json, plugin.sig, LICENSE, README.md or helpers/FILE");
}

std::uint64_t max_bytes_of(PackageFileKind kind, const PackageLimits& limits) {
  switch (kind) {
    case PackageFileKind::library:
    case PackageFileKind::helper:
      return limits.file_bytes;
    case PackageFileKind::manifest:
      return kManifestMaxBytes;
    case PackageFileKind::signature:
      return kSignatureMaxBytes;
    case PackageFileKind::licence:
    case PackageFileKind::readme:
      break;
  }
  return kTextMaxBytes;
}

std::string package_digest(const FileHashes& files) {
  Sha256 hash;
  for (const auto& [path, sum] : files) hash.update(message("{}  {}\n", sum, path));
  return hex(hash.finish());
}

Result<PackageSources> collect_package(const std::string& library,
                                       const std::vector<std::string>& directories) {
  const stdfs::path file(library);
  const std::string own = file.has_parent_path() ? file.parent_path().string() : ".";
  std::vector<std::string> places{own};
  places.insert(places.end(), directories.begin(), directories.end());

  if (const auto kind = package_file_kind(file.filename().string());
      !kind || *kind != PackageFileKind::library) {
    return fail(Code::invalid, "{}: expected a plugin's library, NAME.so", library);
  }
  PackageSources sources{{file.filename().string(), library}};
  if (!first_existing({own}, "plugin.json")) {
    return fail(Code::invalid, "{}/plugin.json is missing; slipway_add_plugin() makes it beside the library",
                own);
  }
  sources.emplace("plugin.json", own + "/plugin.json");
  for (const std::string name : {"LICENSE", "README.md"}) {
    const auto found = first_existing(places, name);
    if (!found) {
      std::string looked;
      for (const std::string& place : places) looked += (looked.empty() ? "" : ", ") + place;
      return fail(Code::invalid, "{} is missing; looked in {}", name, looked);
    }
    sources.emplace(name, *found);
  }
  if (const auto helpers = first_existing(places, "helpers")) SLIPWAY_TRY(add_helpers(*helpers, sources));
  return sources;
}

Result<PackReport> pack(const PackageSources& sources, const SigningKey& key,
                        const std::string& output_directory) {
  SLIPWAY_TRY(Contents contents, read_sources(sources));
  FileHashes hashes;
  for (const auto& [path, bytes] : contents.files) hashes.emplace(path, hex(sha256(bytes)));
  const PackageSignature signature =
      sign_package(key, contents.manifest.name, contents.manifest.version, hashes);
  contents.files.emplace("plugin.sig", signature.text());

  SLIPWAY_TRY(const std::string archive, write_archive(contents.files));
  PackReport report;
  report.archive = message("{}/{}_{}_linux_{}.tar.gz", output_directory, contents.manifest.name,
                           contents.manifest.version, host_arch());
  SLIPWAY_TRY(fs::write_file_atomically(report.archive, archive, 0644));
  report.archive_sha256 = hex(sha256(archive));
  report.digest = package_digest(hashes);
  for (const auto& [path, bytes] : contents.files) report.files.push_back(path);
  report.signer = signature.key;
  return report;
}

}  // namespace slipway::plugin
