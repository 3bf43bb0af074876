// SPDX-License-Identifier: Apache-2.0
// plugin_store.hpp - the plugins that are installed on this machine: <data>/plugins/NAME/VERSION-HASH8/ and
// lock.json. Installing is content-addressed and atomic: files are copied into a private directory beside,
// verified there, synced, and renamed; what a crash left is swept. Nothing here runs a plugin's code.
// Thread-safe, and safe between processes: changes are made under a lock on <data>/plugins/.lock that is held
// for milliseconds, never while an archive is read.
#pragma once

#include "base/fs.hpp"
#include "plugin/lock_file.hpp"
#include "plugin/trust.hpp"
#include "plugin/use_lock.hpp"

#include <functional>
#include <string>
#include <vector>

namespace slipway::plugin {

struct InstallOptions {
  IsolationMode isolation = IsolationMode::process;
};

struct Installed {
  Verified verified;
  LockEntry entry;
  bool was_there = false;  // this very package was installed already; nothing changed
};

struct Loadable {
  Verified verified;
  LockEntry entry;
  UseLock use;
};

class PluginStore {
 public:
  // `directory` is <data>/plugins; made (0755) by the first change. No I/O here.
  PluginStore(std::string directory, TrustPolicy policy);

  // `path`: an archive of `pack`, or a plugin's directory. Errors of a check say that nothing was installed
  // and none of its code was run. conflict: another version is installed.
  [[nodiscard]] Result<Installed> install(const std::string& path, const InstallOptions& options = {});
  // Beside the installed version, which becomes `previous` and goes on running where it runs. The one before
  // is removed: conflict, and nothing changed, if that is still in use. not_found: nothing to upgrade.
  [[nodiscard]] Result<Installed> upgrade(const std::string& path);
  // Current and previous change places. Both stay on disk.
  [[nodiscard]] Result<LockEntry> rollback(const std::string& name);
  // conflict: "in use by process 4711 (slipwayd)".
  Status remove(const std::string& name);

  Status enable(const std::string& name);  // also ends a quarantine
  Status disable(const std::string& name, const std::string& reason = {});
  Status quarantine(const std::string& name, const std::string& reason);
  Status set_isolation(const std::string& name, IsolationMode isolation);

  // An installed plugin to be loaded now: enabled, verified again with hashes taken again, its directory
  // held.
  [[nodiscard]] Result<Loadable> load(const std::string& name) const;

  [[nodiscard]] Result<LockFile> entries() const;
  // <data>/plugins/NAME/VERSION-HASH8
  [[nodiscard]] std::string directory_of(const std::string& name, const LockedVersion& version) const;
  [[nodiscard]] const std::string& directory() const { return directory_; }

  // Removes what a crash or a kill left: staging directories and versions that lock.json does not name and
  // nobody uses. Each change does it too. Returns their paths.
  Result<std::vector<std::string>> sweep();

 private:
  class Staging;
  struct Incoming;
  [[nodiscard]] Result<fs::FileDescriptor> lock() const;
  [[nodiscard]] Result<Staging> make_staging() const;
  [[nodiscard]] Result<Incoming> take_in(const std::string& path) const;
  [[nodiscard]] Status publish(Incoming& incoming) const;
  [[nodiscard]] Result<Installed> kept(const Incoming& incoming, const LockEntry& entry) const;
  [[nodiscard]] Result<std::vector<std::string>> sweep_locked() const;
  [[nodiscard]] Result<LockEntry> change_entry(const std::string& name,
                                               const std::function<Status(LockEntry&)>& change) const;
  [[nodiscard]] std::string lock_path() const { return directory_ + "/lock.json"; }

  std::string directory_;
  TrustPolicy policy_;
};

}  // namespace slipway::plugin
