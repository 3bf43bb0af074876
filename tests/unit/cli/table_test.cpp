// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include "console.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

namespace slipway::cli {
namespace {

using testing::Console;

Table machines() {
  return {.columns = {{.key = "id", .title = "ID"},
                      {.key = "name", .title = "NAME"},
                      {.key = "state", .title = "STATE", .is_state = true},
                      {.key = "cores", .title = "CORES", .is_number = true},
                      {.key = "last_start", .title = "LAST START", .is_wide = true}},
          .rows = {{"0", {"0", "web-0", "running", Cell("2", 2), Cell("40s ago", 1000)}},
                   {"prod:10", {"10", "", "failed", Cell("16", 16), Cell("", nullptr)}}}};
}

std::string printed(const char* options, const Table& table = machines(), bool is_terminal = false,
                    std::map<std::string, std::string> variables = {}) {
  Console console;
  console.variables = std::move(variables);
  console.context.out_is_terminal = is_terminal;
  const auto words = testing::words_of(std::string("machine list ") + options);
  const auto parsed = parse(testing::machine_commands(), words, console.context);
  REQUIRE(parsed.has_value());
  const Status status = print(console.context, output_of(*parsed, console.context), table);
  if (!status) {
    CHECK(console.out.str().empty());
    return "error: " + status.error().message;
  }
  return console.out.str();
}

}  // namespace

TEST_CASE("a table is aligned, numbers to the right, without blanks at the end of a line") {
  CHECK(printed("") ==
        "ID  NAME   STATE    CORES\n"
        "0   web-0  running      2\n"
        "10  -      failed      16\n");
  CHECK(printed("-o wide") ==
        "ID  NAME   STATE    CORES  LAST START\n"
        "0   web-0  running      2  40s ago\n"
        "10  -      failed      16  -\n");
  CHECK(printed("--no-header") ==
        "0   web-0  running   2\n"
        "10  -      failed   16\n");
}

TEST_CASE("an empty list is a header, an empty array, or nothing") {
  Table none = machines();
  none.rows.clear();
  CHECK(printed("", none) == "ID  NAME  STATE  CORES\n");
  CHECK(printed("-o json", none) == "[]\n");
  CHECK(printed("-o jsonl", none).empty());
  CHECK(printed("-q", none).empty());
}

TEST_CASE("JSON has every column by its key, with exact values, one row a line") {
  const std::string first = R"({"id":"0","name":"web-0","state":"running","cores":2,"last_start":1000})";
  const std::string second = R"({"id":"10","name":"","state":"failed","cores":16,"last_start":null})";
  CHECK(printed("-o json") == "[\n" + first + ",\n" + second + "\n]\n");
  CHECK(printed("-o jsonl") == first + "\n" + second + "\n");
  CHECK(boost::json::parse(printed("-o json")).as_array().size() == 2);
  CHECK(printed("-o jsonl --no-header") == printed("-o jsonl"));
}

TEST_CASE("columns are chosen by key, in the order asked for, wide ones too") {
  CHECK(printed("--columns last-start,id") ==
        "LAST START  ID\n"
        "40s ago     0\n"
        "-           10\n");
  CHECK(printed("-o jsonl --columns=state,cores") ==
        "{\"state\":\"running\",\"cores\":2}\n{\"state\":\"failed\",\"cores\":16}\n");
  CHECK(printed("--columns nam") ==
        "error: --columns: unknown column \"nam\" (did you mean \"name\"?); there are id, name, state, "
        "cores, last_start");
  CHECK(printed("--columns id,id") == "error: --columns: column \"id\" is named twice");
  CHECK(printed("--columns=").starts_with("error: --columns: unknown column \"\""));
  CHECK(printed("-q --columns zebra").starts_with("error: --columns: unknown column \"zebra\""));
}

TEST_CASE("quiet prints the ids that other verbs take, whatever the format") {
  CHECK(printed("-q") == "0\nprod:10\n");
  CHECK(printed("-q -o json") == "0\nprod:10\n");
}

TEST_CASE("states are coloured on a terminal only, and never in JSON") {
  const std::string plain = printed("--no-header --columns id,state");
  CHECK(plain == "0   running\n10  failed\n");
  CHECK(printed("--columns state,id", machines(), true) ==
        "STATE    ID\n"
        "\x1b[32mrunning\x1b[0m  0\n"
        "\x1b[31mfailed\x1b[0m   10\n");
  CHECK(printed("--no-header --columns id,state --no-color", machines(), true) == plain);
  CHECK(printed("--no-header --columns id,state", machines(), true, {{"NO_COLOR", "1"}}) == plain);
  CHECK(printed("--no-header --columns id,state", machines(), true, {{"NO_COLOR", ""}}) != plain);
  CHECK(printed("-o json", machines(), true) == printed("-o json"));
}

TEST_CASE("widths are those of the terminal, not of the bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("Z\u00fcrich") == 6);
  CHECK(display_width("\u6771\u4eac") == 4);  // wide
  CHECK(display_width("e\u0301") == 1);       // combining
  CHECK(display_width("\xff\xfe") == 2);      // not UTF-8
  CHECK(display_width(std::string_view("a\0b", 3)) == 3);
  const Table table{
      .columns = {{.key = "name", .title = "NAME"}, {.key = "zone", .title = "ZONE"}},
      .rows = {{"1", {"Z\u00fcrich", "a"}}, {"2", {"\u6771\u4eac", "b"}}, {"3", {"Bern", "c"}}}};
  CHECK(printed("", table) ==
        "NAME    ZONE\n"
        "Z\u00fcrich  a\n"
        "\u6771\u4eac    b\n"
        "Bern    c\n");
}

TEST_CASE("a cell cannot draw on the terminal nor break its line, and JSON keeps it exactly") {
  const Table table{.columns = {{.key = "name", .title = "NAME"}}, .rows = {{"a\x1b", {"a\x1b[31m\nb"}}}};
  for (const char* options : {"", "-o wide", "-q", "-o json", "-o jsonl"}) {
    CAPTURE(options);
    const std::string text = printed(options, table, true);
    CHECK(text.find('\x1b') == std::string::npos);
  }
  CHECK(printed("--no-header", table).find('\n') == printed("--no-header", table).size() - 1);
  CHECK(boost::json::parse(printed("-o jsonl", table)).at("name").as_string() == "a\x1b[31m\nb");
}

}  // namespace slipway::cli
