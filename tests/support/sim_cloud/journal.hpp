// SPDX-License-Identifier: Apache-2.0
// journal.hpp - what a simulated cloud was called with, a line each in a file. A cloud is what its calls made
// of it, so reading them again brings it back after a crash, and turns a failed run into a test. Thread rule:
// one thread.
#pragma once

#include <slipway/codec.hpp>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace slipway::sim {

// The first entry of a file has a seed. Then each has either a method, which was called, or a script, which
// came into force.
struct JournalEntry {
  std::int64_t at_ms = 0;
  std::optional<std::uint64_t> seed;
  std::string method;
  std::string body;
  std::optional<std::string> script;
};
BOOST_DESCRIBE_STRUCT(JournalEntry, (), (at_ms, seed, method, body, script))

class Journal {
 public:
  // Keeps nothing.
  Journal() = default;

  // Reads what is there; a last line that was cut short never took effect and is dropped. unavailable: the
  // file cannot be read or written; invalid: a line is no entry.
  static Result<Journal> open(const std::string& path, std::vector<JournalEntry>& entries);

  // With the operating system when it returns: it survives the end of this process.
  void append(const JournalEntry& entry);

 private:
  std::ofstream file_;
};

}  // namespace slipway::sim
