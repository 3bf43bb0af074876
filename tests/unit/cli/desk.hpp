// SPDX-License-Identifier: Apache-2.0
// desk.hpp - `slipway` with strings at a desk of its own: a working directory, a data directory and a trust
// directory, all empty, and the files of the plugin tiny in ./tiny. One at a time: it changes the process's
// directory.
#pragma once

#include "console.hpp"
#include "support/log_capture.hpp"
#include "support/plugin_artefact.hpp"

#include <string>
#include <vector>

namespace slipway::cli::testing {

struct Ended {
  int code;
  std::string out;
  std::string err;
};

class Desk {
 public:
  Desk();
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // `slipway LINE`; blanks separate words.
  Ended slipway(std::string_view line);
  Ended slipway(const std::vector<std::string>& words);
  // As slipway(), and it must end with 0: what it printed.
  std::string must(std::string_view line);

  // Writes the files of tiny in this version, with the manifest as it was changed, into ./tiny.
  void write_tiny(const Manifest& manifest);
  // Packs this version of tiny with maker.key, which is made at first; returns the archive's path.
  std::string package(const std::string& version = "0.1.0");
  // maker.pub is trusted for tiny.
  void trust_maker();
  // Whether a constructor of tiny has run.
  [[nodiscard]] bool was_code_run() const;
  [[nodiscard]] std::string path(std::string_view name) const { return dir_.path(name); }

  std::map<std::string, std::string> variables;

 private:
  slipway::testing::LogCapture log_{LogLevel::none};  // as the program has it
  slipway::testing::TempDir dir_;
  std::string before_;
};

}  // namespace slipway::cli::testing
