// SPDX-License-Identifier: Apache-2.0
// row_sql.hpp - the SQL for rows of a table, made of its schema. ?1, ?2, ... are the row's values in their
// order, key first. Pure.
#pragma once

#include "store/engine.hpp"

#include <optional>
#include <string>

namespace slipway::store::sql {

[[nodiscard]] std::string write(const TableSchema& table, RowOp op);
// All rows in the order of their keys.
[[nodiscard]] std::string load(const TableSchema& table);
// ?1: the bound, ?2: the limit.
[[nodiscard]] std::string erase_below(const TableSchema& table);
// Whether a row of `child` refers by `foreign` to the row whose key is ?1, ?2, ...
[[nodiscard]] std::string refers(const TableSchema& child, const ForeignKey& foreign);

struct Query {
  std::string sql;
  Values values;
};
// Engine::read(); nothing where no row can be.
[[nodiscard]] std::optional<Query> read(const TableSchema& table, const Values& prefix, const Values& after,
                                        std::size_t limit);

}  // namespace slipway::store::sql
