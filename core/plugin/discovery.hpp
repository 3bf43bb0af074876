// SPDX-License-Identifier: Apache-2.0
// discovery.hpp - which plugins there are, without running any of their code: the search path of DESIGN 4.4.
// What lies there and cannot be used is reported with its problem, never skipped in silence. Finding is not
// trusting: before a load comes PluginStore::load() or verify_plugin(). Thread-safe: free functions.
#pragma once

#include "plugin/elf_file.hpp"
#include "plugin/lock_file.hpp"
#include "plugin/trust.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

// Directories that are missing are fine, apart from those that were named on purpose (development).
struct SearchPath {
  std::vector<std::string> development;  // files NAME.so, plugins' directories, or directories of such
  std::string installed;                 // <data>/plugins
  std::string prefix;                    // <prefix>/lib/slipway/plugins
  std::string build_tree;                // ../plugins beside the executable
};

// "a:b" of SLIPWAY_PLUGIN_PATH behind the flags; parts that are empty count for nothing.
[[nodiscard]] std::vector<std::string> development_paths(const std::vector<std::string>& flags,
                                                         std::string_view environment);

struct Candidate {
  PluginSource source = PluginSource::development;
  std::string name;       // the library's, without .so
  std::string directory;  // absolute or as the search path has it
  std::string library;
  std::optional<Manifest> manifest;
  std::optional<ElfFacts> elf;
  std::optional<LockEntry> entry;  // of lock.json
  std::optional<Error> problem;    // why it cannot be used; manifest and elf may be absent then
  bool is_shadowed = false;        // one before it on the path has its name

  [[nodiscard]] bool may_load() const { return !problem && !is_shadowed && (!entry || entry->may_load()); }
};

// In the order of the search path, by name within a place.
[[nodiscard]] std::vector<Candidate> discover(const SearchPath& path);
// One file NAME.so or one directory; for `slipway plugin show FILE`.
[[nodiscard]] Candidate examine(const std::string& path, PluginSource source);

}  // namespace slipway::plugin
