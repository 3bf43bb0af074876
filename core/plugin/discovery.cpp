// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace slipway::plugin {
namespace {

namespace stdfs = std::filesystem;

// The directories, or the files NAME.so, in a directory, sorted. Not readable: an error.
Result<std::vector<std::string>> children(const std::string& directory, bool wants_libraries) {
  std::vector<std::string> out;
  std::error_code error;
  std::error_code ignored;
  for (stdfs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const bool is_wanted = wants_libraries ? it->path().extension() == ".so" && !it->is_directory(ignored)
                                           : it->is_directory(ignored);
    if (is_wanted && !it->path().filename().string().starts_with('.')) out.push_back(it->path().string());
  }
  if (error) return fs::error_of(error.value(), "listing", directory);
  std::sort(out.begin(), out.end());
  return out;
}

std::string name_of(const stdfs::path& path) {
  return path.extension() == ".so" ? path.stem().string() : path.filename().string();
}

// Finds the library of a plugin's directory: the only one, or the one that is named after it.
Result<std::string> library_in(const std::string& directory) {
  SLIPWAY_TRY(const auto libraries, children(directory, true));
  if (libraries.size() == 1) return libraries.front();
  const std::string own = directory + "/" + stdfs::path(directory).filename().string() + ".so";
  if (std::find(libraries.begin(), libraries.end(), own) != libraries.end()) return own;
  return fail(Code::invalid, "{}: expected a plugin's directory with one NAME.so, it has {}", directory,
              libraries.size());
}

Status examine_files(Candidate& out) {
  SLIPWAY_TRY(out.elf, read_elf(out.library));
  if (!out.elf->note) return fail(Code::invalid, "{}: {}", out.library, out.elf->note_problem);
  SLIPWAY_TRY(check_abi(*out.elf->note, out.library));
  const std::string manifest_path = out.directory + "/plugin.json";
  SLIPWAY_TRY(const std::string text, fs::read_file(manifest_path, kManifestMaxBytes));
  auto manifest = read_manifest(text);
  if (!manifest) return std::move(manifest).error().within(manifest_path);
  out.manifest = *std::move(manifest);
  return agree(*out.manifest, *out.elf, out.library);
}

// Each directory in it is a plugin.
void add_all_in(const std::string& directory, PluginSource source, std::vector<Candidate>& out) {
  std::error_code ignored;
  if (directory.empty() || !stdfs::is_directory(directory, ignored)) return;
  const auto found = children(directory, false);
  if (!found) {
    Candidate candidate;
    candidate.source = source;
    candidate.name = name_of(directory);
    candidate.directory = directory;
    candidate.problem = found.error();
    out.push_back(std::move(candidate));
    return;
  }
  for (const std::string& path : *found) out.push_back(examine(path, source));
}

// A file, a plugin's directory, or a directory of such.
void add_development(const std::string& path, std::vector<Candidate>& out) {
  std::error_code ignored;
  if (stdfs::is_directory(path, ignored)) {
    const auto libraries = children(path, true);
    const auto directories = children(path, false);
    const bool is_of_many = libraries && libraries->empty() && directories && !directories->empty();
    if (is_of_many) return add_all_in(path, PluginSource::development, out);
  }
  out.push_back(examine(path, PluginSource::development));
}

// What lock.json names; the versions beside it are of no interest here.
void add_installed(const std::string& directory, const LockFile& lock, std::vector<Candidate>& out) {
  for (const auto& [name, entry] : lock.plugins) {
    if (!entry.current) continue;
    Candidate candidate =
        examine(message("{}/{}/{}", directory, name, entry.current->directory()), PluginSource::installed);
    candidate.name = name;
    out.push_back(std::move(candidate));
  }
}

}  // namespace

std::vector<std::string> development_paths(const std::vector<std::string>& flags,
                                           std::string_view environment) {
  std::vector<std::string> out = flags;
  for (const std::string_view part : text::split(environment, ':')) {
    if (!part.empty()) out.emplace_back(part);
  }
  return out;
}

std::vector<Candidate> discover(const SearchPath& path) {
  std::vector<Candidate> out;
  for (const std::string& place : path.development) add_development(place, out);

  LockFile lock;
  if (!path.installed.empty()) {
    auto read = read_lock_file(path.installed + "/lock.json");
    if (read) {
      lock = *std::move(read);
    } else {
      Candidate broken;
      broken.source = PluginSource::installed;
      broken.name = "lock.json";
      broken.directory = path.installed;
      broken.problem = std::move(read).error();
      out.push_back(std::move(broken));
    }
    add_installed(path.installed, lock, out);
  }
  add_all_in(path.prefix, PluginSource::prefix, out);
  add_all_in(path.build_tree, PluginSource::build_tree, out);

  std::set<std::string> seen;
  for (Candidate& candidate : out) {
    if (const LockEntry* entry = lock.find(candidate.name)) candidate.entry = *entry;
    candidate.is_shadowed = !seen.insert(candidate.name).second;
  }
  return out;
}

Candidate examine(const std::string& path, PluginSource source) {
  Candidate out;
  out.source = source;
  // "build/" and "build" are one directory.
  stdfs::path place = stdfs::path(path).lexically_normal();
  if (!place.has_filename() && place.has_parent_path()) place = place.parent_path();
  std::error_code ignored;
  out.name = name_of(place);
  if (stdfs::is_directory(place, ignored)) {
    out.directory = place.string();
    auto library = library_in(out.directory);
    if (!library) {
      out.problem = std::move(library).error();
      return out;
    }
    out.library = *std::move(library);
    out.name = name_of(out.library);
  } else {
    out.library = place.string();
    out.directory = place.has_parent_path() ? place.parent_path().string() : ".";
  }
  if (auto status = examine_files(out); !status) out.problem = std::move(status).error();
  return out;
}

}  // namespace slipway::plugin
