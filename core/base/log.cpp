// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include "base/clock.hpp"
#include "base/log_file.hpp"
#include "base/text.hpp"

#include <boost/json/serialize.hpp>
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>

namespace slipway {
namespace {

using spdlog::sinks::sink;

class CaptureSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CaptureSink(std::function<void(std::string_view)> to) : to_(std::move(to)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    to_(std::string_view(line.payload.data(), line.payload.size() - 1));  // without the end of line
  }
  void flush_() override {}

  std::function<void(std::string_view)> to_;
};

// Lines come formatted, with their end.
std::shared_ptr<sink> make_stderr_sink() {
  auto made = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  made->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::utc, ""));
  return made;
}

struct LogState {
  std::atomic<LogLevel> level{LogLevel::info};
  std::mutex output_mutex;  // guards what follows
  std::shared_ptr<sink> output = make_stderr_sink();
  std::shared_ptr<sink> capture;  // takes the place of `output` when there is one
  bool is_json = false;
  bool is_journal = false;
};

// Never destroyed: things that end after main may still log.
LogState& state() {
  static LogState& only = *new LogState;
  return only;
}

void append_number(std::string& out, const auto& number) {
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void append_time(std::string& out, std::int64_t utc_ms) {
  const std::time_t seconds = utc_ms / 1000;
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), utc_ms % 1000);
}

// A text as a value of key=value: quoted if its end could be mistaken.
void append_quoted(std::string& out, std::string_view value) {
  const std::string safe = text::escaped(value);
  if (!safe.empty() && safe.find_first_of(" \"=") == std::string::npos) {
    out += safe;
    return;
  }
  out += '"';
  for (const char c : safe) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_text_form(std::string& out, LogLevel level, std::string_view component, std::string_view text,
                      Logger::Fields fields) {
  append_number(out, boost::describe::enum_to_string(level, "?"));
  out.append(" ").append(component).append(": ").append(text::escaped(text));
  for (const LogField& field : fields) {
    out.append(" ").append(field.key).append("=");
    if (const auto* value = std::get_if<std::string_view>(&field.value)) {
      append_quoted(out, *value);
    } else {
      std::visit([&](const auto& number) { append_number(out, number); }, field.value);
    }
  }
}

void append_json_member(std::string& out, std::string_view key, std::string_view value) {
  out.append(out.ends_with('{') ? "\"" : ",\"").append(key).append("\":");
  // Escaped first: JSON is UTF-8, and a text from outside may hold anything.
  out += boost::json::serialize(boost::json::string_view(text::escaped(value)));
}

void append_json_form(std::string& out, std::int64_t utc_ms, LogLevel level, std::string_view component,
                      std::string_view text, Logger::Fields fields) {
  std::string time;
  append_time(time, utc_ms);
  out += '{';
  append_json_member(out, "time", time);
  append_json_member(out, "level", boost::describe::enum_to_string(level, "?"));
  append_json_member(out, "component", component);
  append_json_member(out, "text", text);
  for (const LogField& field : fields) {
    if (const auto* value = std::get_if<std::string_view>(&field.value)) {
      append_json_member(out, field.key, *value);
      continue;
    }
    out.append(",\"").append(field.key).append("\":");
    const auto* real = std::get_if<double>(&field.value);
    if (real != nullptr && !std::isfinite(*real)) {
      out += "null";  // JSON has no word for it
    } else {
      std::visit([&](const auto& number) { append_number(out, number); }, field.value);
    }
  }
  out += '}';
}

// The priorities of syslog, as sd-daemon(3) wants them.
std::string_view journal_priority(LogLevel level) {
  constexpr std::array<std::string_view, 4> kPriorities = {"<7>", "<6>", "<4>", "<3>"};
  return kPriorities[static_cast<std::size_t>(level)];
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                  spdlog::level::err};
  return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

Status set_up_logging(const LogSettings& settings) {
  std::shared_ptr<sink> output;
  if (settings.destination == LogDestination::file) {
    SLIPWAY_TRY(output, detail::LogFileSink::open(settings));
  } else {
    output = make_stderr_sink();
  }
  LogState& log = state();
  log.level = settings.level;
  const std::lock_guard lock(log.output_mutex);
  // The old file ends its compression in here, before lines go to the new one: both may have the same path.
  log.output = std::move(output);
  log.is_json = settings.is_json;
  log.is_journal = settings.destination == LogDestination::journal;
  return ok();
}

void set_log_level(LogLevel level) { state().level = level; }

void capture_log(std::function<void(std::string_view line)> sink) {
  LogState& log = state();
  const std::lock_guard lock(log.output_mutex);
  log.capture = sink ? std::make_shared<CaptureSink>(std::move(sink)) : nullptr;
}

void Logger::write(LogLevel level, std::string_view text, Fields fields) const noexcept {
  LogState& log = state();
  if (level < log.level.load(std::memory_order_relaxed)) return;
  std::string line;
  try {
    std::shared_ptr<sink> output;
    bool is_json = false;
    bool is_journal = false;
    {
      const std::lock_guard lock(log.output_mutex);
      output = log.capture ? log.capture : log.output;
      is_json = log.is_json;
      is_journal = log.is_journal;
    }
    const std::int64_t now_ms = SystemClock().utc_ms();
    if (is_journal) line += journal_priority(level);
    if (is_json) {
      append_json_form(line, now_ms, level, component_, text, fields);
    } else {
      if (!is_journal) {
        append_time(line, now_ms);
        line += ' ';
      }
      append_text_form(line, level, component_, text, fields);
    }
    line += '\n';
    output->log(spdlog::details::log_msg(component_, spdlog_level(level), line));
  } catch (const std::exception& error) {
    if (!line.ends_with('\n')) line += '\n';
    std::fprintf(stderr, "slipway: %s; the line was: %s", error.what(), line.c_str());
  }
}

}  // namespace slipway
