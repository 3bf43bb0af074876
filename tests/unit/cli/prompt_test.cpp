// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt.hpp"

#include "console.hpp"

#include <catch2/catch.hpp>

namespace slipway::cli {
namespace {

using testing::Console;

const std::vector<std::string> kLines{"will remove 9 machines of prod: 1 4 7", "  the security group stays"};
const std::string kShown = "will remove 9 machines of prod: 1 4 7\n  the security group stays\n";

Result<Answer> ask(Console& console, const char* line = "machine remove 1") {
  const auto words = testing::words_of(line);
  auto parsed = parse(testing::machine_commands(), words, console.context);
  REQUIRE(parsed.has_value());
  return confirm(console.context, *parsed, kLines, "Remove 9 machines?");
}

void be_terminal(Console& console, const char* typed) {
  console.in.str(typed);
  console.context.in_is_terminal = console.context.err_is_terminal = true;
}

}  // namespace

TEST_CASE("on a terminal it says what goes and what stays, and asks") {
  for (const char* typed : {"y\n", "Y\n", " yes \n", "YES\n", "y"}) {
    CAPTURE(typed);
    Console console;
    be_terminal(console, typed);
    CHECK(ask(console).value() == Answer::yes);
    CHECK(console.err.str() == kShown + "Remove 9 machines? [y/N] ");
    CHECK(console.out.str().empty());
  }
}

TEST_CASE("anything but yes is no, and is said to have changed nothing") {
  for (const char* typed : {"\n", "n\n", "no\n", "yess\n", "ja\n", "1\n", "\ny\n"}) {
    CAPTURE(typed);
    Console console;
    be_terminal(console, typed);
    CHECK(ask(console).value() == Answer::no);
    CHECK(console.err.str() == kShown + "Remove 9 machines? [y/N] nothing was changed\n");
  }
  Console console;
  be_terminal(console, "");
  CHECK(ask(console).value() == Answer::no);
  CHECK(console.err.str() == kShown + "Remove 9 machines? [y/N] \nnothing was changed\n");
}

TEST_CASE("the option --yes answers, with a terminal and without one, and what goes is still said") {
  Console console;
  CHECK(ask(console, "machine remove 1 -y").value() == Answer::yes);
  CHECK(console.err.str() == kShown);
  Console terminal;
  be_terminal(terminal, "n\n");
  CHECK(ask(terminal, "--yes machine remove 1").value() == Answer::yes);
}

TEST_CASE("where nobody can be asked, --yes is wanted and nothing is read") {
  for (const bool has_input : {false, true}) {
    Console console;
    be_terminal(console, "y\n");
    (has_input ? console.context.err_is_terminal : console.context.in_is_terminal) = false;
    const auto answer = ask(console);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == Code::invalid);
    CHECK(
        answer.error().message ==
        "Remove 9 machines? nobody can be asked here (no terminal); to do it without a question, add --yes");
    CHECK(console.in.tellg() == 0);
  }
}

TEST_CASE("what comes from outside cannot draw on the terminal of the question") {
  Console console;
  be_terminal(console, "y\n");
  const auto words = testing::words_of("machine remove 1");
  const auto parsed = parse(testing::machine_commands(), words, console.context);
  const std::vector<std::string> lines{"server \x1b[2Kweb"};
  CHECK(confirm(console.context, *parsed, lines, "Remove \r it?").value() == Answer::yes);
  CHECK(console.err.str().find('\x1b') == std::string::npos);
  CHECK(console.err.str().find('\r') == std::string::npos);
}

}  // namespace slipway::cli
