// SPDX-License-Identifier: Apache-2.0
// about.cpp - version, help, manual, completion.
#include "cli/about.hpp"

#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/parse.hpp"
#include "cli/table.hpp"

#include <boost/json/serialize.hpp>

#include <ostream>

namespace slipway::cli {
namespace {

Result<ExitCode> print_version(Context& context, const Parsed& parsed) {
  const Output output = output_of(parsed, context);
  if (output.is_json()) {
    const boost::json::value value{{"version", version()}, {"build", build()}};
    context.out << boost::json::serialize(value) << '\n';
  } else if (output.ids_only) {
    context.out << version() << '\n';
  } else if (output.format == Format::wide) {
    context.out << "slipway " << version() << ", " << build() << " build\n";
  } else {
    context.out << "slipway " << version() << '\n';
  }
  return ExitCode::ok;
}

// The noun and the verb that help or manual are asked for; both null: everything.
struct Topic {
  const Noun* noun = nullptr;
  const Verb* verb = nullptr;
};

Result<Topic> topic_of(const Parsed& parsed) {
  Topic topic;
  const std::string_view noun = parsed.argument("NOUN");
  const std::string_view verb = parsed.argument("VERB");
  if (noun.empty()) return topic;
  topic.noun = parsed.commands().find(noun);  // the parser let only nouns pass
  if (verb.empty()) return topic;
  topic.verb = find(*topic.noun, verb);
  if (topic.verb != nullptr) return topic;
  if (topic.noun->is_command())
    return fail(Code::invalid, "VERB: slipway {} has no verbs, got \"{}\"", noun, verb);
  std::vector<std::string_view> verbs;
  for (const Verb& known : topic.noun->verbs) verbs.push_back(known.name);
  return fail(Code::invalid, "slipway {}: unknown verb \"{}\"{}", noun, verb,
              text::did_you_mean(verb, verbs));
}

Result<ExitCode> print_help(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(const Topic topic, topic_of(parsed));
  context.out << (parsed.has("man") ? manual_page(parsed.commands(), topic.noun, topic.verb)
                                    : help_text(parsed.commands(), topic.noun, topic.verb, context.width));
  return ExitCode::ok;
}

Result<ExitCode> print_manual(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(const Topic topic, topic_of(parsed));
  context.out << manual_page(parsed.commands(), topic.noun, topic.verb);
  return ExitCode::ok;
}

Result<ExitCode> print_completion(Context& context, const Parsed& parsed) {
  const bool is_bash = parsed.argument("SHELL") == "bash";
  context.out << (is_bash ? bash_completion(parsed.commands()) : zsh_completion(parsed.commands()));
  return ExitCode::ok;
}

std::vector<Argument> topic_arguments() {
  return {{.name = "NOUN", .required = false, .help = "a command of slipway"},
          {.name = "VERB", .required = false, .help = "one of its verbs"}};
}

Verb help_verb() {
  return {
      .name = "",
      .help = "explain a command",
      .description = "Without arguments it lists all commands, the global options and the exit codes.",
      .arguments = topic_arguments(),
      .options = {{.name = "man", .help = "print the manual page instead, as slipway manual does"}},
      .examples = {{"slipway help completion", "what slipway completion does"}},
      .run = print_help,
  };
}

Verb manual_verb() {
  return {
      .name = "",
      .help = "print the manual page",
      .description = "The page is in mdoc, which man and mandoc read.",
      .arguments = topic_arguments(),
      .examples = {{"slipway manual | man -l -", "read it here"},
                   {"slipway manual > slipway.1", "keep it for man"}},
      .run = print_manual,
  };
}

Verb completion_verb() {
  return {
      .name = "",
      .help = "print a completion script for a shell",
      .description = "It completes nouns, verbs, options and their values; it asks no daemon.",
      .arguments = {{.name = "SHELL", .choices = {"bash", "zsh"}, .help = "the shell"}},
      .examples = {{"source <(slipway completion bash)", "for this bash"},
                   {"slipway completion zsh > ~/.zfunc/_slipway", "for zsh, with ~/.zfunc in fpath"}},
      .run = print_completion,
  };
}

}  // namespace

std::string_view version() { return SLIPWAY_VERSION; }
std::string_view build() { return SLIPWAY_BUILD; }
std::string_view release_date() { return SLIPWAY_DATE; }

std::vector<Noun> about_nouns() {
  return {
      {"version",
       "print the version",
       {{.name = "",
         .help = "print the version",
         .examples = {{"slipway version -o json", "version and kind of build, for a program"}},
         .run = print_version}}},
      {"help", "explain a command", {help_verb()}},
      {"manual", "print the manual page", {manual_verb()}},
      {"completion", "print a completion script for a shell", {completion_verb()}},
  };
}

void add_noun_names(Commands& commands) {
  std::vector<std::string_view> names;
  for (const Noun& noun : commands.nouns) names.push_back(noun.name);
  for (Noun& noun : commands.nouns) {
    if (noun.name == "help" || noun.name == "manual") noun.verbs.front().arguments.front().choices = names;
  }
}

}  // namespace slipway::cli
