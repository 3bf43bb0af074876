// SPDX-License-Identifier: Apache-2.0
#include "plugin/plugin_store.hpp"

#include "base/log.hpp"
#include "plugin/package_files.hpp"
#include "plugin/store_sweep.hpp"

#include <fcntl.h>
#include <stdlib.h>  // mkdtemp
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr Logger kLog("plugins");
constexpr mode_t kDirectoryMode = 0555;

Status sync(int directory, std::string_view path) {
  if (fsync(directory) != 0) return fs::error_of(errno, "syncing", path);
  return ok();
}

Status sync_path(const std::string& path) {
  const fs::FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return fs::error_of(errno, "opening", path);
  return sync(directory.get(), path);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

LockedVersion locked_version(const Verified& verified) {
  return {package_digest(verified.files), verified.files, verified.signer ? verified.signer->id.text() : "",
          verified.manifest.version};
}

Failure not_installed(const std::string& name) {
  return fail(Code::not_found, "{} is not installed here; slipway plugin list shows what is", name);
}

}  // namespace

// A private directory beside the plugins, held by its maker so that nobody sweeps it; gone with this object
// unless it was published.
class PluginStore::Staging {
 public:
  Staging(std::string path, UseLock use) : path_(std::move(path)), use_(std::move(use)) {}
  Staging(Staging&& other) noexcept : path_(std::exchange(other.path_, {})), use_(std::move(other.use_)) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (path_.empty()) return;
    // What stays is swept by the next change.
    if (const auto status = remove_tree(path_); !status) {
      kLog.warn("a staging directory was not removed", {{"path", path_}, {"reason", status.error().message}});
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return use_.descriptor(); }
  void set_published() { path_.clear(); }

 private:
  std::string path_;  // empty: nothing to remove
  UseLock use_;
};

// A package that passed all checks and is not installed yet.
struct PluginStore::Incoming {
  Staging staging;
  Verified verified;
  LockedVersion version;
};

PluginStore::PluginStore(std::string directory, TrustPolicy policy)
    : directory_(std::move(directory)), policy_(std::move(policy)) {}

std::string PluginStore::directory_of(const std::string& name, const LockedVersion& version) const {
  return message("{}/{}/{}", directory_, name, version.directory());
}

Result<LockFile> PluginStore::entries() const { return read_lock_file(lock_path()); }

// Waits: who has it does nothing slow meanwhile.
Result<fs::FileDescriptor> PluginStore::lock() const {
  SLIPWAY_TRY(fs::make_directory(directory_, 0755));
  const std::string path = directory_ + "/.lock";
  fs::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return fs::error_of(errno, "opening", path);
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return fs::error_of(errno, "locking", path);
  }
  return file;
}

// Made and held under the store's lock, so that no sweep comes between.
Result<PluginStore::Staging> PluginStore::make_staging() const {
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  SLIPWAY_TRY(const auto swept, sweep_locked());
  for (const std::string& path : swept)
    kLog.info("removed what an interrupted change left", {{"path", path}});
  std::string path = directory_ + "/" + std::string(kStagingPrefix) + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fs::error_of(errno, "making a directory in", directory_);
  SLIPWAY_TRY(UseLock use, UseLock::own(path));
  return Staging(path, std::move(use));
}

// Copies first and verifies the copy, which nobody else can change: what was checked is what will be loaded.
Result<PluginStore::Incoming> PluginStore::take_in(const std::string& path) const {
  SLIPWAY_TRY(const SafeFile source, open_safely(path, policy_.owner_rules()));
  SLIPWAY_TRY(Staging staging, make_staging());
  if (source.is_directory()) {
    SLIPWAY_TRY(const auto entries, open_package(source, {policy_.owner_rules(), policy_.limits, true}));
    for (const PackageEntry& entry : entries) SLIPWAY_TRY(copy_entry(entry, staging.descriptor()));
  } else {
    SLIPWAY_TRY(
        unpack(source.descriptor.get(), path, staging.descriptor(), policy_.limits, policy_.disabled));
  }
  auto verified = verify_plugin(staging.path(), PluginSource::installed, policy_);
  if (!verified) {
    // People know the file that they named, not our directory.
    Error error = std::move(verified).error();
    replace_all(error.message, staging.path(), path);
    return error;
  }
  const LockedVersion version = locked_version(*verified);
  return Incoming{std::move(staging), *std::move(verified), version};
}

