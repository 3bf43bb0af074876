// SPDX-License-Identifier: Apache-2.0
// unix_listener.hpp - a stream socket that listens at a path, or at an abstract name, and never accepts.
#pragma once

#include "base/fs.hpp"

#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace slipway::testing {

class UnixListener {
 public:
  enum class Kind { path, abstract };

  explicit UnixListener(const std::string& name, Kind kind = Kind::path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(name.size() + 1 < sizeof address.sun_path);
    std::memcpy(address.sun_path + (kind == Kind::abstract ? 1 : 0), name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
    REQUIRE(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(listen(socket_.get(), 16) == 0);
  }

 private:
  fs::FileDescriptor socket_;
};

}  // namespace slipway::testing
