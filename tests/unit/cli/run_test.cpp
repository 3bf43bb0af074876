// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include "cli/about.hpp"
#include "console.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

namespace slipway::cli {
namespace {

using testing::Console;

struct Ended {
  int code;
  std::string out;
  std::string err;
};

Ended ran(const char* line) {
  Console console;
  const auto words = testing::words_of(line);
  const ExitCode code = run(testing::machine_commands(), console.context, words);
  return {static_cast<int>(code), console.out.str(), console.err.str()};
}

}  // namespace

TEST_CASE("slipway version prints the version, and JSON for programs") {
  const std::string number(version());
  CHECK(ran("version").out == "slipway " + number + "\n");
  CHECK(ran("--version").out == ran("version").out);
  CHECK(ran("machine --version").out == ran("version").out);
  CHECK(ran("version -q").out == number + "\n");
  CHECK(ran("version -o wide").out == "slipway " + number + ", " + std::string(build()) + " build\n");
  const auto json = boost::json::parse(ran("version -o json").out);
  CHECK(json.at("version").as_string() == version());
  CHECK(json.at("build").as_string() == build());
  CHECK(json.as_object().size() == 2);
  CHECK(ran("version").code == 0);
}

TEST_CASE("a verb that was found runs, and its code is the process's") {
  const Ended added = ran("machine add");
  CHECK(added.code == 0);
  CHECK(added.out == "ran slipway machine add\n");
  CHECK(added.err.empty());
  CHECK(ran("machine list").code == 5);
}

TEST_CASE("a refused line ends with 2, says why, and names the help") {
  const Ended ended = ran("machine add --grup web");
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err ==
        "error: unknown option --grup (did you mean \"--group\"?)\n"
        "see: slipway machine add --help\n");
}

TEST_CASE("a verb's error ends with the code of its kind") {
  const Ended missing = ran("machine list --group nosuch");
  CHECK(missing.code == 4);
  CHECK(missing.err == "error: group nosuch does not exist\n");
  const Ended refused = ran("machine list --group bad");
  CHECK(refused.code == 2);
  CHECK(refused.err == "error: group: bad\nsee: slipway machine list --help\n");
}

TEST_CASE("an error is printed line by line, made printable, with what to do behind it") {
  const Ended ended = ran("machine list --group both");
  CHECK(ended.code == 1);
  CHECK(ended.err.starts_with("error: first line\n  second "));
  CHECK(ended.err.ends_with(" line\nto do: slipway machine list\n"));
  CHECK(ended.err.find('\x1b') == std::string::npos);
}

TEST_CASE("every kind of error has its exit code") {
  CHECK(exit_code(Code::invalid) == ExitCode::usage);
  CHECK(exit_code(Code::unavailable) == ExitCode::unreachable);
  CHECK(exit_code(Code::not_found) == ExitCode::not_found);
  CHECK(exit_code(Code::deadline) == ExitCode::timed_out);
  CHECK(exit_code(Code::cancelled) == ExitCode::interrupted);
  for (const Code code : {Code::conflict, Code::unauthenticated, Code::denied, Code::exhausted,
                          Code::unsupported, Code::internal}) {
    CHECK(exit_code(code) == ExitCode::failed);
  }
  std::vector<int> numbers;
  for (const ExitCode code : exit_codes()) numbers.push_back(static_cast<int>(code));
  CHECK(numbers == std::vector<int>{0, 1, 2, 3, 4, 5, 130});
}

TEST_CASE("without a word the overview goes to the error stream and the code is 2") {
  const Ended ended = ran("");
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err == ran("--help").out);
  CHECK(ran("help").out == ran("--help").out);
}

TEST_CASE("output that cannot be written is a failure") {
  Console console;
  console.out.setstate(std::ios::badbit);
  const auto words = testing::words_of("version");
  CHECK(run(testing::machine_commands(), console.context, words) == ExitCode::failed);
  CHECK(console.err.str() == "error: standard output: cannot be written\n");
}

TEST_CASE("help is the same text by noun and by option") {
  CHECK(ran("help machine").out == ran("machine --help").out);
  CHECK(ran("help machine add").out == ran("machine add -h").out);
  CHECK(ran("help completion").out == ran("completion --help").out);
  CHECK(ran("help --man machine add").out == ran("manual machine add").out);
}

TEST_CASE("help refuses what does not exist") {
  const Ended noun = ran("help versoin");
  CHECK(noun.code == 2);
  CHECK(noun.err.find("NOUN: expected version, help, ") != std::string::npos);
  CHECK(noun.err.find("(did you mean \"version\"?)") != std::string::npos);
  CHECK(ran("help machine lsit").err ==
        "error: slipway machine: unknown verb \"lsit\" (did you mean \"list\"?)\nsee: slipway help --help\n");
  CHECK(ran("manual version now").err ==
        "error: VERB: slipway version has no verbs, got \"now\"\nsee: slipway manual --help\n");
}

}  // namespace slipway::cli
