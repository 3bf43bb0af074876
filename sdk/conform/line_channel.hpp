// SPDX-License-Identifier: Apache-2.0
// line_channel.hpp - lines of JSON over a socket, between the kit and slipway-conform-child. One thread.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::conform {

class LineChannel {
 public:
  explicit LineChannel(int fd) : fd_(fd) {}

  // Nothing: the other side is gone, or said nothing in that time (-1: for ever).
  [[nodiscard]] std::optional<std::string> read(int timeout_ms = -1) {
    while (true) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      pollfd wanted{fd_, POLLIN, 0};
      const int ready = ::poll(&wanted, 1, timeout_ms);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      std::array<char, 4096> block{};
      const ssize_t count = ::recv(fd_, block.data(), block.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      buffer_.append(block.data(), static_cast<std::size_t>(count));
    }
  }

  [[nodiscard]] bool write(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int fd_;
  std::string buffer_;
};

}  // namespace slipway::conform
