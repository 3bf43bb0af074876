// SPDX-License-Identifier: Apache-2.0
// manual.cpp - the manual page in mdoc(7), from the table. Pure.
#include "base/text.hpp"
#include "cli/about.hpp"
#include "cli/help.hpp"

#include <algorithm>
#include <map>

namespace slipway::cli {
namespace {

// Literal text for roff: no escape, no hyphen that copies as another character.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '"') {
      out += "\\(dq";
    } else {
      out += c;
    }
  }
  return out;
}

// One argument of a macro: quoted, and never read as a macro's name or as punctuation.
std::string argument(std::string_view text) { return "\"\\&" + literal(text) + "\""; }

// A sentence of prose, in lines of at most 80 bytes. A full stop or a quote at a line's start would be a
// request.
void append_text(std::string& out, std::string_view text) {
  constexpr std::size_t kMaxLine = 80;
  const std::string prose = literal(text);
  std::string_view rest = prose;
  while (!rest.empty()) {
    const bool is_request = rest.starts_with('.') || rest.starts_with('\'');
    const std::string_view guard = is_request ? "\\&" : "";
    std::size_t end = rest.size();
    if (end + guard.size() > kMaxLine) {
      end = rest.rfind(' ', kMaxLine - guard.size());
      if (end == std::string_view::npos || end == 0) end = std::min(rest.find(' ', 1), rest.size());
    }
    out.append(guard).append(rest.substr(0, end)).append("\n");
    rest.remove_prefix(end);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
}

// "print the version" as a sentence of its own.
std::string sentence(std::string_view words) {
  std::string out(words);
  if (!out.empty() && out.front() >= 'a' && out.front() <= 'z')
    out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out + ".";
}

void append_list_begin(std::string& out, std::string_view width) {
  out.append(".Bl -tag -width ").append(width).append("\n");
}

void append_option(std::string& out, const Option& option) {
  out += ".It ";
  if (option.letter != 0) out += "Fl " + literal(std::string(1, option.letter)) + " , ";
  out += "Fl Fl " + literal(option.name);
  if (option.takes != Takes::nothing) {
    const std::string value = "Ar " + argument(value_text(option));
    out += option.bare_value.empty() ? " " + value : " Ns Op = Ns " + value;
  }
  out += '\n';
  append_text(out, sentence(std::string(option.help) + remarks(option)));
}

void append_options(std::string& out, const std::vector<Option>& options) {
  if (options.empty()) return;
  append_list_begin(out, "Ds");
  for (const Option& option : options) append_option(out, option);
  out += ".El\n";
}

// ".Nm slipway", ".Cm machine add", options, arguments: one form of the synopsis.
void append_synopsis(std::string& out, const Noun& noun, const Verb& verb) {
  out += ".Nm slipway\n.Cm " + argument(noun.name) + "\n";
  if (!verb.name.empty()) out += ".Cm " + argument(verb.name) + "\n";
  out += ".Op Ar option ...\n";
  for (const Argument& arg : verb.arguments) {
    out += (arg.required ? ".Ar " : ".Op Ar ") + argument(arg.name) + (arg.repeatable ? " ...\n" : "\n");
  }
}

void append_examples(std::string& out, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    append_text(out, sentence(example.what));
    out += ".Dl " + literal(example.command) + "\n";
  }
}

void append_verb(std::string& out, const Noun& noun, const Verb& verb) {
  std::string path = command_path(&noun, &verb);
  out += ".Ss " + literal(path) + "\n";
  append_synopsis(out, noun, verb);
  out += ".Pp\n";
  append_text(out, sentence(verb.help));
  if (!verb.description.empty()) {
    for (const std::string_view line : text::split(verb.description, '\n')) append_text(out, line);
  }
  if (!verb.arguments.empty() || !verb.options.empty()) append_list_begin(out, "Ds");
  for (const Argument& arg : verb.arguments) {
    const std::vector<std::string> choices(arg.choices.begin(), arg.choices.end());
    out += ".It Ar " + argument(arg.name) + "\n";
    append_text(out,
                sentence(std::string(arg.help) + (choices.empty() ? "" : ": " + text::join(choices, ", "))));
  }
  for (const Option& option : verb.options) append_option(out, option);
  if (!verb.arguments.empty() || !verb.options.empty()) out += ".El\n";
  for (const auto& [code, words] : verb.exits) {
    append_text(out, "Exit " + std::to_string(static_cast<int>(code)) + ": " + std::string(words) + ".");
  }
}

// Each variable once, although several options may share it.
using Variables = std::map<std::string_view, std::string_view>;
void add_variables(Variables& variables, const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (!option.variable.empty()) variables.try_emplace(option.variable, option.name);
  }
}

void append_environment(std::string& out, const Variables& variables) {
  out += ".Sh ENVIRONMENT\n";
  append_list_begin(out, "Ds");
  out += ".It Ev NO_COLOR\nNo colours, if it holds anything.\n";
  for (const auto& [variable, option] : variables) {
    out += ".It Ev " + std::string(variable) + "\nStands in for\n.Fl Fl " + literal(option) + " .\n";
  }
  out += ".El\n";
}

void append_exit_status(std::string& out) {
  out += ".Sh EXIT STATUS\n";
  append_list_begin(out, "130");
  for (const ExitCode code : exit_codes()) {
    out += ".It " + std::to_string(static_cast<int>(code)) + "\n";
    append_text(out, sentence(meaning(code)));
  }
  out += ".El\n";
}

struct Entry {
  const Noun& noun;
  const Verb& verb;
};

void append_head(std::string& out, const Noun* noun, const Verb* verb) {
  std::string name = command_path(noun, verb);
  std::replace(name.begin(), name.end(), ' ', '-');
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  out += ".\\\" SPDX-License-Identifier: Apache-2.0\n";
  out +=
      ".Dd " + std::string(release_date()) + "\n.Dt " + title + " 1\n.Os\n.Sh NAME\n.Nm " + name + "\n.Nd ";
  append_text(out, verb != nullptr ? verb->help : noun != nullptr ? noun->help : kPurpose);
}

}  // namespace

std::string manual_page(const Commands& commands, const Noun* noun, const Verb* verb) {
  if (noun != nullptr && noun->is_command()) verb = &noun->verbs.front();
  std::vector<Entry> entries;
  Variables variables;
  add_variables(variables, commands.global);
  for (const Noun& n : commands.nouns) {
    if (noun != nullptr && &n != noun) continue;
    for (const Verb& v : n.verbs) {
      if (verb != nullptr && &v != verb) continue;
      entries.push_back({n, v});
      add_variables(variables, v.options);
    }
  }
  std::string out;
  append_head(out, noun, verb);
  out += ".Sh SYNOPSIS\n";
  if (noun == nullptr) {
    out += ".Nm slipway\n.Op Ar option ...\n.Ar noun\n.Op Ar verb\n.Op Ar argument ...\n";
  } else {
    for (const Entry& entry : entries) append_synopsis(out, entry.noun, entry.verb);
  }
  out += ".Sh DESCRIPTION\n";
  out +=
      "The options of a verb stand behind it.\nThese are understood by every verb, anywhere in the line:\n";
  append_options(out, commands.global);
  for (const Entry& entry : entries) append_verb(out, entry.noun, entry.verb);
  append_environment(out, variables);
  append_exit_status(out);
  const bool has_examples =
      std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return !e.verb.examples.empty(); });
  if (has_examples) out += ".Sh EXAMPLES\n";
  for (const Entry& entry : entries) append_examples(out, entry.verb.examples);
  return out;
}

}  // namespace slipway::cli
