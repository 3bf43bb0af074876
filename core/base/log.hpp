// SPDX-License-Identifier: Apache-2.0
// log.hpp - structured log lines over spdlog: constant text plus fields. The one global thing of the process
// besides the plugin registry: a sink, set once at start-up.
//   log.info("machine started", {{"machine", id}, {"instance", instance}, {"ms", took}});
#pragma once

#include <slipway/result.hpp>

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace slipway {

class Secret;

// `none` as a setting: nothing is written. No line has it.
enum class LogLevel { debug, info, warn, error, none };
BOOST_DESCRIBE_ENUM(LogLevel, debug, info, warn, error, none)

// `journal` is stderr with the priority before each line (sd-daemon(3)) and without the time, which the
// journal has itself.
enum class LogDestination { standard_error, journal, file };
BOOST_DESCRIBE_ENUM(LogDestination, standard_error, journal, file)

struct LogSettings {
  LogLevel level = LogLevel::info;
  LogDestination destination = LogDestination::standard_error;
  bool is_json = false;  // one object a line: time, level, component, text, and the fields

  // Of a file only.
  std::string path;
  std::uint64_t max_bytes = 100ULL << 20U;  // the file that is written; then it becomes PATH.1, or PATH.1.gz
  unsigned keep = 5;                        // old files beside it; the oldest goes
  bool has_compression = true;              // of the old ones, by a thread in the background
};

// Sets level, form and destination of all lines from now on; may be called again. On failure (the file cannot
// be opened) everything stays as it was. Before the first call, lines from info on go to stderr. Thread-safe.
Status set_up_logging(const LogSettings& settings);
void set_log_level(LogLevel level);

// For tests: every line, without its end, goes to `sink` alone, one at a time; an empty function ends that
// and brings back what was set up. The sink must not log.
void capture_log(std::function<void(std::string_view line)> sink);

// A field's key is snake_case and none of time, level, component, text.
struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool> value;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  LogField(std::string_view k, int v) : key(k), value(static_cast<std::int64_t>(v)) {}
  LogField(std::string_view k, unsigned v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  LogField(std::string_view k, long v) : key(k), value(static_cast<std::int64_t>(v)) {}
  LogField(std::string_view k, long long v) : key(k), value(static_cast<std::int64_t>(v)) {}
  LogField(std::string_view k, unsigned long v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  LogField(std::string_view k, unsigned long long v) : key(k), value(static_cast<std::uint64_t>(v)) {}
  // Id types: anything with a member `value` that is text.
  template <class Id>
  requires requires(const Id& id) { std::string_view(id.value); }
  LogField(std::string_view k, const Id& v) : key(k), value(std::string_view(v.value)) {}
  // A secret prints as ***.
  LogField(std::string_view k, const Secret&) : key(k), value(std::string_view("***")) {}
};

// A name and nothing else; make one wherever it is needed. Thread-safe. Control characters in text and fields
// are escaped, so one event is one line:
//   2026-11-30T12:08:24.123Z info provisioner: machine started machine=prod:3 note="two words"
// A line that cannot be written to its file goes to stderr.
class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  constexpr explicit Logger(std::string_view component) : component_(component) {}

  void debug(std::string_view text, Fields fields = {}) const noexcept {
    write(LogLevel::debug, text, fields);
  }
  void info(std::string_view text, Fields fields = {}) const noexcept { write(LogLevel::info, text, fields); }
  void warn(std::string_view text, Fields fields = {}) const noexcept { write(LogLevel::warn, text, fields); }
  void error(std::string_view text, Fields fields = {}) const noexcept {
    write(LogLevel::error, text, fields);
  }

 private:
  void write(LogLevel level, std::string_view text, Fields fields) const noexcept;
  std::string_view component_;
};

}  // namespace slipway
