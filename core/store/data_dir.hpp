// SPDX-License-Identifier: Apache-2.0
// data_dir.hpp - the directory in which a controller keeps its state: protected, and one daemon's alone while
// the object lives. open_store() is the one way from there to a Store. One owner; immutable.
#pragma once

#include "base/clock.hpp"
#include "base/executor.hpp"
#include "base/fs.hpp"
#include "base/random.hpp"
#include "store/store.hpp"

#include <slipway/result.hpp>

#include <memory>
#include <string>

namespace slipway::store {

class DataDir {
 public:
  // Makes the directory (0700) if it is absent and `may_create`, checks that nobody else may write there, and
  // locks it. conflict: "... is locked by pid 4711 (slipwayd): ...".
  [[nodiscard]] static Result<DataDir> open(const std::string& path, bool may_create);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string database() const { return path_ + "/slipway.db"; }
  [[nodiscard]] std::string key() const { return path_ + "/slipway.key"; }
  [[nodiscard]] std::string backups() const { return path_ + "/backups"; }

 private:
  DataDir(std::string path, fs::FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  fs::FileLock lock_;
};

struct OpenOptions {
  bool may_create = false;  // a state where there is none
  bool quick_check = true;
  std::string vfs;  // for tests: SqliteOptions::vfs
  StoreSettings store;
};

// Opens the key and the database in the directory and the store over them. The directory is held until the
// store is gone (the caller keeps both in this order); so do `writer` and `random`. A new key is made only
// where there is no database: not_found "key file ... is missing" otherwise.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const DataDir& directory, const OpenOptions& options,
                                                        Executor& writer, Random& random);

}  // namespace slipway::store
