// SPDX-License-Identifier: Apache-2.0
// run.hpp - from argv to the exit code. Thread rule: one thread.
#pragma once

#include "cli/command.hpp"

#include <span>
#include <string>

namespace slipway::cli {

// Parses the words behind the program's name, runs the verb, reports its error.
[[nodiscard]] ExitCode run(const Commands& commands, Context& context, std::span<const std::string> words);

// "error: MESSAGE" on the error stream; further lines of the message, details["to_do"] and details["see"]
// follow, each in a line of its own. Nothing unprintable reaches the terminal.
void report(Context& context, const Error& error);

}  // namespace slipway::cli
