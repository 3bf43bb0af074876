// SPDX-License-Identifier: Apache-2.0
// context.hpp - the outside world of a command: streams, terminal, environment variables. Everything that a
// verb reads or prints goes through it, so tests need neither a terminal nor a process. Thread rule: one
// thread. The streams are borrowed.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace slipway::cli {

struct Context {
  std::istream& in;
  std::ostream& out;  // what was asked for, and nothing else: it may be read by a program
  std::ostream& err;  // errors, questions, progress
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int width = 80;  // columns of the terminal; 80 where there is none
  std::function<std::optional<std::string>(const std::string& name)> variable{};

  // Empty is as good as unset, for all variables that slipway reads.
  [[nodiscard]] std::optional<std::string> value_of(const std::string& name) const {
    auto value = variable ? variable(name) : std::nullopt;
    return value && value->empty() ? std::nullopt : value;
  }
};

}  // namespace slipway::cli
