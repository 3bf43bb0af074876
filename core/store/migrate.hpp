// SPDX-License-Identifier: Apache-2.0
// migrate.hpp - the schema's history as numbered SQL files (migrations/), each applied once and for ever, and
// the check that what they lead to is what the row structs say. One strand.
#pragma once

#include "base/clock.hpp"
#include "store/engine.hpp"
#include "store/sqlite.hpp"

#include <slipway/result.hpp>

#include <span>
#include <string>
#include <string_view>

namespace slipway::store {

struct Migration {
  int version = 0;        // from 1, without gaps
  std::string_view name;  // "initial"
  std::string_view sql;   // never changed once it was released: its hash is compared
};

// Those of this program, oldest first (made of migrations/NNNN_name.sql by the build).
[[nodiscard]] std::span<const Migration> migrations();

// invalid: some other program made the file. To be called before anything is written to it.
Status check_is_ours(sqlite::Database& database);

// Applies what is missing, each in a transaction together with its row in the table `migration`: a crash
// between two leaves a file from which it goes on. A file that has something in it is copied before to
// `backup_dir` (unless that is empty) as pre-migration-VERSION-TIME.db, and the copy is checked.
// unsupported: the file is of a newer program. invalid: a migration was applied with other text.
Status migrate(sqlite::Database& database, std::span<const Migration> wanted, const std::string& backup_dir,
               const std::string& vfs, const Clock& clock);

// internal: a table or column is missing, is one too many, or has another place in the key.
Status check_schema(sqlite::Database& database, const Schema& schema);

}  // namespace slipway::store
