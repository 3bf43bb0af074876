// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include "cli/about.hpp"

#include <ostream>

namespace slipway::cli::testing {
namespace {

Result<ExitCode> print_name(Context& context, const Parsed& parsed) {
  context.out << "ran " << command_path(parsed.noun(), parsed.verb()) << '\n';
  return ExitCode::ok;
}

// Fails with what the label asks for.
Result<ExitCode> fail_by_label(Context&, const Parsed& parsed) {
  if (parsed.value("group") == "nosuch") return fail(Code::not_found, "group nosuch does not exist");
  if (parsed.value("group") == "bad") return fail(Code::invalid, "group: bad");
  if (parsed.value("group") == "both") {
    return fail(Code::conflict, "first line\nsecond \x1b[31m line").detail("to_do", "slipway machine list");
  }
  return ExitCode::timed_out;
}

}  // namespace

const Commands& machine_commands() {
  static const Commands commands = [] {
    Commands all{global_options(), about_nouns()};
    const Option group{
        .name = "group", .takes = Takes::text, .value_name = "GROUP", .help = "of this spread group"};
    Verb add{.name = "add",
             .help = "make machines",
             .description = "They are made by the daemon.\nThe command may end before they run.",
             .options =
                 {group,
                  {.name = "count",
                   .letter = 'n',
                   .takes = Takes::number,
                   .value_name = "N",
                   .fallback = "1",
                   .help = "how many"},
                  {.name = "label",
                   .takes = Takes::text,
                   .value_name = "KEY=VALUE",
                   .repeatable = true,
                   .help = "a free label"},
                  {.name = "user-data", .takes = Takes::text, .value_name = "FILE", .help = "for cloud-init"},
                  {.name = "wait",
                   .takes = Takes::text,
                   .value_name = "STATE",
                   .choices = {"accepted", "running", "address"},
                   .bare_value = "address",
                   .help = "until the machines are that far"}},
             .examples = {{"slipway machine add -n 3 --wait", "three machines, until they run"}},
             .exits = {{ExitCode::timed_out, "not all of them run in time"}},
             .run = print_name};
    Verb list{.name = "list", .help = "list machines", .options = {group}, .run = fail_by_label};
    Verb remove{.name = "remove",
                .help = "remove machines",
                .arguments = {{.name = "ID", .repeatable = true, .help = "the machines, by id or range"}},
                .options = {{.name = "force", .letter = 'f', .help = "do not wait for the cloud"}},
                .run = print_name};
    all.nouns.push_back({"machine", "make, show and remove machines", {add, list, remove}});
    add_noun_names(all);
    return all;
  }();
  return commands;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace slipway::cli::testing
