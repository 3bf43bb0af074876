// SPDX-License-Identifier: Apache-2.0
// trust.hpp - decides whether a plugin's directory may be loaded: all checks of SECURITY, plugin trust, in
// that order, before any of its code runs. A refusal is an Error with details["check"], and details["to_do"]
// where the operator can change it. Thread-safe: free functions; blocks on reading the files.
#pragma once

#include "plugin/elf_file.hpp"
#include "plugin/load_rules.hpp"
#include "plugin/manifest_rules.hpp"
#include "plugin/package.hpp"
#include "plugin/safe_open.hpp"
#include "plugin/trust_directory.hpp"

#include <slipway/messages/manifest.hpp>

#include <set>
#include <string>

namespace slipway::plugin {

// Where a plugin lies; DESIGN 4.4 has the search path.
enum class PluginSource {
  development,  // --plugin-path, SLIPWAY_PLUGIN_PATH: the author's own risk, not checked
  installed,    // <data>/plugins, by lock.json
  prefix,       // <prefix>/lib/slipway/plugins: came with Slipway; owner and mode vouch for it
  build_tree    // ../plugins beside the executable; likewise
};
BOOST_DESCRIBE_ENUM(PluginSource, development, installed, prefix, build_tree)

struct TrustPolicy {
  std::string trust_directory;             // /etc/slipway/trust.d
  std::set<std::string> allowed_unsigned;  // plugins.allow-unsigned: run isolated, without a signature
  std::set<std::string> allowed_system = {"lxc"};  // plugins.allow-system
  // Owners of files besides root and this process's user: for `plugin install` under sudo, who called it.
  std::set<uid_t> owners;
  PackageLimits limits;
  AbiRange abi;
  DisabledChecks disabled;

  [[nodiscard]] OwnerRules owner_rules() const { return {owners, disabled}; }
};

struct Verified {
  PluginSource source = PluginSource::installed;
  std::string directory;  // absolute
  std::string library;    // absolute: what to load, and what was verified
  Manifest manifest;
  ElfFacts elf;
  FileHashes files;  // of `installed` all but plugin.sig; else library, manifest and helpers
  // Who vouches: a trusted key, or with source prefix and build_tree the owner.
  std::optional<TrustedKey> signer;
  bool is_owned_by_root = false;

  // A plugin that nobody vouches for runs only in a process of its own.
  [[nodiscard]] bool may_run_in_process() const {
    return signer.has_value() || source == PluginSource::prefix || source == PluginSource::build_tree;
  }
};

// Verifies a plugin's directory where it lies. `locked`: what lock.json says about its files; each must be
// there and be the same. The caller loads `library`, by this path.
[[nodiscard]] Result<Verified> verify_plugin(const std::string& directory, PluginSource source,
                                             const TrustPolicy& policy, const FileHashes* locked = nullptr);

}  // namespace slipway::plugin
