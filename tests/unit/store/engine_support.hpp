// SPDX-License-Identifier: Apache-2.0
// engine_support.hpp - short forms for tests of the SQLite engine: open it, change rows, look into its file.
#pragma once

#include "store/sqlite.hpp"
#include "store/sqlite_engine.hpp"
#include "store/tables.hpp"
#include "support/store_rows.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace slipway::testing {

inline const Clock& fake_clock() {
  static const FakeClock clock;
  return clock;
}

inline Result<std::unique_ptr<store::SqliteEngine>> try_open(const std::string& path, bool may_create = false,
                                                             const std::string& backup_dir = {}) {
  store::SqliteOptions options;
  options.path = path;
  options.may_create = may_create;
  options.backup_dir = backup_dir;
  return store::SqliteEngine::open(std::move(options), store::schema(), fake_clock());
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "ok" : result.error().message;
}

template <class T>
T must(Result<T> result) {
  INFO(message_of(result));
  REQUIRE(result);
  return *std::move(result);
}

inline std::unique_ptr<store::SqliteEngine> open_engine(const std::string& path) {
  return must(try_open(path, true));
}

template <class Row>
store::RowChange writing(store::RowOp op, const Row& row) {
  store::Values values = store::to_values(row);
  if (store::TableOf<Row>::is_checksummed) values.emplace_back(store::Blob{std::string(16, 'c')});
  return {store::kTableNumber<Row>, op, std::move(values)};
}
template <class Row>
store::RowChange inserting_row(const Row& row) {
  return writing(store::RowOp::insert, row);
}
template <class Row>
store::RowChange erasing_row(const Row& row) {
  return {store::kTableNumber<Row>, store::RowOp::erase, store::key_values<Row>(row.key())};
}
inline store::RowChange meta(std::string name, std::string value) {
  return writing(store::RowOp::put, store::MetaRow{std::move(name), std::move(value)});
}
inline model::Change change_row(std::uint64_t revision, std::uint32_t ordinal, std::string note = "a note") {
  model::Change row;
  row.revision = {revision};
  row.ordinal = ordinal;
  row.environment = {1};
  row.note = std::move(note);
  return row;
}

using RowChanges = std::vector<store::RowChange>;

// One group of one transaction, which has to work.
inline void write(store::Engine& engine, const RowChanges& changes) {
  must(engine.begin());
  must(engine.apply(changes));
  must(engine.commit());
}

template <class Row>
std::vector<store::Values> rows_of(store::Engine& engine) {
  return must(engine.read(store::kTableNumber<Row>, {}, {}, 1'000'000));
}

// Runs SQL on a file that no engine has open; rows as they come.
inline std::vector<store::Values> sql(const std::string& path, std::string_view text) {
  auto database = must(store::sqlite::Database::open(path, store::sqlite::Access::read_write));
  return must(database.query(text));
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  REQUIRE(file.flush());
}

}  // namespace slipway::testing
