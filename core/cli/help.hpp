// SPDX-License-Identifier: Apache-2.0
// help.hpp - the texts that are made from the table: --help, the manual page, the completion scripts. Pure.
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>

namespace slipway::cli {

// The help of a verb, of a noun (verb null), or the overview (both null), folded at `width` columns.
[[nodiscard]] std::string help_text(const Commands& commands, const Noun* noun, const Verb* verb, int width);

// A manual page in mdoc(7), section 1: the whole command, or only a noun or a verb of it.
[[nodiscard]] std::string manual_page(const Commands& commands, const Noun* noun, const Verb* verb);

// Scripts that complete nouns, verbs, options and values with choices, without asking a daemon.
[[nodiscard]] std::string bash_completion(const Commands& commands);
[[nodiscard]] std::string zsh_completion(const Commands& commands);

// What an option takes, for people: "NAME", "table|wide"; empty for a flag.
[[nodiscard]] std::string value_text(const Option& option);
// What else there is to know: " (default table; variable SLIPWAY_SOCKET; may be repeated)", or nothing.
[[nodiscard]] std::string remarks(const Option& option);

}  // namespace slipway::cli
