// SPDX-License-Identifier: Apache-2.0
// log_file.hpp - the log's file: written line by line, rotated by size, old files compressed. A spdlog sink
// of our own, because rotating_file_sink of spdlog cannot compress. For log.cpp only. Thread-safe.
#pragma once

#include "base/fs.hpp"
#include "base/log.hpp"

#include <slipway/result.hpp>

#include <spdlog/sinks/base_sink.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace slipway::detail {

// PATH is written; PATH.1 is the youngest old file, or PATH.1.gz once it is compressed. Each line is one
// write(2) and thus survives the process. A file that a killed process left uncompressed stays so until it is
// the oldest.
class LogFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Opens PATH for appending, or makes it (0640, less the umask).
  static Result<std::shared_ptr<LogFileSink>> open(const LogSettings& settings);
  // Waits for the compression that may be running: a few seconds for 100 MiB.
  ~LogFileSink() override;

 private:
  LogFileSink(const LogSettings& settings, fs::FileDescriptor file, std::uint64_t size)
      : settings_(settings), file_(std::move(file)), size_(size) {}

  // spdlog's part; called under base_sink's mutex_, which guards all members. Throws spdlog_ex when the line
  // cannot be written; then nothing of it is in the file.
  void sink_it_(const spdlog::details::log_msg& line) override;
  void flush_() override {}

  void rotate();
  std::string old_path(unsigned number) const { return settings_.path + "." + std::to_string(number); }

  LogSettings settings_;
  fs::FileDescriptor file_;
  std::uint64_t size_;
  std::thread compressor_;
};

}  // namespace slipway::detail
