// SPDX-License-Identifier: Apache-2.0
#include "desk.hpp"

#include "cli/run.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

namespace slipway::cli::testing {

namespace stdfs = std::filesystem;

Desk::Desk() : before_(stdfs::current_path()) {
  variables = {
      {"SLIPWAY_DATA_DIR", path("data")}, {"SLIPWAY_TRUST_DIR", path("trust.d")}, {"HOME", path("")}};
  setenv("SLIPWAY_TINY_MARK", path("mark").c_str(), 1);
  stdfs::current_path(dir_.path());
  write_tiny(slipway::testing::tiny_manifest());
}

Desk::~Desk() {
  std::error_code ignored;
  stdfs::current_path(before_, ignored);
  // What is installed is read-only.
  for (stdfs::recursive_directory_iterator at(dir_.path(), ignored), end; at != end; at.increment(ignored)) {
    if (at->is_directory(ignored)) stdfs::permissions(at->path(), stdfs::perms::owner_all, ignored);
  }
}

Ended Desk::slipway(std::string_view line) { return slipway(words_of(line)); }

Ended Desk::slipway(const std::vector<std::string>& words) {
  static const Commands commands = slipway_commands();
  Console console;
  console.variables = variables;
  console.context.width = 200;
  const ExitCode code = run(commands, console.context, words);
  return {static_cast<int>(code), console.out.str(), console.err.str()};
}

std::string Desk::must(std::string_view line) {
  const Ended ended = slipway(line);
  INFO(line << "\n" << ended.err);
  REQUIRE(ended.code == 0);
  return ended.out;
}

void Desk::write_tiny(const Manifest& manifest) {
  auto files = slipway::testing::tiny_files();
  files["plugin.json"] = encode(manifest);
  slipway::testing::write_files("tiny", files);
}

std::string Desk::package(const std::string& version) {
  if (!stdfs::exists("maker.key")) must("plugin key new maker");
  Manifest manifest = slipway::testing::tiny_manifest();
  manifest.version = version;
  write_tiny(manifest);
  const std::string packed = must("plugin pack tiny/tiny.so --key maker");
  return packed.substr(0, packed.find(':'));
}

void Desk::trust_maker() { must("plugin trust add maker.pub --only tiny"); }

bool Desk::was_code_run() const { return stdfs::exists(path("mark")); }

}  // namespace slipway::cli::testing
