// SPDX-License-Identifier: Apache-2.0
// parse.hpp - from the words of a command line to noun, verb, options and arguments. Pure.
#pragma once

#include "cli/command.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::cli {

// A command line that fits its verb. Asking for an option or argument that the table does not have is a
// programmer's error and ends the process.
class Parsed {
 public:
  [[nodiscard]] const Commands& commands() const { return *commands_; }
  // Null only if help or the version is wanted.
  [[nodiscard]] const Noun* noun() const { return noun_; }
  [[nodiscard]] const Verb* verb() const { return verb_; }

  // True if it was given, on the command line or by its variable.
  [[nodiscard]] bool has(std::string_view option) const;
  // What was given, else the fallback, else empty.
  [[nodiscard]] std::string_view value(std::string_view option) const;
  // Of an option that takes a number. Needs a fallback in the table unless has() is true.
  [[nodiscard]] std::uint64_t number(std::string_view option) const;
  // All values of a repeatable option, in the order of the line.
  [[nodiscard]] std::span<const std::string> values(std::string_view option) const;
  // Empty if it was left out.
  [[nodiscard]] std::string_view argument(std::string_view name) const;
  [[nodiscard]] std::span<const std::string> arguments(std::string_view name) const;

 private:
  friend class Parser;
  const Option& option(std::string_view name) const;

  const Commands* commands_ = nullptr;
  const Noun* noun_ = nullptr;
  const Verb* verb_ = nullptr;
  std::map<std::string_view, std::vector<std::string>> options_;  // flags hold one empty value
  std::map<std::string_view, std::vector<std::string>> arguments_;
};

// An option's spelling in messages: "--group".
[[nodiscard]] std::string dashed(const Option& option);

// `words` is argv without the program's name. The table and the context's variables are read. A global option
// may stand anywhere, a verb's option anywhere behind the verb; "--" ends the options. A value that starts
// with "-" needs the form "--option=-value". invalid: the message names the word; details["see"] is the help
// to read. The result borrows the table.
[[nodiscard]] Result<Parsed> parse(const Commands& commands, std::span<const std::string> words,
                                   const Context& context);

}  // namespace slipway::cli
