// SPDX-License-Identifier: Apache-2.0
// table.cpp - layout of tables, and their JSON. Thread rule: as the header says.
#include "cli/table.hpp"

#include "base/text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <locale.h>

#include <algorithm>
#include <array>
#include <cwchar>
#include <ostream>
#include <utility>

namespace slipway::cli {
namespace {

constexpr std::string_view kGap = "  ";

// Decoding and widths by the C library's tables, for UTF-8 whatever the process's own locale is.
class Utf8Locale {
 public:
  Utf8Locale() : before_(uselocale(utf8())) {}
  ~Utf8Locale() { uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t utf8() {
    // Part of every Debian libc. Without it uselocale(0) changes nothing, and widths are counted in bytes.
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t before_;
};

std::string_view colour(std::string_view state) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kColours{{
      {"ok", "\x1b[32m"},
      {"running", "\x1b[32m"},
      {"enabled", "\x1b[32m"},
      {"pending", "\x1b[33m"},
      {"building", "\x1b[33m"},
      {"blocked", "\x1b[33m"},
      {"stopping", "\x1b[33m"},
      {"suspended", "\x1b[33m"},
      {"failing", "\x1b[33m"},
      {"failed", "\x1b[31m"},
      {"FAILED", "\x1b[31m"},
      {"down", "\x1b[31m"},
      {"quarantined", "\x1b[31m"},
      {"error", "\x1b[31m"},
  }};
  for (const auto& [word, code] : kColours) {
    if (word == state) return code;
  }
  return "";
}

std::string as_key(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

using Indices = std::vector<std::size_t>;

// Which columns, in which order.
Result<Indices> choose_columns(const Output& output, const std::vector<Column>& columns) {
  Indices chosen;
  if (output.columns.empty()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].is_wide || output.format != Format::table) chosen.push_back(i);
    }
    return chosen;
  }
  std::vector<std::string_view> keys;
  for (const Column& column : columns) keys.push_back(column.key);
  for (const std::string& name : output.columns) {
    const std::string key = as_key(name);
    const auto found = std::find(keys.begin(), keys.end(), key);
    if (found == keys.end()) {
      const std::string all = text::join(std::vector<std::string>(keys.begin(), keys.end()), ", ");
      return fail(Code::invalid, "--columns: unknown column \"{}\"{}; there are {}", name,
                  text::did_you_mean(key, keys), all);
    }
    const auto index = static_cast<std::size_t>(found - keys.begin());
    if (std::find(chosen.begin(), chosen.end(), index) != chosen.end()) {
      return fail(Code::invalid, "--columns: column \"{}\" is named twice", name);
    }
    chosen.push_back(index);
  }
  return chosen;
}

std::string shown(const Cell& cell) { return cell.text.empty() ? "-" : text::escaped(cell.text); }

void append_cell(std::string& line, const Column& column, std::string_view text, std::size_t width,
                 bool is_last, std::string_view paint) {
  const std::size_t missing = width - display_width(text);
  if (column.is_number) line.append(missing, ' ');
  line.append(paint).append(text).append(paint.empty() ? "" : "\x1b[0m");
  // No blanks at the end of a line: they wrap on a narrow terminal.
  if (is_last) return;
  if (!column.is_number) line.append(missing, ' ');
  line.append(kGap);
}

std::string laid_out(const Output& output, const Table& table, const Indices& chosen) {
  std::vector<std::vector<std::string>> texts;  // by row, by chosen column
  for (const Row& row : table.rows) {
    auto& line = texts.emplace_back();
    for (const std::size_t index : chosen) line.push_back(shown(row.cells[index]));
  }
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    std::size_t width = output.has_header ? display_width(table.columns[chosen[c]].title) : 0;
    for (const auto& line : texts) width = std::max(width, display_width(line[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto append_line = [&](const auto& text_of, bool is_painted) {
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const Column& column = table.columns[chosen[c]];
      const std::string_view text = text_of(c);
      const std::string_view paint = is_painted && column.is_state ? colour(text) : "";
      append_cell(out, column, text, widths[c], c + 1 == chosen.size(), paint);
    }
    out += '\n';
  };
  if (output.has_header) {
    append_line([&](std::size_t c) { return table.columns[chosen[c]].title; }, false);
  }
  for (const auto& line : texts) {
    append_line([&](std::size_t c) { return std::string_view(line[c]); }, output.has_colour);
  }
  return out;
}

std::string as_json(const Table& table, const Row& row, const Indices& chosen) {
  boost::json::object object;
  for (const std::size_t index : chosen) object[table.columns[index].key] = row.cells[index].value;
  return boost::json::serialize(object);
}

// One row a line in both forms, so that an array can be read by eye and by line-based tools too.
void print_json(std::ostream& out, const Output& output, const Table& table, const Indices& chosen) {
  const bool is_array = output.format == Format::json;
  if (is_array) out << '[';
  std::string_view separator = "\n";
  for (const Row& row : table.rows) {
    if (is_array) out << std::exchange(separator, ",\n");
    out << as_json(table, row, chosen);
    if (!is_array) out << '\n';
  }
  if (is_array) out << (table.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace

Output output_of(const Parsed& parsed, const Context& context) {
  Output output;
  const std::string_view format = parsed.value("output");
  output.format = format == "wide"    ? Format::wide
                  : format == "json"  ? Format::json
                  : format == "jsonl" ? Format::jsonl
                                      : Format::table;
  if (parsed.has("columns")) {
    for (const std::string_view column : text::split(parsed.value("columns"), ',')) {
      output.columns.emplace_back(text::trim(column));
    }
  }
  output.has_header = !parsed.has("no-header");
  output.ids_only = parsed.has("quiet");
  output.has_colour =
      context.out_is_terminal && !parsed.has("no-color") && !context.value_of("NO_COLOR").has_value();
  return output;
}

Status print(Context& context, const Output& output, const Table& table) {
  SLIPWAY_TRY(const Indices chosen, choose_columns(output, table.columns));
  if (output.ids_only) {
    for (const Row& row : table.rows) context.out << text::escaped(row.id) << '\n';
  } else if (output.is_json()) {
    print_json(context.out, output, table, chosen);
  } else {
    context.out << laid_out(output, table, chosen);
  }
  return ok();
}

std::size_t display_width(std::string_view text) {
  const Utf8Locale locale;
  std::mbstate_t state{};
  std::size_t width = 0;
  while (!text.empty()) {
    wchar_t character = 0;
    const std::size_t length = std::mbrtowc(&character, text.data(), text.size(), &state);
    const bool is_valid = length != 0 && length <= text.size();  // errors are (size_t)-1 and -2
    if (!is_valid) state = {};
    const int cells = is_valid ? wcwidth(character) : 1;
    width += static_cast<std::size_t>(std::max(cells, 0));
    text.remove_prefix(is_valid ? length : 1);
  }
  return width;
}

}  // namespace slipway::cli
