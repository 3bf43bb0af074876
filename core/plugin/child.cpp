// SPDX-License-Identifier: Apache-2.0
#include "plugin/child.hpp"

#include "base/executor.hpp"
#include "base/stop.hpp"
#include "plugin/frame.hpp"
#include "plugin/in_process.hpp"
#include "plugin/open_message.hpp"

#include <slipway/codec.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr int kSocket = 3;
// Longer than the host's own patience, which kills: here it only bounds what a lost host leaves.
constexpr std::chrono::seconds kCloseGrace(30);

// The host's services, over the socket.
class RemoteServices final : public HostServices {
 public:
  explicit RemoteServices(FrameSocket& socket) : socket_(socket) {}

  void call(ServiceCall call, RawDone done) override {
    {
      const std::lock_guard lock(open_mutex_);
      open_.emplace(call.id, Open{std::move(done), call.parent != 0});
    }
    const bool is_sent = socket_.send({.kind = FrameKind::call,
                                       .id = call.id,
                                       .parent = call.parent,
                                       .deadline_ns = call.deadline.is_never() ? 0 : call.deadline.ns(),
                                       .method = std::move(call.method),
                                       .body = std::move(call.body)});
    if (!is_sent) {
      answer(call.id, SLIPWAY_UNAVAILABLE,
             encode_error(fail(Code::unavailable, "the host does not take service calls").rejected()));
    }
  }
  // Of a call's the host knows: its end or cancellation comes from there, or was sent there. The others are
  // given up when the instance ends, and nothing is asked of the host any more.
  void cancel(std::uint64_t id) override {
    {
      const std::lock_guard lock(open_mutex_);
      const auto found = open_.find(id);
      if (found == open_.end() || found->second.has_parent) return;
    }
    answer(id, SLIPWAY_CANCELLED, encode_error(fail(Code::cancelled, "the plugin's instance ends")));
  }
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override {
    socket_.send({.kind = FrameKind::notify,
                  .id = call,
                  .method = std::string(topic.substr(0, kMaxMethodBytes)),
                  .body = std::string(body)});
  }

  void answer(std::uint64_t id, slipway_status status, std::string body) {
    RawDone done;
    {
      const std::lock_guard lock(open_mutex_);
      const auto found = open_.find(id);
      if (found == open_.end()) return;
      done = std::move(found->second.done);
      open_.erase(found);
    }
    done(status, std::move(body));
  }

 private:
  struct Open {
    RawDone done;
    bool has_parent;
  };

  FrameSocket& socket_;
  std::mutex open_mutex_;  // guards open_
  std::unordered_map<std::uint64_t, Open> open_;
};

