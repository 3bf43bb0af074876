// SPDX-License-Identifier: Apache-2.0
// log_capture.hpp - the log lines of one test, instead of on stderr. One at a time in a process. Thread-safe.
#pragma once

#include "base/log.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::testing {

class LogCapture {
 public:
  explicit LogCapture(LogLevel level = LogLevel::debug) {
    set_log_level(level);
    capture_log([lines = lines_](std::string_view line) {
      const std::lock_guard lock(lines->mutex);
      lines->all.emplace_back(line);
    });
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() {
    capture_log({});
    set_log_level(LogLevel::info);
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(lines_->mutex);
    return lines_->all;
  }
  // True if some line has the text in it.
  [[nodiscard]] bool contains(std::string_view text) const {
    const auto all = lines();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

 private:
  struct Lines {
    std::mutex mutex;  // guards all
    std::vector<std::string> all;
  };
  // Shared with the sink: a thread that is just logging may still hold it when the capture ends.
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
};

}  // namespace slipway::testing
