// SPDX-License-Identifier: Apache-2.0
// log.hpp - structured log lines over spdlog: constant text plus fields. The one global thing of the process
// besides the plugin registry: a sink, set once at start-up.
//   log.info("machine started", {{"machine", id}, {"instance", instance}, {"ms", took}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace slipway {

class Secret;

enum class LogLevel { debug, info, warn, error };

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
// are escaped, so one event is one line.
class Logger {
 public:
  using Fields = std::initializer_list<LogField>;

  constexpr explicit Logger(std::string_view component) : component_(component) {}

  void debug(std::string_view text, Fields fields = {}) const { write(LogLevel::debug, text, fields); }
  void info(std::string_view text, Fields fields = {}) const { write(LogLevel::info, text, fields); }
  void warn(std::string_view text, Fields fields = {}) const { write(LogLevel::warn, text, fields); }
  void error(std::string_view text, Fields fields = {}) const { write(LogLevel::error, text, fields); }

 private:
  void write(LogLevel level, std::string_view text, Fields fields) const;
  std::string_view component_;
};

}  // namespace slipway
