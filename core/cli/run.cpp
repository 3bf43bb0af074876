// SPDX-License-Identifier: Apache-2.0
// run.cpp - as its header says.
#include "cli/run.hpp"

#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/parse.hpp"

#include <ostream>

namespace slipway::cli {
namespace {

Result<ExitCode> run_parsed(Context& context, const Parsed& parsed) {
  if (parsed.has("help")) {
    context.out << help_text(parsed.commands(), parsed.noun(), parsed.verb(), context.width);
    return ExitCode::ok;
  }
  if (parsed.has("version")) return parsed.commands().find("version")->verbs.front().run(context, parsed);
  auto code = parsed.verb()->run(context, parsed);
  if (code.has_value() || code.error().code != Code::invalid) return code;
  // What was written is refused; its help may say why.
  Error error = std::move(code).error();
  error.details.try_emplace("see", command_path(parsed.noun(), parsed.verb()) + " --help");
  return error;
}

}  // namespace

void report(Context& context, const Error& error) {
  std::string_view start = "error: ";
  for (const std::string_view line : text::split(error.message, '\n')) {
    context.err << start << text::escaped(line) << '\n';
    start = "  ";
  }
  for (const auto& [key, label] : {std::pair("to_do", "to do: "), std::pair("see", "see: ")}) {
    const auto detail = error.details.find(key);
    if (detail != error.details.end()) context.err << label << text::escaped(detail->second) << '\n';
  }
}

ExitCode run(const Commands& commands, Context& context, std::span<const std::string> words) {
  if (words.empty()) {
    context.err << help_text(commands, nullptr, nullptr, context.width);
    return ExitCode::usage;
  }
  auto parsed = parse(commands, words, context);
  if (!parsed) {
    report(context, parsed.error());
    return ExitCode::usage;
  }
  auto code = run_parsed(context, *parsed);
  if (!code) {
    report(context, code.error());
    return exit_code(code.error().code);
  }
  if (!context.out.flush()) {
    context.err << "error: standard output: cannot be written\n";
    return ExitCode::failed;
  }
  return *code;
}

}  // namespace slipway::cli
