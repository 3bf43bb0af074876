// SPDX-License-Identifier: Apache-2.0
// frame_test.cpp - the socket between host and child by itself, with a peer that does what it should not; and
// what a plugin may say to its host without being asked.
#include "plugin/frame.hpp"

#include "base/stop.hpp"
#include "plugin/instance_services.hpp"
#include "plugin/local_state.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

using namespace slipway;

namespace {

struct SocketPair {
  SocketPair() {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    peer = fs::FileDescriptor(pair[1]);
    socket = std::make_unique<plugin::FrameSocket>(fs::FileDescriptor(pair[0]));
  }
  void start(int watched = -1) {
    socket->start(
        "test", [this](plugin::Frame) { ++frames; },
        [this](Status status) {
          if (!status) end = status.error().message;
          ended.set();
        },
        watched);
  }
  SystemClock clock;
  fs::FileDescriptor peer;
  std::unique_ptr<plugin::FrameSocket> socket;
  std::atomic<int> frames{0};
  std::string end;
  Event ended{clock};
};

}  // namespace

TEST_CASE("a socket ends with its peer's process, after what that had sent, whoever else holds it",
          "[plugin]") {
  SocketPair on;
  const fs::FileDescriptor process(::eventfd(0, EFD_CLOEXEC));
  const std::string frame = plugin::encode_frame_head({.kind = plugin::FrameKind::done, .id = 7});
  REQUIRE(::write(on.peer.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size()));
  REQUIRE(::eventfd_write(process.get(), 1) == 0);
  on.start(process.get());
  static_cast<void>(on.ended.wait(Deadline::never()));
  CHECK(on.frames == 1);
  CHECK(on.end.empty());
}

TEST_CASE("a peer that hears nothing any more is the end of a socket, and not a loop", "[plugin]") {
  SocketPair on;
  on.start();
  REQUIRE(::shutdown(on.peer.get(), SHUT_RD) == 0);
  CHECK_FALSE(on.socket->send({.kind = plugin::FrameKind::call, .id = 1, .method = "a"}));
  static_cast<void>(on.ended.wait(Deadline::never()));
  CHECK(on.end.empty());
}

TEST_CASE("a peer that does not read gets short ends instead of answers, and then nothing any more",
          "[plugin]") {
  SocketPair on;
  on.start();
  // NOLINTNEXTLINE(bugprone-string-constructor): the largest message there is
  const std::string largest(SLIPWAY_MESSAGE_MAX_BYTES, 'x');
  const plugin::Frame call{.kind = plugin::FrameKind::call, .id = 1, .method = "a", .body = largest};
  while (on.socket->send(call)) continue;
  on.socket->send_done(2, SLIPWAY_OK, call.body);
  CHECK(on.socket->send({.kind = plugin::FrameKind::cancel, .id = 1}));
  CHECK_FALSE(on.ended.is_set());
  for (int i = 0; i < 100'000 && !on.ended.is_set(); ++i) on.socket->send_done(3, SLIPWAY_OK, "{}");
  static_cast<void>(on.ended.wait(Deadline::never()));
  CHECK(on.end.find("does not read") != std::string::npos);
}

TEST_CASE("a plugin that says too much is cut short, and the log says so", "[plugin]") {
  VirtualExecutor executor;
  const SystemClock clock;
  Metrics metrics;
  auto http = plugin::HttpService::start(clock, metrics);
  REQUIRE(http);
  plugin::MapSecrets secrets({});
  plugin::MemoryKv kv;
  std::vector<LogNote> logged;
  plugin::InstanceServices services(
      {**http,
       nullptr,
       secrets,
       false,
       kv,
       executor,
       {[&](std::uint64_t, const LogNote& note) { logged.push_back(note); }, {}, {}}});
  const auto say = [&](const std::string& text) {
    LogNote note;
    note.text = text;
    services.notify(0, LogNote::topic, encode(note));
  };
  for (unsigned i = 0; i < plugin::kMaxNotes.burst; ++i) say("a");
  CHECK(logged.size() == plugin::kMaxNotes.burst);
  for (int i = 0; i < 4; ++i) say("b");
  REQUIRE(logged.size() == plugin::kMaxNotes.burst + 3);  // of the first, the second and the fourth
  CHECK(logged.back().fields.at("count") == "4");
  executor.run_for(std::chrono::seconds(1));
  say("c");
  CHECK(logged.back().text == "c");
  say(std::string(plugin::kMaxNoteBytes, 'd'));
  CHECK(logged.back().text == "c");
}
