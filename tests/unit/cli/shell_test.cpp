// SPDX-License-Identifier: Apache-2.0
// What the shells and mandoc make of the generated texts; a case is skipped where its program is not
// installed.
#include "cli/help.hpp"
#include "console.hpp"

#include <catch2/catch.hpp>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace slipway::cli {
namespace {

// A file that goes with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "slipway-cli-XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What a command line of the shell prints, on both streams; its failure is one of the test.
std::string output_of_shell(const std::string& command) {
  FILE* const pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  CAPTURE(command, text);
  CHECK(pclose(pipe) == 0);
  return text;
}

bool has_program(const std::string& name) {
  if (std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0) return true;
  std::cout << "SKIPPED: " << name << " is not installed\n";
  return false;
}

// A completion is asked for with the last word before the cursor; "^" stands for an empty one.
struct Completion {
  const char* line;
  const char* candidates;  // a word each, as the shell gives them
};

constexpr Completion kCompletions[] = {
    {"slipway ^", "version help manual completion machine"},
    {"slipway ma", "manual machine"},
    {"slipway machine ^", "add list remove"},
    {"slipway -e list machine l", "list"},
    {"slipway -q -o json machine r", "remove"},
    {"slipway completion ^", "bash zsh"},
    {"slipway completion bash ^", ""},
    {"slipway help mach", "machine"},
    {"slipway machine add --w", "--wait"},
    {"slipway machine list --gr", "--group"},
    {"slipway machine list --w", ""},
    {"slipway --no", "--no-header --no-color"},
    {"slipway machine list -o ^", "table wide json jsonl"},
    {"slipway machine list --output js", "json jsonl"},
    {"slipway machine add --label -o --n", "--no-header --no-color"},
    {"slipway machine remove -- --f", ""},
    {"slipway machin ^", ""},
};

}  // namespace

TEST_CASE("mandoc has nothing to say against the manual pages") {
  if (!has_program("mandoc")) return;
  std::vector<std::string> pages;
  for (const Commands& commands : {testing::machine_commands(), slipway_commands()}) {
    pages.push_back(manual_page(commands, nullptr, nullptr));
    for (const Noun& noun : commands.nouns) {
      pages.push_back(manual_page(commands, &noun, nullptr));
      for (const Verb& verb : noun.verbs) {
        if (!noun.is_command()) pages.push_back(manual_page(commands, &noun, &verb));
      }
    }
  }
  for (const std::string& page : pages) {
    const TemporaryFile file(page);
    CHECK(output_of_shell("mandoc -Tlint " + file.path()).empty());
  }
  const TemporaryFile file(pages.front());
  const std::string text = output_of_shell("mandoc -Tutf8 " + file.path() + " | col -b");
  CHECK(text.find("slipway machine remove [option ...] ID ...") != std::string::npos);
  CHECK(text.find("--wait[=accepted|running|address]") != std::string::npos);
}

TEST_CASE("bash completes nouns, verbs, options and values") {
  if (!has_program("bash")) return;
  const TemporaryFile script(bash_completion(testing::machine_commands()));
  CHECK(output_of_shell("bash -n " + script.path()).empty());
  std::string program =
      "source " + script.path() + "\n" +
      "try() { COMP_WORDS=(\"${@/#^/}\"); COMP_CWORD=$(($# - 1)); _slipway; echo \"${COMPREPLY[*]}\"; }\n";
  std::string wanted;
  for (const auto& [line, candidates] : kCompletions) {
    program += "try " + std::string(line) + "\n";
    wanted += std::string(candidates) + "\n";
  }
  // As bash splits --output=js, --output= and --wait=ru.
  program += "try slipway machine list --output = js\ntry slipway machine list --output =\n";
  program += "try slipway machine add --wait = ru\ntry slipway --output = json machine l\n";
  wanted += "json jsonl\ntable wide json jsonl\nrunning\nlist\n";
  const TemporaryFile tries(program);
  CHECK(output_of_shell("bash --norc " + tries.path()) == wanted);
}

TEST_CASE("bash completes files where a file is wanted") {
  if (!has_program("bash")) return;
  const TemporaryFile script(bash_completion(testing::machine_commands()));
  const std::string half = script.path().substr(0, script.path().size() - 2);
  const TemporaryFile tries("source " + script.path() + "\nCOMP_WORDS=(slipway machine add --user-data " +
                            half + ")\nCOMP_CWORD=4\n_slipway\necho \"${COMPREPLY[*]}\"\n");
  CHECK(output_of_shell("bash --norc " + tries.path()).find(script.path()) != std::string::npos);
}

TEST_CASE("zsh completes nouns, verbs, options and values") {
  if (!has_program("zsh")) return;
  const TemporaryFile script(zsh_completion(testing::machine_commands()));
  CHECK(output_of_shell("zsh -n " + script.path()).empty());
  // The shell's own part is played: the candidates that begin with the word are printed.
  std::string program =
      "compdef() { :; }\n"
      "compset() { current=${current#*=}; }\n"
      "_describe() { local c; local -a found; for c in ${candidates%%:*}; do "
      "[[ $c == ${current}* ]] && found+=$c; done; result=\"$found\"; }\n"
      "source " +
      script.path() + "\n" +
      "try() { local result=; local -a words=(\"${@/#^/}\"); CURRENT=$#; _slipway; echo \"$result\"; }\n";
  std::string wanted;
  for (const auto& [line, candidates] : kCompletions) {
    program += "try " + std::string(line) + "\n";
    wanted += std::string(candidates) + "\n";
  }
  program += "try slipway machine list --output=js\ntry slipway --output=json machine l\n";
  wanted += "json jsonl\nlist\n";
  const TemporaryFile tries(program);
  CHECK(output_of_shell("zsh -f " + tries.path()) == wanted);
}

}  // namespace slipway::cli
