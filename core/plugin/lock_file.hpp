// SPDX-License-Identifier: Apache-2.0
// lock_file.hpp - <data>/plugins/lock.json: the only record of what is installed, enabled and quarantined. A
// plugin under <prefix> or in a build tree has an entry only once somebody disabled or quarantined it. Thread
// rule: values; changes go through PluginStore, which holds the store's lock meanwhile.
#pragma once

#include "plugin/package.hpp"

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace slipway::plugin {

// process: a child of its own, the default for plugins that are not of this tree.
enum class IsolationMode { unknown, process, in_process };
BOOST_DESCRIBE_ENUM(IsolationMode, unknown, process, in_process)

// Members in the order of the alphabet: the file's keys are sorted.
struct LockedVersion {
  std::string digest;  // package_digest() of `files`
  FileHashes files;    // all but plugin.sig
  std::string signer;  // "ed25519:..."; empty: unsigned
  std::string version;

  // "0.1.0-3fa9c2d1"
  [[nodiscard]] std::string directory() const { return version + "-" + digest.substr(0, 8); }
  bool operator==(const LockedVersion&) const = default;
};
BOOST_DESCRIBE_STRUCT(LockedVersion, (), (digest, files, signer, version))

struct LockEntry {
  std::optional<LockedVersion> current;  // absent: not installed here, comes with Slipway
  bool enabled = true;
  IsolationMode isolation = IsolationMode::process;
  std::optional<LockedVersion> previous;  // where rollback goes; its directory is kept
  bool quarantined = false;
  std::string reason;  // of being disabled or quarantined, for people

  [[nodiscard]] bool may_load() const { return enabled && !quarantined; }
  bool operator==(const LockEntry&) const = default;
};
BOOST_DESCRIBE_STRUCT(LockEntry, (), (current, enabled, isolation, previous, quarantined, reason))

struct LockFile {
  std::uint32_t format = 1;
  std::map<std::string, LockEntry> plugins;  // by name

  [[nodiscard]] const LockEntry* find(const std::string& name) const;
};
BOOST_DESCRIBE_STRUCT(LockFile, (), (format, plugins))

// No file: an empty one. denied: others may write it; invalid: not what this version reads, with the place.
[[nodiscard]] Result<LockFile> read_lock_file(const std::string& path);
// Whole or not at all, durably.
Status write_lock_file(const std::string& path, const LockFile& lock);

}  // namespace slipway::plugin
