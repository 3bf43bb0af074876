// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include "cli/about.hpp"
#include "console.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

namespace slipway::cli {
namespace {

std::string help_of(const Commands& commands, const char* noun, const char* verb = nullptr, int width = 80) {
  const Noun* const found = commands.find(noun);
  REQUIRE(found != nullptr);
  return help_text(commands, found, verb == nullptr ? nullptr : find(*found, verb), width);
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

void check_options(const Commands& commands, const std::vector<Option>& own) {
  std::vector<Option> all = commands.global;
  all.insert(all.end(), own.begin(), own.end());
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const Option& option : all) {
    CAPTURE(option.name);
    CHECK(names.insert(option.name).second);
    CHECK((option.letter == 0 || letters.insert(option.letter).second));
    CHECK_FALSE(option.help.empty());
    const bool takes = option.takes != Takes::nothing;
    CHECK(takes == !option.value_name.empty());
    CHECK((takes || (option.choices.empty() && option.fallback.empty() && option.bare_value.empty() &&
                     option.variable.empty() && !option.repeatable)));
    for (const std::string_view value : {option.fallback, option.bare_value}) {
      const auto& choices = option.choices;
      CHECK((value.empty() || choices.empty() ||
             std::find(choices.begin(), choices.end(), value) != choices.end()));
    }
  }
}

void check_arguments(const Verb& verb) {
  for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
    CAPTURE(verb.arguments[i].name);
    CHECK_FALSE(verb.arguments[i].help.empty());
    if (i + 1 == verb.arguments.size()) continue;
    CHECK_FALSE(verb.arguments[i].repeatable);
    CHECK((verb.arguments[i].required || !verb.arguments[i + 1].required));
  }
}

}  // namespace

TEST_CASE("the table of commands is consistent") {
  for (const Commands& commands : {slipway_commands(), testing::machine_commands()}) {
    check_options(commands, {});
    std::set<std::string_view> nouns;
    for (const Noun& noun : commands.nouns) {
      CAPTURE(noun.name);
      CHECK(nouns.insert(noun.name).second);
      CHECK_FALSE(noun.help.empty());
      REQUIRE_FALSE(noun.verbs.empty());
      std::set<std::string_view> verbs;
      for (const Verb& verb : noun.verbs) {
        CAPTURE(verb.name);
        CHECK(verbs.insert(verb.name).second);
        CHECK((!verb.name.empty() || noun.is_command()));
        CHECK_FALSE(verb.help.empty());
        CHECK(verb.run != nullptr);
        check_options(commands, verb.options);
        check_arguments(verb);
      }
    }
  }
}

TEST_CASE("the overview lists nouns, global options and exit codes") {
  CHECK(help_text(testing::machine_commands(), nullptr, nullptr, 110) ==
        "slipway " + std::string(version()) + ": " + std::string(kPurpose) + "\n" + R"(
usage: slipway [OPTION...] NOUN [VERB] [ARGUMENT...]

commands:
  version               print the version
  help [NOUN] [VERB]    explain a command
  manual [NOUN] [VERB]  print the manual page
  completion SHELL      print a completion script for a shell
  machine VERB          make, show and remove machines

options, anywhere in the line:
  -e, --environment NAME              work in this environment (variable SLIPWAY_ENVIRONMENT)
  -o, --output table|wide|json|jsonl  how to print (default table)
      --columns KEYS                  of a list only these columns, in this order: id,name
      --no-header                     no titles above a table
  -q, --quiet                         of a list only the ids, a line each
      --socket PATH                   where the daemon listens (variable SLIPWAY_SOCKET)
  -y, --yes                           answer every question with yes
      --no-color                      no colours, as with the variable NO_COLOR
  -h, --help                          explain the noun or verb
      --version                       print the version

exit codes:
    0  everything that was asked for is done
    1  it failed, or part of it did, and nothing is under way any more
    2  the command line was refused; nothing was done
    3  no daemon answers
    4  what was named does not exist
    5  not done in time; it may still be under way
  130  interrupted; what was begun goes on in the daemon

more: slipway help NOUN [VERB], slipway manual
)");
}

TEST_CASE("the help of a command without verbs is that of the command") {
  CHECK(help_of(slipway_commands(), "completion") ==
        R"(slipway completion: print a completion script for a shell

usage: slipway completion [OPTION...] SHELL

It completes nouns, verbs, options and their values; it asks no daemon.

arguments:
  SHELL  the shell: bash, zsh

examples:
  for this bash:
    source <(slipway completion bash)
  for zsh, with ~/.zfunc in fpath:
    slipway completion zsh > ~/.zfunc/_slipway

global options and exit codes: slipway --help
)");
}

TEST_CASE("the help of a noun lists its verbs, that of a verb everything it takes") {
  CHECK(help_of(testing::machine_commands(), "machine") == R"(slipway machine: make, show and remove machines

usage: slipway machine VERB [OPTION...] [ARGUMENT...]

verbs:
  add           make machines
  list          list machines
  remove ID...  remove machines

more: slipway help machine VERB; global options: slipway --help
)");
  CHECK(help_of(testing::machine_commands(), "machine", "add") == R"(slipway machine add: make machines

usage: slipway machine add [OPTION...]

They are made by the daemon.
The command may end before they run.

options:
      --group GROUP      of this spread group
  -n, --count N          how many (default 1)
      --label KEY=VALUE  a free label (may be repeated)
      --user-data FILE   for cloud-init
      --wait[=accepted|running|address]
                         until the machines are that far (without a value
                         address)

examples:
  three machines, until they run:
    slipway machine add -n 3 --wait

exit codes:
    5  not all of them run in time

global options: slipway --help
)");
}

TEST_CASE("help is folded at the width of the terminal, within reason") {
  const Commands commands = slipway_commands();
  const std::string wide = help_text(commands, nullptr, nullptr, 100);
  CHECK(longest_line(wide) <= 100);
  const std::string narrow = help_of(testing::machine_commands(), "machine", "add", 60);
  CHECK(longest_line(narrow) <= 60);
  CHECK(help_of(testing::machine_commands(), "machine", "add", 1) == narrow);
  CHECK(help_text(commands, nullptr, nullptr, 5000) == help_text(commands, nullptr, nullptr, 110));
}

TEST_CASE("the manual says everything that the table has") {
  const Commands& commands = testing::machine_commands();
  const std::string page = manual_page(commands, nullptr, nullptr);
  CHECK(page.find(".Dd " + std::string(release_date()) + "\n.Dt SLIPWAY 1\n") != std::string::npos);
  for (const char* part :
       {".Ss slipway machine add\n", ".Ss slipway version\n", ".It Fl n , Fl Fl count Ar \"\\&N\"\n",
        ".It Fl Fl wait Ns Op = Ns Ar \"\\&accepted|running|address\"\n",
        ".It Fl Fl user\\-data Ar \"\\&FILE\"\n", ".It Ev SLIPWAY_SOCKET\n", ".It 130\n",
        ".Dl slipway machine add \\-n 3 \\-\\-wait\n", "Exit 5: not all of them run in time.\n",
        ".Ar \"\\&ID\" ...\n"}) {
    CAPTURE(part);
    CHECK(page.find(part) != std::string::npos);
  }
  const Noun* const machine = commands.find("machine");
  const std::string verb_page = manual_page(commands, machine, find(*machine, "remove"));
  CHECK(verb_page.find(".Dt SLIPWAY-MACHINE-REMOVE 1\n") != std::string::npos);
  CHECK(verb_page.find("machine add") == std::string::npos);
}

}  // namespace slipway::cli
