// SPDX-License-Identifier: Apache-2.0
// console.hpp - a Context of strings, and a table with a noun of several verbs, for the tests of cli.
#pragma once

#include "cli/parse.hpp"

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace slipway::cli::testing {

struct Console {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  std::map<std::string, std::string> variables;
  Context context{.in = in,
                  .out = out,
                  .err = err,
                  .variable = [this](const std::string& name) -> std::optional<std::string> {
                    const auto found = variables.find(name);
                    return found == variables.end() ? std::nullopt : std::optional(found->second);
                  }};

  Console() = default;
  Console(const Console&) = delete;  // the context points into it
  Console& operator=(const Console&) = delete;
};

// The product's table and a noun `machine` with the verbs add, list and remove, which have every kind of
// option.
const Commands& machine_commands();

// "machine add -n 3" as words; blanks separate.
std::vector<std::string> words_of(std::string_view line);

}  // namespace slipway::cli::testing
