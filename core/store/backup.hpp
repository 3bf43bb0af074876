// SPDX-License-Identifier: Apache-2.0
// backup.hpp - copies of a store in one file each, and the way back. With a passphrase the root key lies
// beside the copy, sealed; without the key a copy holds no secret that can be read. Free functions; create()
// from any thread, one at a time for a directory.
#pragma once

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/secret.hpp"
#include "store/data_dir.hpp"
#include "store/store.hpp"

#include <slipway/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::store::backup {

struct Info {
  std::string name;  // "slipway-20261130T120824Z-4711.db", "pre-migration-1-20261130T120824Z.db"
  std::int64_t time_ms = 0;
  std::uint64_t bytes = 0;
  std::uint64_t revision = 0;
  std::string key_id;    // of the key that opens its secrets
  bool has_key = false;  // beside it, under a passphrase
  std::string problem;   // what its check found; empty: it is good
};

// Copies the store into `directory` (made if absent), checks the copy, and gives it its name last: a crash
// leaves a whole backup or none. With `passphrase`, also the key. Writers go on meanwhile.
[[nodiscard]] Result<Info> create(Store& store, const std::string& directory,
                                  const std::optional<Secret>& passphrase, const Clock& clock,
                                  Random& random);

// Newest first, each of them checked. No directory, no backups.
[[nodiscard]] Result<std::vector<Info>> list(const std::string& directory);

// Puts the backup in the place of the state in `target`, over which no store is open, with its incarnation
// raised: what the cloud has and the backup does not know is then resolved, never deleted (EXACTLY_ONCE,
// Harvest). What was there is kept as slipway.db.before-restore-TIME, and so is a key of another controller.
// `passphrase` opens the backup's key where slipway.key is absent or of another store. A crash leaves the old
// state, or the new one, or one that is refused until restore runs again.
Status restore(const std::string& directory, std::string_view name, const DataDir& target,
               const std::optional<Secret>& passphrase, const Clock& clock);

// Removes all but the newest `keep` that create() made; those from before a migration stay. Returns the
// names.
[[nodiscard]] Result<std::vector<std::string>> prune(const std::string& directory, std::size_t keep);

}  // namespace slipway::store::backup
