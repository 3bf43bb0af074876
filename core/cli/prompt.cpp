// SPDX-License-Identifier: Apache-2.0
// prompt.cpp - as its header says.
#include "cli/prompt.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <istream>
#include <ostream>

namespace slipway::cli {
namespace {

bool is_yes(std::string_view answer) {
  std::string word(text::trim(answer));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return word == "y" || word == "yes";
}

}  // namespace

Result<Answer> confirm(Context& context, const Parsed& parsed, std::span<const std::string> lines,
                       std::string_view question) {
  for (const std::string& line : lines) context.err << text::escaped(line) << '\n';
  if (parsed.has("yes")) return Answer::yes;
  if (!context.in_is_terminal || !context.err_is_terminal) {
    return fail(Code::invalid,
                "{} nobody can be asked here (no terminal); to do it without a question, add --yes",
                question);
  }
  context.err << text::escaped(question) << " [y/N] " << std::flush;
  std::string answer;
  const bool has_answer = static_cast<bool>(std::getline(context.in, answer));
  if (!has_answer) context.err << '\n';  // the person's end of input left the cursor behind the question
  if (has_answer && is_yes(answer)) return Answer::yes;
  context.err << "nothing was changed\n";
  return Answer::no;
}

}  // namespace slipway::cli
