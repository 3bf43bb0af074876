// SPDX-License-Identifier: Apache-2.0
// prompt.hpp - the question before something is destroyed. Thread rule: one thread; waits for the person.
#pragma once

#include "cli/parse.hpp"

#include <span>
#include <string>
#include <string_view>

namespace slipway::cli {

enum class Answer { yes, no };

// Prints what goes and what stays, a line each, then asks "Remove 9 machines? [y/N] ". All of it goes to the
// error stream, so that a program can read the output. --yes answers without a question. Anything but "y" or
// "yes", the end of the input too, is no, and "nothing was changed" is printed. invalid: nobody can be asked,
// because input or error stream is no terminal, and --yes was not given.
[[nodiscard]] Result<Answer> confirm(Context& context, const Parsed& parsed,
                                     std::span<const std::string> lines, std::string_view question);

}  // namespace slipway::cli