// The first frame, read before there is any thread: the sandbox is entered alone.
Result<Frame> read_first_frame() {
  FrameParser parser;
  std::optional<Frame> first;
  while (!first) {
    char byte_block[4096];
    const ssize_t count = ::recv(kSocket, byte_block, sizeof byte_block, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs::error_of(errno, "reading", "the socket of the host");
    if (count == 0) return fail(Code::unavailable, "the host closed the socket");
    SLIPWAY_TRY(parser.feed(std::string_view(byte_block, static_cast<std::size_t>(count)),
                            [&](Frame frame) { first = std::move(frame); }));
  }
  return *std::move(first);
}

class ChildProcess {
 public:
  explicit ChildProcess(SandboxReport report)
      : report_(std::move(report)),
        completions_(clock_, 1, "completions"),
        socket_(fs::FileDescriptor(kSocket)),
        services_(socket_),
        ended_(clock_) {}

  int run(OpenMessage message) {
    socket_.start(
        "host-io", [this](Frame frame) { on_frame(std::move(frame)); },
        // The host is gone, or closed us: whatever the plugin is doing, it does it for nobody.
        [](const Status&) { ::_exit(0); });
    OpenSpec spec{.library = std::move(message.library),
                  .create = std::move(message.create),
                  .threads = message.threads,
                  .services = services_,
                  .completions = completions_,
                  .ended = [](const Error&) {},
                  .misbehaved =
                      [this](Sin sin) {
                        socket_.send({.kind = FrameKind::sin, .status = static_cast<slipway_status>(sin)});
                      },
                  .is_child = true,
                  .table_number = message.table_number};
    open_in_process(std::move(spec), nullptr,
                    [this](Result<std::unique_ptr<Channel>> opened) { on_opened(std::move(opened)); });
    static_cast<void>(ended_.wait(Deadline::never()));
    // Not by return: a plugin's static destructors and left-over threads have nothing to say any more.
    ::_exit(exit_code_);
  }

 private:
  void on_opened(Result<std::unique_ptr<Channel>> opened) {
    if (!opened) {
      const Error& error = opened.error();
      send_done(0, static_cast<slipway_status>(error.code), encode_error(error));
      exit_code_ = 1;
      return ended_.set();
    }
    const std::string description = (*opened)->description();
    {
      const std::lock_guard lock(channel_mutex_);
      channel_ = *std::move(opened);
    }
    send_done(0, SLIPWAY_OK, encode(OpenedMessage{description, report_.layers, report_.missing}));
  }

  // On the socket's thread. Calls come only after the host has seen `done` of id 0, so the channel is there.
  void on_frame(Frame frame) {
    switch (frame.kind) {
      case FrameKind::call: {
        const std::uint64_t id = frame.id;
        channel().call(
            {std::move(frame.method), std::move(frame.body),
             frame.deadline_ns == 0 ? Deadline::never() : Deadline::at_ns(frame.deadline_ns), id},
            [this, id](slipway_status status, std::string body) { send_done(id, status, std::move(body)); });
        return;
      }
      case FrameKind::done:
        return services_.answer(frame.id, frame.status, std::move(frame.body));
      case FrameKind::cancel:
        return channel().cancel(CallId{frame.id});
      case FrameKind::close:
        return channel().close(kCloseGrace, [this](bool is_clean) {
          exit_code_ = is_clean ? 0 : 1;
          ended_.set();
        });
      case FrameKind::open:
      case FrameKind::notify:
      case FrameKind::sin:
        return;  // never from this host
    }
  }

  Channel& channel() {
    const std::lock_guard lock(channel_mutex_);
    return *channel_;
  }

  void send_done(std::uint64_t id, slipway_status status, std::string body) {
    // Not to be left to the socket's thread: a plugin that closes descriptors takes that one's end away too.
    if (!socket_.send_done(id, status, std::move(body))) ::_exit(1);
  }

  SystemClock clock_;
  const SandboxReport report_;
  ThreadExecutor completions_;
  FrameSocket socket_;
  RemoteServices services_;
  Event ended_;
  std::mutex channel_mutex_;  // guards channel_, which is set once
  std::unique_ptr<Channel> channel_;
  std::atomic<int> exit_code_{0};
};

}  // namespace

int run_child() {
  auto first = read_first_frame();
  if (!first) {
    std::fprintf(stderr, "slipway-plugin-host: %s; it is started by slipwayd and slipway, not by hand\n",
                 first.error().message.c_str());
    return 2;
  }
  const auto refuse = [](const Error& error) {
    Frame frame{.kind = FrameKind::done,
                .status = static_cast<slipway_status>(error.code),
                .body = encode_error(error)};
    const std::string bytes = encode_frame_head(frame) + frame.body;
    static_cast<void>(::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    return 1;
  };
  auto message = decode<OpenMessage>(first->body);
  if (!message) return refuse(message.error());
  auto report = enter_sandbox(message->sandbox);
  if (!report) return refuse(report.error());
  // Left running for ever: run() ends the process.
  auto& child = *new ChildProcess(*std::move(report));
  return child.run(*std::move(message));
}

}  // namespace slipway::plugin
