// SPDX-License-Identifier: Apache-2.0
// command.hpp - the table of nouns, verbs, arguments and options. It is the only place where the command's
// surface is written down: parser, --help, manual page and completion scripts are all made from it. Plain
// data, built once at start and then only read. Texts are literals, so views are kept.
#pragma once

#include "cli/context.hpp"

#include <slipway/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace slipway::cli {

// What the process ends with. Scripts rely on these numbers: they never change.
enum class ExitCode : int {
  ok = 0,
  failed = 1,
  usage = 2,
  unreachable = 3,  // no daemon answers
  not_found = 4,
  timed_out = 5,
  interrupted = 130  // 128 + SIGINT
};

class Parsed;
// An Error is reported by run(), in one manner for all verbs; a verb that has said everything itself returns
// a code.
using Handler = Result<ExitCode> (*)(Context&, const Parsed&);

enum class Takes {
  nothing,  // a flag
  text,
  number  // a whole number below 2^63
};

struct Option {
  std::string_view name;  // kebab-case, without the dashes
  char letter = 0;        // 0: there is only the long form
  Takes takes = Takes::nothing;
  std::string_view value_name{};  // "NAME", as help shows it; needed when it takes something
  std::vector<std::string_view> choices{};
  std::string_view fallback{};  // the value when neither option nor variable is given; empty: none
  std::string_view
      bare_value{};             // not empty: the value may be left out ("--wait"), else it is "--wait=VALUE"
  std::string_view variable{};  // the environment variable that stands in for the option
  bool repeatable = false;
  std::string_view help{};  // one sentence in lower case, without a full stop
};

// A word that is no option. Required ones stand first; only the last may be repeatable.
struct Argument {
  std::string_view name;  // "ID", as help shows it
  std::vector<std::string_view> choices{};
  bool required = true;
  bool repeatable = false;
  std::string_view help{};
};

struct Example {
  std::string_view command;
  std::string_view what;
};

// An exit code with the meaning that it has for one verb, where the general words say too little.
struct Exit {
  ExitCode code;
  std::string_view meaning;
};

struct Verb {
  std::string_view
      name;  // empty: the noun alone is the command (`slipway version`); it is then the only verb
  std::string_view help;           // one sentence in lower case, without a full stop
  std::string_view description{};  // whole sentences, one a line
  std::vector<Argument> arguments{};
  std::vector<Option> options{};
  std::vector<Example> examples{};
  std::vector<Exit> exits{};
  Handler run = nullptr;
};

struct Noun {
  std::string_view name;
  std::string_view help;
  std::vector<Verb> verbs;

  [[nodiscard]] bool is_command() const { return verbs.size() == 1 && verbs.front().name.empty(); }
};

struct Commands {
  std::vector<Option> global;  // understood by every verb, anywhere in the line
  std::vector<Noun> nouns;

  [[nodiscard]] const Noun* find(std::string_view noun) const;
};

[[nodiscard]] const Verb* find(const Noun& noun, std::string_view verb);
// "slipway machine add"; "slipway machine" without a verb; "slipway" without both.
[[nodiscard]] std::string command_path(const Noun* noun, const Verb* verb);
// The general words for a code, as help and manual say them.
[[nodiscard]] std::string_view meaning(ExitCode code);
// All codes in ascending order.
[[nodiscard]] const std::vector<ExitCode>& exit_codes();
// Which exit code an error of a verb ends in. invalid is usage: what the operator wrote was refused.
[[nodiscard]] ExitCode exit_code(Code code);

// What every verb understands. The parser needs "help" and "version" among them.
[[nodiscard]] std::vector<Option> global_options();
// The product's own table. A new noun: its file, one line there.
[[nodiscard]] Commands slipway_commands();

}  // namespace slipway::cli