// Moves the staged files to where they are loaded from. The store's lock is held.
Status PluginStore::publish(Incoming& incoming) const {
  const std::string& name = incoming.verified.manifest.name;
  const std::string target = directory_of(name, incoming.version);
  SLIPWAY_TRY(fs::make_directory(directory_ + "/" + name, 0755));
  struct stat info {};
  if (lstat(target.c_str(), &info) == 0) {
    // Damaged, or of an interrupted change.
    SLIPWAY_TRY(const UseLock own, UseLock::own(target));
    SLIPWAY_TRY(remove_tree(target));
  }
  const int directory = incoming.staging.descriptor();
  if (fchmodat(directory, "helpers", kDirectoryMode, 0) != 0 && errno != ENOENT) {
    return fs::error_of(errno, "setting the mode of", target + "/helpers");
  }
  SLIPWAY_TRY(sync(directory, incoming.staging.path()));
  if (rename(incoming.staging.path().c_str(), target.c_str()) != 0) {
    return fs::error_of(errno, "making", target);
  }
  incoming.staging.set_published();
  // Only now: who is not root cannot move a directory that he may not write.
  if (fchmod(directory, kDirectoryMode) != 0) return fs::error_of(errno, "setting the mode of", target);
  SLIPWAY_TRY(sync(directory, target));
  SLIPWAY_TRY(sync_path(directory_ + "/" + name));
  replace_all(incoming.verified.library, incoming.verified.directory, target);
  incoming.verified.directory = target;
  return ok();
}

// The entry has this very package already.
Result<Installed> PluginStore::kept(const Incoming& incoming, const LockEntry& entry) const {
  SLIPWAY_TRY(Verified there, verify_plugin(directory_of(incoming.verified.manifest.name, incoming.version),
                                            PluginSource::installed, policy_, &incoming.version.files));
  return Installed{std::move(there), entry, true};
}

Result<Installed> PluginStore::install(const std::string& path, const InstallOptions& options) {
  auto incoming = take_in(path);
  if (!incoming) {
    Error error = std::move(incoming).error();
    if (error.details.contains("check"))
      error.message += "; nothing was installed and none of its code was run";
    return error;
  }
  const std::string name = incoming->verified.manifest.name;
  if (options.isolation == IsolationMode::in_process && !incoming->verified.may_run_in_process()) {
    return fail(Code::denied,
                "{} is not signed, so it runs only in a process of its own; nothing was installed", name);
  }
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  SLIPWAY_TRY(LockFile lock_file, entries());
  LockEntry& entry = lock_file.plugins[name];
  if (entry.current) {
    if (*entry.current != incoming->version) {
      return fail(Code::conflict, "{} {} is installed; to put {} in its place: slipway plugin upgrade {}",
                  name, entry.current->version, incoming->version.version, path);
    }
    if (auto installed = kept(*incoming, entry)) return installed;
    // What is there was damaged; this package repairs it.
  }
  SLIPWAY_TRY(publish(*incoming));
  if (!entry.current) entry.isolation = options.isolation;
  entry.current = incoming->version;
  SLIPWAY_TRY(write_lock_file(lock_path(), lock_file));
  return Installed{std::move(incoming->verified), entry, false};
}

Result<Installed> PluginStore::upgrade(const std::string& path) {
  auto incoming = take_in(path);
  if (!incoming) {
    Error error = std::move(incoming).error();
    if (error.details.contains("check"))
      error.message += "; nothing was changed and none of its code was run";
    return error;
  }
  const std::string name = incoming->verified.manifest.name;
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  SLIPWAY_TRY(LockFile lock_file, entries());
  LockEntry& entry = lock_file.plugins[name];
  if (!entry.current) return not_installed(name).detail("to_do", message("slipway plugin install {}", path));
  if (*entry.current == incoming->version) {
    if (auto installed = kept(*incoming, entry)) return installed;
    SLIPWAY_TRY(publish(*incoming));
    return Installed{std::move(incoming->verified), entry, false};
  }
  // The version before the present one goes, unless it is what comes back now.
  std::optional<UseLock> going;
  std::string going_path;
  if (entry.previous && *entry.previous != incoming->version) {
    going_path = directory_of(name, *entry.previous);
    auto own = UseLock::own(going_path);
    if (own) {
      going.emplace(*std::move(own));
    } else if (own.error().code != Code::not_found) {
      return std::move(own).error().within(
          message("{} keeps two versions, and the older one would go", name));
    }
  }
  SLIPWAY_TRY(publish(*incoming));
  entry.previous = std::exchange(entry.current, incoming->version);
  // A quarantine was about what the old version did.
  if (std::exchange(entry.quarantined, false)) entry.reason.clear();
  SLIPWAY_TRY(write_lock_file(lock_path(), lock_file));
  if (going) SLIPWAY_TRY(remove_tree(going_path));
  return Installed{std::move(incoming->verified), entry, false};
}

