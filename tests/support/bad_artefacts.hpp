// SPDX-License-Identifier: Apache-2.0
// bad_artefacts.hpp - the catalogue of plugins that must not get in, for bad_artefacts_test.cpp. One thread.
#pragma once

#include "support/plugin_artefact.hpp"

#include <functional>
#include <string>
#include <vector>

namespace slipway::testing {

enum class Vehicle {
  directory,  // verified where it lies, as after staging
  archive,    // installed from a tar.gz
  installed   // installed in good order, changed afterwards, then loaded
};

// A good plugin on its way in. A spoiler changes any of this before deliver().
struct Artefact {
  Artefact();
  // Signs (unless the signature was made already), brings it in, and says how that ended.
  [[nodiscard]] Result<plugin::Verified> deliver();
  // The manifest, changed by `change`, becomes plugin.json.
  void edit_manifest(const std::function<void(Manifest&)>& change);
  [[nodiscard]] ElfPatch library() { return ElfPatch(files["tiny.so"]); }
  // Signs now: what is changed afterwards is not what was signed.
  void sign_now(const std::string& name = "tiny", const std::string& version = "0.1.0");

  Site site;
  Vehicle vehicle = Vehicle::directory;
  plugin::PackageBytes files = tiny_files();
  std::vector<TarEntry> more_entries;  // of the archive, behind the files
  std::function<void(const std::string& path)>
      on_disk;  // the directory (or the archive) before it is looked at
  bool is_signed = true;
  bool is_installed = false;  // out: lock.json has it
  std::string directory_name = "tiny";
};

struct BadArtefact {
  std::string name;
  plugin::TrustCheck check;
  std::function<void(Artefact&)> spoil;
  bool could_get_in = true;  // false: not even a plugin is left, whatever is switched off
  bool needs_root = false;
};

[[nodiscard]] std::vector<BadArtefact> bad_artefacts();

}  // namespace slipway::testing
