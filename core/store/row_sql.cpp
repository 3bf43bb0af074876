// SPDX-License-Identifier: Apache-2.0
#include "store/row_sql.hpp"

#include "base/crash.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace slipway::store::sql {
namespace {

// word(0), word(1), ... with the separator between them.
template <class Word>
std::string listed(std::size_t count, std::string_view separator, Word word) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += separator;
    out += word(i);
  }
  return out;
}

std::string named(std::string_view identifier) { return message("\"{}\"", identifier); }
std::string parameter(std::size_t at) { return message("?{}", at + 1); }

std::vector<std::string_view> all_columns(const TableSchema& table) {
  std::vector<std::string_view> columns = table.columns;
  if (table.is_checksummed) columns.emplace_back("checksum");
  return columns;
}

std::string column_list(const TableSchema& table) {
  const auto columns = all_columns(table);
  return listed(columns.size(), ", ", [&](std::size_t i) { return named(columns[i]); });
}

std::string key_list(const TableSchema& table) {
  return listed(table.key_columns, ", ", [&](std::size_t i) { return named(table.columns[i]); });
}

std::string key_condition(const TableSchema& table, std::size_t count) {
  return listed(count, " AND ",
                [&](std::size_t i) { return named(table.columns[i]) + " = " + parameter(i); });
}

std::string insert_sql(const TableSchema& table) {
  return message("INSERT INTO {} ({}) VALUES ({})", named(table.name), column_list(table),
                 listed(all_columns(table).size(), ", ", parameter));
}

// "c" = VALUE for each column outside of the key.
template <class Word>
std::string assignments(const TableSchema& table, Word value) {
  const auto columns = all_columns(table);
  return listed(columns.size() - table.key_columns, ", ", [&](std::size_t i) {
    const std::size_t at = table.key_columns + i;
    return named(columns[at]) + " = " + value(at);
  });
}

}  // namespace

std::string write(const TableSchema& table, RowOp op) {
  switch (op) {
    case RowOp::insert:
      return insert_sql(table);
    case RowOp::put: {
      const auto columns = all_columns(table);
      return message("{} ON CONFLICT ({}) DO UPDATE SET {}", insert_sql(table), key_list(table),
                     assignments(table, [&](std::size_t at) { return "excluded." + named(columns[at]); }));
    }
    case RowOp::update:
      return message("UPDATE {} SET {} WHERE {}", named(table.name), assignments(table, parameter),
                     key_condition(table, table.key_columns));
    case RowOp::erase:
      break;
  }
  return message("DELETE FROM {} WHERE {}", named(table.name), key_condition(table, table.key_columns));
}

std::string load(const TableSchema& table) {
  return message("SELECT {} FROM {} ORDER BY {}", column_list(table), named(table.name), key_list(table));
}

std::string erase_below(const TableSchema& table) {
  const std::string keys = key_list(table);
  return message("DELETE FROM {} WHERE ({}) IN (SELECT {} FROM {} WHERE {} < ?1 ORDER BY {} LIMIT ?2)",
                 named(table.name), keys, keys, named(table.name), named(table.columns[0]), keys);
}

std::string refers(const TableSchema& child, const ForeignKey& foreign) {
  return message("SELECT 1 FROM {} WHERE {} LIMIT 1", named(child.name),
                 listed(foreign.columns.size(), " AND ", [&](std::size_t i) {
                   return named(child.columns[foreign.columns[i]]) + " = " + parameter(i);
                 }));
}

std::optional<Query> read(const TableSchema& table, const Values& prefix, const Values& after,
                          std::size_t limit) {
  SLIPWAY_ASSERT(prefix.size() <= table.key_columns && after.size() <= table.key_columns);
  Query query{{}, prefix};
  std::string condition = key_condition(table, prefix.size());
  // `after` either goes on inside of the prefix, or stands before or behind all that begins with it.
  const bool is_inside =
      after.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), after.begin());
  if (limit == 0 || (!is_inside && after > prefix)) return std::nullopt;
  if (is_inside && !after.empty()) {
    const std::size_t count = after.size() - prefix.size();
    const bool is_whole_key = after.size() == table.key_columns;
    if (is_whole_key && count == 0) return std::nullopt;
    if (count > 0) {
      const auto column = [&](std::size_t i) { return named(table.columns[prefix.size() + i]); };
      const auto place = [&](std::size_t i) { return parameter(prefix.size() + i); };
      // A part of a key stands before every key that begins with it.
      condition += message("{}({}) {} ({})", condition.empty() ? "" : " AND ", listed(count, ", ", column),
                           is_whole_key ? ">" : ">=", listed(count, ", ", place));
      query.values.insert(query.values.end(), after.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                          after.end());
    }
  }
  query.values.emplace_back(static_cast<std::int64_t>(limit));
  query.sql = message("SELECT {} FROM {}{}{} ORDER BY {} LIMIT {}", column_list(table), named(table.name),
                      condition.empty() ? "" : " WHERE ", condition, key_list(table),
                      parameter(query.values.size() - 1));
  return query;
}

}  // namespace slipway::store::sql
