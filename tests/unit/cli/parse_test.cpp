// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include "console.hpp"

#include <catch2/catch.hpp>

namespace slipway::cli {
namespace {

using testing::Console;
using testing::machine_commands;
using testing::words_of;

Parsed parsed(const std::vector<std::string>& words, std::map<std::string, std::string> variables = {}) {
  Console console;
  console.variables = std::move(variables);
  auto result = parse(machine_commands(), words, console.context);
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
  return *std::move(result);
}

std::vector<std::string> list(std::span<const std::string> values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("global options stand anywhere, a verb's options anywhere behind it") {
  for (const char* line : {"-e prod -o json machine add -n 20 --group web -q",
                           "machine -eprod add --output=json -qn20 --group=web",
                           "machine add --group web -n 20 --environment prod -q -ojson",
                           "--quiet machine add -qn 20 --group web -o json -e prod"}) {
    CAPTURE(line);
    const Parsed line_of = parsed(words_of(line));
    CHECK(line_of.noun()->name == "machine");
    CHECK(line_of.verb()->name == "add");
    CHECK(line_of.value("environment") == "prod");
    CHECK(line_of.value("output") == "json");
    CHECK(line_of.value("group") == "web");
    CHECK(line_of.number("count") == 20);
    CHECK(line_of.has("quiet"));
    CHECK_FALSE(line_of.has("yes"));
  }
}

TEST_CASE("what is not given has its fallback") {
  const Parsed line = parsed(words_of("machine add"));
  CHECK(line.value("output") == "table");
  CHECK(line.number("count") == 1);
  CHECK(line.value("group").empty());
  CHECK_FALSE(line.has("output"));
  CHECK(line.values("label").empty());
}

TEST_CASE("a repeatable option keeps all values in order, and may hold anything") {
  const Parsed line =
      parsed({"machine", "add", "--label", "a=1", "--label=", "--label", "", "--label=-x=y", "--label", "-"});
  CHECK(list(line.values("label")) == std::vector<std::string>{"a=1", "", "", "-x=y", "-"});
}

TEST_CASE("an option with an optional value takes it only behind an equal sign") {
  CHECK_FALSE(parsed(words_of("machine add")).has("wait"));
  CHECK(parsed(words_of("machine add --wait")).value("wait") == "address");
  CHECK(parsed(words_of("machine add --wait=running")).value("wait") == "running");
  CHECK(parsed(words_of("machine add --wait -n 2")).value("wait") == "address");
}

TEST_CASE("arguments are kept in order, and -- ends the options") {
  CHECK(list(parsed(words_of("machine remove 0-3 -f 7 9")).arguments("ID")) ==
        std::vector<std::string>{"0-3", "7", "9"});
  const Parsed line = parsed(words_of("machine remove -- -f --help -- 7"));
  CHECK(list(line.arguments("ID")) == std::vector<std::string>{"-f", "--help", "--", "7"});
  CHECK_FALSE(line.has("force"));
  CHECK_FALSE(line.has("help"));
  CHECK(parsed(words_of("-- machine remove 1")).argument("ID") == "1");
}

TEST_CASE("a noun without verbs takes its arguments directly") {
  const Parsed line = parsed(words_of("completion zsh"));
  CHECK(line.verb()->name.empty());
  CHECK(line.argument("SHELL") == "zsh");
  CHECK(parsed(words_of("help")).argument("NOUN").empty());
}

TEST_CASE("a variable stands in for an option that the line does not have") {
  const std::map<std::string, std::string> variables{{"SLIPWAY_SOCKET", "/run/a.sock"},
                                                     {"SLIPWAY_ENVIRONMENT", ""}};
  const Parsed by_variable = parsed(words_of("version"), variables);
  CHECK(by_variable.value("socket") == "/run/a.sock");
  CHECK(by_variable.has("socket"));
  CHECK_FALSE(by_variable.has("environment"));
  const Parsed by_line = parsed(words_of("version --socket b.sock"), variables);
  CHECK(list(by_line.values("socket")) == std::vector<std::string>{"b.sock"});
}

TEST_CASE("a question for help or the version is understood in an incomplete line") {
  CHECK(parsed(words_of("--help")).noun() == nullptr);
  CHECK(parsed(words_of("machine -h")).verb() == nullptr);
  CHECK(parsed(words_of("machine remove --help")).verb()->name == "remove");
  CHECK(parsed(words_of("--version")).has("version"));
}

TEST_CASE("a refused line says which word, why, and which help to read") {
  struct Case {
    const char* line;
    const char* message;
    const char* see;
  };
  const Case cases[] = {
      {"machin list", R"(unknown noun "machin" (did you mean "machine"?))", "slipway --help"},
      {"zebra", R"(unknown noun "zebra")", "slipway --help"},
      {"-q", "a noun is missing", "slipway --help"},
      {"machine", "slipway machine: a verb is missing: add, list or remove", "slipway machine --help"},
      {"machine lsit", R"(slipway machine: unknown verb "lsit" (did you mean "list"?))",
       "slipway machine --help"},
      {"machine list 3", R"(slipway machine list: unexpected argument "3")", "slipway machine list --help"},
      {"version now", R"(slipway version: unexpected argument "now")", "slipway version --help"},
      {"machine remove", "slipway machine remove: the argument ID is missing",
       "slipway machine remove --help"},
      {"completion", "slipway completion: the argument SHELL is missing", "slipway completion --help"},
      {"completion fish", R"(SHELL: expected bash or zsh, got "fish")", "slipway completion --help"},
      {"completion bahs", R"(SHELL: expected bash or zsh, got "bahs" (did you mean "bash"?))",
       "slipway completion --help"},
      {"machine add --grup web", R"(unknown option --grup (did you mean "--group"?))",
       "slipway machine add --help"},
      {"machine list --colums=id", R"(unknown option --colums (did you mean "--columns"?))",
       "slipway machine list --help"},
      {"machine list --force", "unknown option --force", "slipway machine list --help"},
      {"machine list --", "", ""},
      {"machine list -f", "unknown option -f", "slipway machine list --help"},
      {"machine add -qx", "unknown option -x", "slipway machine add --help"},
      {"machine add -\xc3\xa9n", "unknown option -\xc3\xa9n", "slipway machine add --help"},
      {"--group web machine list", "option --group stands before noun and verb; only global options may",
       "slipway --help"},
      {"machine add --group", "--group: needs a value (GROUP)", "slipway machine add --help"},
      {"machine add -n", "--count: needs a value (N)", "slipway machine add --help"},
      {"machine add --group --wait",
       "--group: needs a value (GROUP), got the option --wait; if it is the value: --group=--wait",
       "slipway machine add --help"},
      {"machine add --quiet=yes", R"(--quiet: takes no value, got "yes")", "slipway machine add --help"},
      {"machine add --group a --group b", "--group: given twice", "slipway machine add --help"},
      {"machine add -n two", R"(--count: expected a whole number, got "two")", "slipway machine add --help"},
      {"machine add -n=2", R"(--count: expected a whole number, got "=2")", "slipway machine add --help"},
      {"machine add --count=-1", R"(--count: expected a whole number, got "-1")",
       "slipway machine add --help"},
      {"machine add -n 9223372036854775808", R"(--count: expected a whole number, got "9223372036854775808")",
       "slipway machine add --help"},
      {"machine add --wait=runing",
       R"(--wait: expected accepted, running or address, got "runing" (did you mean "running"?))",
       "slipway machine add --help"},
      {"machine list -o yaml", R"(--output: expected table, wide, json or jsonl, got "yaml")",
       "slipway machine list --help"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.line);
    Console console;
    const auto result = parse(machine_commands(), words_of(c.line), console.context);
    if (*c.message == '\0') {
      CHECK(result.has_value());
      continue;
    }
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Code::invalid);
    CHECK(result.error().message == c.message);
    CHECK(result.error().details.at("see") == c.see);
  }
}

TEST_CASE("a value from a variable is checked like one from the line, and named by the variable") {
  Commands commands = machine_commands();
  for (Option& option : commands.global) {
    if (option.name == "output") option.variable = "SLIPWAY_OUTPUT";
  }
  Console console;
  console.variables = {{"SLIPWAY_OUTPUT", "yaml"}};
  const auto result = parse(commands, words_of("version"), console.context);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == R"(SLIPWAY_OUTPUT: expected table, wide, json or jsonl, got "yaml")");
}

}  // namespace slipway::cli
