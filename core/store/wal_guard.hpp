// SPDX-License-Identifier: Apache-2.0
// wal_guard.hpp - whether the write-ahead log that lies beside a database is the database's own, and whole.
// SQLite replays any log that it finds: one that was left beside a replaced database mixes two states, and
// one with a damaged page loses every commit behind it without a word.
//
// The engine writes the state from which a log goes on (wal_base: epoch and revision, which only grow) into
// the log's first transaction. The log then belongs to a database file whose own state is not older than that
// and not newer than what the log leads to. One strand.
#pragma once

#include "store/sqlite.hpp"

#include <slipway/result.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace slipway::store {

// How far a database is.
struct WalState {
  std::string controller;
  std::int64_t epoch = 0;
  std::int64_t revision = 0;
};

// Of the database file alone, as if there was no log. Nothing: there is no log, or no state in the file yet.
// To be called before the database is opened otherwise.
[[nodiscard]] std::optional<WalState> state_without_log(const std::string& path, const std::string& vfs);

// invalid: the log that `database` shows belongs to another file, or to another time of this one.
Status check_log_belongs(sqlite::Database& database, const std::optional<WalState>& without_log);

// internal: there are commits behind the `valid_pages` that SQLite could read of the log. A commit that was
// cut short by a crash is no damage: nothing was written behind it.
Status check_log_is_whole(const std::string& path, std::int64_t valid_pages);

// To be called first in the first transaction after the log was moved into the database.
Status note_log_base(sqlite::Database& database);

}  // namespace slipway::store
