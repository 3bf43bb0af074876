// SPDX-License-Identifier: Apache-2.0
// main.cpp - the program `slipway`: this process as a Context.
#include "base/log.hpp"
#include "cli/run.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace {

int terminal_width() {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = slipway::cli;
  // What goes wrong is told by the command itself, once.
  slipway::set_log_level(slipway::LogLevel::none);
  cli::Context context{
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .in_is_terminal = isatty(STDIN_FILENO) == 1,
      .out_is_terminal = isatty(STDOUT_FILENO) == 1,
      .err_is_terminal = isatty(STDERR_FILENO) == 1,
      .width = terminal_width(),
      .variable = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      },
  };
  // argc is 0 when a caller passes no argv at all.
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(cli::run(cli::slipway_commands(), context, words));
}