Result<LockEntry> PluginStore::change_entry(const std::string& name,
                                            const std::function<Status(LockEntry&)>& change) const {
  if (!is_plugin_name(name)) return fail(Code::invalid, "\"{}\" is no name of a plugin", name);
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  SLIPWAY_TRY(LockFile lock_file, entries());
  LockEntry entry = lock_file.plugins[name];
  SLIPWAY_TRY(change(entry));
  lock_file.plugins[name] = entry;
  // One that says nothing, of a plugin that is not installed here.
  if (entry == LockEntry{}) lock_file.plugins.erase(name);
  SLIPWAY_TRY(write_lock_file(lock_path(), lock_file));
  return entry;
}

Result<LockEntry> PluginStore::rollback(const std::string& name) {
  return change_entry(name, [&](LockEntry& entry) -> Status {
    if (!entry.current) return not_installed(name);
    if (!entry.previous) {
      return fail(Code::not_found, "{} {} has no version before it here", name, entry.current->version);
    }
    const std::string directory = directory_of(name, *entry.previous);
    const auto verified = verify_plugin(directory, PluginSource::installed, policy_, &entry.previous->files);
    if (!verified) return verified.error();
    std::swap(entry.current, entry.previous);
    if (std::exchange(entry.quarantined, false)) entry.reason.clear();
    return ok();
  });
}

Status PluginStore::remove(const std::string& name) {
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  SLIPWAY_TRY(LockFile lock_file, entries());
  const auto found = lock_file.plugins.find(name);
  if (found == lock_file.plugins.end() || !found->second.current) return not_installed(name);
  std::vector<std::pair<std::string, UseLock>> going;
  for (const auto& version : {found->second.current, found->second.previous}) {
    if (!version) continue;
    const std::string path = directory_of(name, *version);
    auto own = UseLock::own(path);
    if (own) {
      going.emplace_back(path, *std::move(own));
    } else if (own.error().code != Code::not_found) {
      return std::move(own).error().within(message("{} was not removed", name));
    }
  }
  // The record first: what is left of the files after a crash is swept.
  lock_file.plugins.erase(found);
  SLIPWAY_TRY(write_lock_file(lock_path(), lock_file));
  for (const auto& [path, own] : going) SLIPWAY_TRY(remove_tree(path));
  rmdir((directory_ + "/" + name).c_str());  // stays if something of others is in it
  return ok();
}

Status PluginStore::enable(const std::string& name) {
  SLIPWAY_TRY(const LockEntry changed, change_entry(name, [](LockEntry& entry) {
                entry.enabled = true;
                entry.quarantined = false;
                entry.reason.clear();
                return ok();
              }));
  return ok();
}

Status PluginStore::disable(const std::string& name, const std::string& reason) {
  SLIPWAY_TRY(const LockEntry changed, change_entry(name, [&](LockEntry& entry) {
                entry.enabled = false;
                entry.reason = reason;
                return ok();
              }));
  return ok();
}

Status PluginStore::quarantine(const std::string& name, const std::string& reason) {
  SLIPWAY_TRY(const LockEntry changed, change_entry(name, [&](LockEntry& entry) {
                entry.quarantined = true;
                entry.reason = reason;
                return ok();
              }));
  return ok();
}

Status PluginStore::set_isolation(const std::string& name, IsolationMode isolation) {
  SLIPWAY_TRY(
      const LockEntry changed, change_entry(name, [&](LockEntry& entry) -> Status {
        if (isolation == IsolationMode::in_process && entry.current && entry.current->signer.empty()) {
          return fail(Code::denied, "{} is not signed, so it runs only in a process of its own", name);
        }
        entry.isolation = isolation;
        return ok();
      }));
  return ok();
}

Result<Loadable> PluginStore::load(const std::string& name) const {
  SLIPWAY_TRY(const LockFile lock_file, entries());
  const LockEntry* entry = lock_file.find(name);
  if (entry == nullptr || !entry->current) return not_installed(name);
  if (!entry->may_load()) {
    return fail(Code::denied, "{} is {}{}{}", name, entry->quarantined ? "quarantined" : "disabled",
                entry->reason.empty() ? "" : ": ", entry->reason)
        .detail("to_do", message("slipway plugin enable {}", name));
  }
  const std::string directory = directory_of(name, *entry->current);
  SLIPWAY_TRY(UseLock use, UseLock::share(directory));
  SLIPWAY_TRY(Verified verified,
              verify_plugin(directory, PluginSource::installed, policy_, &entry->current->files));
  return Loadable{std::move(verified), *entry, std::move(use)};
}

Result<std::vector<std::string>> PluginStore::sweep() {
  SLIPWAY_TRY(const fs::FileDescriptor held, lock());
  return sweep_locked();
}

Result<std::vector<std::string>> PluginStore::sweep_locked() const {
  SLIPWAY_TRY(const LockFile lock_file, entries());
  return sweep_leftovers(directory_, lock_file);
}

}  // namespace slipway::plugin
