// SPDX-License-Identifier: Apache-2.0
// conform.hpp - the conformance kit: holds a plugin against everything that a host expects of it, and says of
// each failure what was done, what was wanted, what came, why it matters and what to do. A library, for
// `slipway plugin check` and for tests (catch.hpp). Each test has a fresh instance; isolated, in a child of
// its own, so that what a plugin does to its process is one failed test.
#pragma once

#include "plugin/sandbox.hpp"

#include <slipway/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::conform {

// What stands behind the plugin's requests.
enum class Cloud {
  none,    // nothing: tests that need answers are skipped, unless the plugin has its cloud in itself
  replay,  // the answers of a recorded run
  live     // the account of `config`: real resources are made, and removed again
};
BOOST_DESCRIBE_ENUM(Cloud, none, replay, live)

struct Options {
  std::string library;  // NAME.so, or its directory; plugin.json beside it
  std::string config;   // the text of a config file (plugin/standalone.hpp)
  // Environment variables that stand in for settings.
  std::function<std::optional<std::string>(const std::string& name)> variable;

  bool in_process = false;
  plugin::SandboxMode sandbox = plugin::SandboxMode::best_effort;
  std::string host_program;  // slipway-plugin-host, with slipway-conform-child beside it

  std::string filter = "*";         // "GROUP/NAME", with * and ?
  std::uint64_t seed = 0x5eed7c11;  // of random bodies
  unsigned fuzz_bodies = 2000;      // of the whole run
  Cloud cloud = Cloud::none;
  std::string cassettes;  // directory: read with replay; with live written, unless it is empty

  std::chrono::milliseconds call_limit{30'000};    // that a call has
  std::chrono::milliseconds cancel_grace{10'000};  // that it has to end after that
  // For the line that repeats a failed test: "slipway plugin check build/nimbus.so --replay DIR".
  std::string command;
};

enum class Verdict {
  passed,
  failed,
  not_applicable,  // the plugin has nothing that could be tested
  skipped          // it has, but this run cannot test it
};
BOOST_DESCRIBE_ENUM(Verdict, passed, failed, not_applicable, skipped)

struct Failure {
  std::string what;     // was done; wanted, got
  std::string why;      // it matters
  std::string look_at;  // where the reason may be: requests, settings
  std::string to_do;
  std::string again;  // the command that repeats it
};

struct TestResult {
  std::string name;  // "semantics/start-same-nonce"
  Verdict verdict = Verdict::passed;
  std::optional<Failure> failure;
  std::string reason;       // of not_applicable and skipped
  std::uint64_t count = 1;  // of bodies, in fuzz
  std::chrono::milliseconds took{0};

  [[nodiscard]] std::string_view group() const { return std::string_view(name).substr(0, name.find('/')); }
};

// "FAILED semantics/start-same-nonce" and the lines below it.
[[nodiscard]] std::string text_of(const TestResult& failed);

// Before the first test.
struct Heading {
  std::string plugin;  // name and version
  bool in_process = false;
  std::uint64_t seed = 0;
  std::string cloud;  // for people: "cassettes of 2026-11-30", "account dev@nimbus", "no cloud"
};

struct Report {
  Heading heading;
  std::vector<TestResult> results;
  std::chrono::milliseconds took{0};
  // With a real cloud.
  std::uint64_t requests_recorded = 0;
  std::uint64_t made = 0;
  std::uint64_t gone = 0;

  [[nodiscard]] std::size_t count(Verdict verdict) const;
  [[nodiscard]] bool is_good() const { return count(Verdict::failed) == 0; }
};

// Told on the thread of run().
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void began(const Heading& heading) = 0;
  virtual void ended(const TestResult& result) = 0;
  virtual void finished(const Report& report) = 0;
};

enum class Format { text, json, junit };
BOOST_DESCRIBE_ENUM(Format, text, json, junit)
// `out` outlives it.
[[nodiscard]] std::unique_ptr<Sink> make_sink(Format format, std::ostream& out);

// The tests of one plugin. One thread.
class Suite {
 public:
  // Looks at the file, not yet at its code. invalid: settings that cannot be read, no such file; not_found: a
  // directory of cassettes without any, a program of the host that is missing.
  [[nodiscard]] static Result<std::unique_ptr<Suite>> open(Options options);
  virtual ~Suite() = default;

  [[nodiscard]] virtual const Heading& heading() const = 0;
  // Those that the filter lets through, in the order in which they run.
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  [[nodiscard]] virtual TestResult run(const std::string& name) = 0;
  // What the tests so far did in a real cloud goes into the report.
  virtual void account_for(Report& report) const = 0;
  // What a live run will do, for the question before it: "up to 4 real servers of type s1 at a time in
  // account dev@nimbus". Asks the cloud.
  [[nodiscard]] virtual Result<std::string> live_intent() = 0;
};

// All tests of the suite, one after the other.
Report run(Suite& suite, Sink& sink);
// invalid also: no test has a name that the filter lets through.
[[nodiscard]] Result<Report> run(const Options& options, Sink& sink);

}  // namespace slipway::conform
