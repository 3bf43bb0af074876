// SPDX-License-Identifier: Apache-2.0
// child_run.hpp - a child with a channel, for tests: what it writes and how it ends. One thread.
#pragma once

#include "base/clock.hpp"
#include "plugin/spawner.hpp"

#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway::testing {

struct ChildRun {
  std::string told;  // all that came through the channel
  plugin::ChildEnd end;
};

class ChildWithChannel {
 public:
  ChildWithChannel(plugin::Spawner& spawner, plugin::ChildSpec spec) {
    std::array<int, 2> pair{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    ours_ = fs::FileDescriptor(pair[0]);
    const fs::FileDescriptor theirs(pair[1]);
    spec.channel_fd = theirs.get();
    auto child = spawner.spawn(spec);
    if (!child) FAIL(child.error().message);
    child_ = *std::move(child);
  }

  [[nodiscard]] plugin::Child& child() { return *child_; }

  // The next bytes; empty at the end.
  [[nodiscard]] std::string read_some() const {
    std::string bytes(65536, '\0');
    const auto count = read(ours_.get(), bytes.data(), bytes.size());
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

  // Until it has closed its channel and ended.
  [[nodiscard]] ChildRun finish() {
    ChildRun run;
    for (std::string bytes = read_some(); !bytes.empty(); bytes = read_some()) run.told += bytes;
    const SystemClock clock;
    const auto end = child_->wait(clock, Deadline::after(clock, std::chrono::seconds(20)));
    REQUIRE(end.has_value());
    run.end = *end;
    return run;
  }

 private:
  fs::FileDescriptor ours_;
  std::optional<plugin::Child> child_;
};

inline ChildRun run_child(plugin::Spawner& spawner, plugin::ChildSpec spec) {
  return ChildWithChannel(spawner, std::move(spec)).finish();
}

}  // namespace slipway::testing
