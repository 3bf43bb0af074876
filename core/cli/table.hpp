// SPDX-License-Identifier: Apache-2.0
// table.hpp - how verbs show lists: a table for people; JSON, JSON lines or bare ids for programs.
// Whatever comes from outside may be put into a cell: it reaches a terminal only in printable form.
// Thread rule: plain values.
#pragma once

#include "cli/parse.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace slipway::cli {

enum class Format { table, wide, json, jsonl };

// What the global options say about printing.
struct Output {
  Format format = Format::table;
  std::vector<std::string> columns{};  // keys, in this order; empty: the verb's own choice
  bool has_header = true;
  bool ids_only = false;  // --quiet
  bool has_colour = false;

  [[nodiscard]] bool is_json() const { return format == Format::json || format == Format::jsonl; }
};
// Colour only on a terminal, without --no-color and NO_COLOR.
[[nodiscard]] Output output_of(const Parsed& parsed, const Context& context);

struct Column {
  std::string_view key;    // snake_case: the JSON key; --columns also takes it in kebab-case
  std::string_view title;  // upper case
  bool is_number = false;  // to the right
  bool is_wide = false;    // a person sees it with -o wide or --columns only; JSON always has it
  bool is_state = false;   // its words have colours
};

struct Cell {
  std::string text;            // for people; empty is shown as "-"
  boost::json::value value{};  // for programs

  Cell(std::string shown) : text(std::move(shown)), value(text) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* shown) : Cell(std::string(shown)) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string shown, boost::json::value exact) : text(std::move(shown)), value(std::move(exact)) {}
};

struct Row {
  std::string id;           // what --quiet prints: the word that other verbs take
  std::vector<Cell> cells;  // one for each column
};

struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;
};

// invalid: --columns names a column that the table does not have, or one twice; then nothing was printed.
[[nodiscard]] Status print(Context& context, const Output& output, const Table& table);

// Columns that the text takes on a terminal; wide characters take two, combining ones none. UTF-8.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace slipway::cli
