// SPDX-License-Identifier: Apache-2.0
// help.cpp - the texts of --help. Pure.
#include "cli/help.hpp"

#include "base/text.hpp"
#include "cli/about.hpp"

#include <algorithm>
#include <utility>

namespace slipway::cli {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;  // what, and the words about it

constexpr std::size_t kMaxLeft = 34;  // a longer left side has its words on the next line

// Appends words folded so that no line passes `width`, if a single word allows; further lines start at
// `indent`.
void append_folded(std::string& out, std::string_view words, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  bool is_first = true;
  for (const std::string_view word : text::split(words, ' ')) {
    if (!is_first && column + 1 + word.size() > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    is_first = false;
  }
  out += '\n';
}

void append_list(std::string& out, std::string_view title, const Lines& lines, std::size_t width) {
  if (lines.empty()) return;
  out.append("\n").append(title).append(":\n");
  std::size_t left = 0;
  for (const auto& [what, words] : lines) {
    if (what.size() <= kMaxLeft) left = std::max(left, what.size());
  }
  const std::size_t indent = 2 + left + 2;
  for (const auto& [what, words] : lines) {
    out.append("  ").append(what);
    if (what.size() > left) {
      out.append("\n").append(indent, ' ');
    } else {
      out.append(indent - 2 - what.size(), ' ');
    }
    append_folded(out, words, indent, width);
  }
}

std::string argument_text(const Argument& argument) {
  std::string out(argument.name);
  if (argument.repeatable) out += "...";
  return argument.required ? out : "[" + out + "]";
}

std::string with_arguments(std::string path, const Verb& verb) {
  for (const Argument& argument : verb.arguments) path.append(" ").append(argument_text(argument));
  return path;
}

std::string option_text(const Option& option) {
  std::string out = option.letter != 0 ? std::string{'-', option.letter, ',', ' '} : "    ";
  out.append("--").append(option.name);
  if (option.takes == Takes::nothing) return out;
  return out + (option.bare_value.empty() ? " " + value_text(option) : "[=" + value_text(option) + "]");
}

Lines option_lines(const std::vector<Option>& options) {
  Lines lines;
  for (const Option& option : options) {
    lines.emplace_back(option_text(option), std::string(option.help) + remarks(option));
  }
  return lines;
}

Lines exit_lines(const std::vector<Exit>& exits) {
  Lines lines;
  for (const auto& [code, words] : exits) {
    const std::string number = std::to_string(static_cast<int>(code));
    lines.emplace_back(std::string(3 - number.size(), ' ') + number, words);
  }
  return lines;
}

// Commands are not folded: they are there to be copied.
void append_examples(std::string& out, const std::vector<Example>& examples) {
  if (!examples.empty()) out += "\nexamples:\n";
  for (const Example& example : examples) {
    out.append("  ").append(example.what).append(":\n    ").append(example.command).append("\n");
  }
}

std::string overview(const Commands& commands, std::size_t width) {
  std::string out = "slipway " + std::string(version()) + ": " + std::string(kPurpose) +
                    "\n\nusage: slipway [OPTION...] NOUN [VERB] [ARGUMENT...]\n";
  Lines nouns;
  for (const Noun& noun : commands.nouns) {
    const std::string name(noun.name);
    nouns.emplace_back(noun.is_command() ? with_arguments(name, noun.verbs.front()) : name + " VERB",
                       noun.help);
  }
  append_list(out, "commands", nouns, width);
  append_list(out, "options, anywhere in the line", option_lines(commands.global), width);
  std::vector<Exit> exits;
  for (const ExitCode code : exit_codes()) exits.push_back({code, meaning(code)});
  append_list(out, "exit codes", exit_lines(exits), width);
  return out + "\nmore: slipway help NOUN [VERB], slipway manual\n";
}

std::string help_of_noun(const Noun& noun, std::size_t width) {
  const std::string path = command_path(&noun, nullptr);
  std::string out = path + ": ";
  append_folded(out, noun.help, 0, width);
  out.append("\nusage: ").append(path).append(" VERB [OPTION...] [ARGUMENT...]\n");
  Lines verbs;
  for (const Verb& verb : noun.verbs)
    verbs.emplace_back(with_arguments(std::string(verb.name), verb), verb.help);
  append_list(out, "verbs", verbs, width);
  return out + "\nmore: slipway help " + std::string(noun.name) + " VERB; global options: slipway --help\n";
}

std::string help_of_verb(const Noun& noun, const Verb& verb, std::size_t width) {
  const std::string path = command_path(&noun, &verb);
  std::string out = path + ": ";
  append_folded(out, verb.help, 0, width);
  out += "\nusage: " + with_arguments(path + " [OPTION...]", verb) + "\n";
  if (!verb.description.empty()) {
    out += '\n';
    for (const std::string_view sentence : text::split(verb.description, '\n')) {
      append_folded(out, sentence, 0, width);
    }
  }
  Lines arguments;
  for (const Argument& argument : verb.arguments) {
    const std::vector<std::string> choices(argument.choices.begin(), argument.choices.end());
    const std::string list = choices.empty() ? "" : ": " + text::join(choices, ", ");
    arguments.emplace_back(argument_text(argument), std::string(argument.help) + list);
  }
  append_list(out, "arguments", arguments, width);
  append_list(out, "options", option_lines(verb.options), width);
  append_examples(out, verb.examples);
  append_list(out, "exit codes", exit_lines(verb.exits), width);
  return out + "\nglobal options" + (verb.exits.empty() ? " and exit codes" : "") + ": slipway --help\n";
}

}  // namespace

std::string value_text(const Option& option) {
  if (option.choices.empty()) return std::string(option.value_name);
  return text::join(std::vector<std::string>(option.choices.begin(), option.choices.end()), "|");
}

std::string remarks(const Option& option) {
  std::vector<std::string> parts;
  if (!option.fallback.empty()) parts.push_back("default " + std::string(option.fallback));
  if (!option.bare_value.empty()) parts.push_back("without a value " + std::string(option.bare_value));
  if (!option.variable.empty()) parts.push_back("variable " + std::string(option.variable));
  if (option.repeatable) parts.emplace_back("may be repeated");
  return parts.empty() ? "" : " (" + text::join(parts, "; ") + ")";
}

std::string help_text(const Commands& commands, const Noun* noun, const Verb* verb, int width) {
  // Narrower than this nothing can be laid out; wider than this nobody reads with ease.
  const auto columns = static_cast<std::size_t>(std::clamp(width, 60, 110));
  if (noun == nullptr) return overview(commands, columns);
  if (verb == nullptr && noun->is_command()) verb = &noun->verbs.front();
  return verb == nullptr ? help_of_noun(*noun, columns) : help_of_verb(*noun, *verb, columns);
}

}  // namespace slipway::cli
