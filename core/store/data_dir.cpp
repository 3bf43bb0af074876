// SPDX-License-Identifier: Apache-2.0
#include "store/data_dir.hpp"

#include "store/files.hpp"
#include "store/keys.hpp"
#include "store/sqlite_engine.hpp"
#include "store/tables.hpp"

#include <utility>

namespace slipway::store {

Result<DataDir> DataDir::open(const std::string& path, bool may_create) {
  Status checked = fs::check_private(path, "data directory");
  if (!checked && checked.error().code == Code::not_found) {
    if (!may_create) {
      return fail(Code::not_found, "data directory {} does not exist; check the path (--data-dir)", path);
    }
    SLIPWAY_TRY(fs::make_directory(path, 0700));
    checked = fs::check_private(path, "data directory");
  }
  SLIPWAY_TRY(std::move(checked));
  auto lock = fs::FileLock::try_lock(path + "/slipway.lock");
  if (lock) return DataDir(path, *std::move(lock));
  Error error = std::move(lock).error();
  if (error.code == Code::conflict) {
    error.message +=
        ": another slipwayd runs on this data directory; stop it, or choose another with --data-dir";
  }
  return error;
}

Result<std::unique_ptr<Store>> open_store(const DataDir& directory, const OpenOptions& options,
                                          Executor& writer, Random& random) {
  const SqliteOptions file{.path = directory.database(),
                           .may_create = options.may_create,
                           .vfs = options.vfs,
                           .quick_check = options.quick_check,
                           .backup_dir = directory.backups()};
  SLIPWAY_TRY(SqliteEngine::check_file(file));
  // The key first: a database without its key would be lost.
  const bool is_new = files::size(file.path) == 0;
  SLIPWAY_TRY(Keys keys, Keys::open(directory.key(), is_new && options.may_create, random));
  SLIPWAY_TRY(auto engine, SqliteEngine::open(file, schema(), writer.clock()));
  return Store::open(std::move(engine), std::move(keys), options.store, writer, random);
}

}  // namespace slipway::store
