// SPDX-License-Identifier: Apache-2.0
// command.cpp - look-ups in the table, and exit codes. Pure.
#include "cli/command.hpp"

#include <algorithm>

namespace slipway::cli {

const Noun* Commands::find(std::string_view noun) const {
  const auto found = std::find_if(nouns.begin(), nouns.end(), [&](const Noun& n) { return n.name == noun; });
  return found == nouns.end() ? nullptr : &*found;
}

const Verb* find(const Noun& noun, std::string_view verb) {
  const auto found =
      std::find_if(noun.verbs.begin(), noun.verbs.end(), [&](const Verb& v) { return v.name == verb; });
  return found == noun.verbs.end() ? nullptr : &*found;
}

std::string command_path(const Noun* noun, const Verb* verb) {
  std::string path = "slipway";
  if (noun != nullptr) path.append(" ").append(noun->name);
  if (verb != nullptr && !verb->name.empty()) path.append(" ").append(verb->name);
  return path;
}

std::string_view meaning(ExitCode code) {
  switch (code) {
    case ExitCode::ok:
      return "everything that was asked for is done";
    case ExitCode::failed:
      return "it failed, or part of it did, and nothing is under way any more";
    case ExitCode::usage:
      return "the command line was refused; nothing was done";
    case ExitCode::unreachable:
      return "no daemon answers";
    case ExitCode::not_found:
      return "what was named does not exist";
    case ExitCode::timed_out:
      return "not done in time; it may still be under way";
    case ExitCode::interrupted:
      return "interrupted; what was begun goes on in the daemon";
  }
  return "";
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> all{ExitCode::ok,          ExitCode::failed,    ExitCode::usage,
                                         ExitCode::unreachable, ExitCode::not_found, ExitCode::timed_out,
                                         ExitCode::interrupted};
  return all;
}

ExitCode exit_code(Code code) {
  switch (code) {
    case Code::invalid:
      return ExitCode::usage;
    case Code::not_found:
      return ExitCode::not_found;
    case Code::unavailable:
      return ExitCode::unreachable;
    case Code::deadline:
      return ExitCode::timed_out;
    case Code::cancelled:
      return ExitCode::interrupted;
    case Code::conflict:
    case Code::unauthenticated:
    case Code::denied:
    case Code::exhausted:
    case Code::unsupported:
    case Code::internal:
      break;
  }
  return ExitCode::failed;
}

}  // namespace slipway::cli
