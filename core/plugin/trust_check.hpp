// SPDX-License-Identifier: Apache-2.0
// trust_check.hpp - the checks between a file and running its code (SECURITY: plugin trust), by name, so that
// an error says which one refused, and a test can show that it is that one. Thread rule: values.
#pragma once

#include <slipway/result.hpp>

#include <boost/describe/enum.hpp>

#include <set>
#include <string_view>

namespace slipway::plugin {

// In the order in which they are made.
enum class TrustCheck {
  owner,      // file and all directories above it: who owns them, who else may write
  file,       // a regular file, a directory; no link
  size,       // of archive and files
  package,    // names, number and kinds of entries
  elf,        // a shared object for this machine that does not contradict itself
  note,       // the note of abi.h, once
  manifest,   // plugin.json keeps its rules
  agreement,  // note, manifest, signature and file name speak of the same plugin
  abi,        // this host speaks it
  sha256,     // each file is the one that was signed, and the one that was installed
  signer,     // the key is trusted for this plugin
  signature,  // by this key, over exactly this
  profile,    // a plugin of profile system: allowed, and signed or owned by root
  libraries,  // needed ones are on the profile's list
  run_path,   // none
  exports,    // the entry and nothing else
  hardening   // no executable stack, no writable code, no text relocations
};
BOOST_DESCRIBE_ENUM(TrustCheck, owner, file, size, package, elf, note, manifest, agreement, abi, sha256,
                    signer, signature, profile, libraries, run_path, exports, hardening)

// For tests only, which show that a bad artefact is refused by the check that they name. Always empty in the
// programs.
using DisabledChecks = std::set<TrustCheck>;

// The same error with details["check"], the check's name.
[[nodiscard]] Error refused_by(TrustCheck check, Error error);

// The status, unless the check is off.
[[nodiscard]] Status unless_off(const DisabledChecks& disabled, TrustCheck check, Status status);

}  // namespace slipway::plugin
