// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolated.hpp"

#include "base/crash.hpp"
#include "plugin/call_table.hpp"
#include "plugin/frame.hpp"
#include "plugin/open_message.hpp"
#include "plugin/service_gate.hpp"

#include <slipway/codec.hpp>

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr std::chrono::seconds kOpenLimit(10);
// From the end of the socket to the end of the process; a child that only closed its descriptor is killed.
constexpr std::chrono::milliseconds kExitLimit(500);

class IsolatedChannel final : public Channel {
 public:
  IsolatedChannel(OpenSpec spec, fs::FileDescriptor socket, Child child)
      : spec_(std::move(spec)),
        socket_(std::make_shared<FrameSocket>(std::move(socket))),
        child_(std::move(child)),
        calls_(CallTable::make({&spec_.completions,
                                [services = &spec_.services](std::uint64_t id) { services->cancel(id); },
                                [told = spec_.misbehaved] { told(Sin::late_completion); }})),
        gate_(spec_.services, calls_, [told = spec_.misbehaved] { told(Sin::bad_request); }) {}

  ~IsolatedChannel() override {
    SLIPWAY_ASSERT_MSG(has_ended_, "a channel was dropped and not closed");
    socket_->join();
  }

  // `opened` on completions: ok with the channel ready, or why there is none; the channel has then ended.
  void start(OpenMessage message, Done<Unit> opened) {
    message.table_number = calls_->number();
    opened_ = std::move(opened);
    open_timer_ = spec_.completions.post_after(kOpenLimit, [this] {
      if (opened_ == nullptr) return;
      kill(fail(Code::unavailable, "{}: the plugin process was not ready in {}; it was killed", spec_.library,
                kOpenLimit));
    });
    socket_->start(
        "plugin-io", [this](Frame frame) { on_frame(std::move(frame)); },
        [this](const Status& end) { on_end(end); }, child_.pidfd());
    if (!socket_->send({.kind = FrameKind::open, .body = encode(message)})) child_.kill();
  }

  CallId call(PluginCall call, RawDone done) override {
    const std::uint64_t id = calls_->open(call, std::move(done));
    if (id == 0) return CallId{0};
    const bool is_sent = socket_->send({.kind = FrameKind::call,
                                        .id = id,
                                        .deadline_ns = call.deadline.is_never() ? 0 : call.deadline.ns(),
                                        .method = std::move(call.method),
                                        .body = std::move(call.body)});
    if (!is_sent) {
      calls_->reject(id, fail(Code::unavailable,
                              "the plugin process takes no call: it ends, or {} bytes wait for it already",
                              FrameSocket::kMaxQueuedBytes)
                             .rejected());
    }
    return CallId{id};
  }

  void cancel(CallId id) override {
    const auto number = static_cast<std::uint64_t>(id);
    if (calls_->cancel(number)) socket_->send({.kind = FrameKind::cancel, .id = number});
  }

  void close(std::chrono::nanoseconds grace, std::function<void(bool)> closed) override {
    calls_->refuse(fail(Code::unavailable, "the plugin's instance is being closed"));
    {
      const std::lock_guard lock(end_mutex_);
      if (has_ended_) return spec_.completions.post([closed] { closed(true); });  // by itself
      closed_ = std::move(closed);
    }
    spec_.completions.post_after(grace, [this, grace, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      was_killed_at_close_ = true;
      kill(fail(Code::unavailable, "the plugin process did not end within {} of its closing; it was killed",
                grace));
    });
    for (const std::uint64_t id : calls_->open_calls()) cancel(CallId{id});
    calls_->when_drained([this] {
      calls_->close(fail(Code::unavailable, "the plugin's instance was closed"));  // its own services end too
      socket_->send({.kind = FrameKind::close});
    });
  }

  const std::string& description() const override { return opened_message_.description; }
  std::string place() const override {
    std::string layers;
    for (const std::string& layer : opened_message_.layers) layers += (layers.empty() ? "" : ", ") + layer;
    return message("process {}{}", child_.pid(), layers.empty() ? layers : " (" + layers + ")");
  }

 private:
  // All of it on the socket's thread.
  void on_frame(Frame frame) {
    switch (frame.kind) {
      case FrameKind::done:
        if (frame.id == 0 && !has_answered_) return on_opened(frame);
        calls_->complete(frame.id, frame.status, std::move(frame.body));
        return;
      case FrameKind::call:
        gate_.call({0, frame.parent, frame.deadline_ns, std::move(frame.method), std::move(frame.body)},
                   [socket = socket_, id = frame.id](slipway_status status, std::string body) {
                     socket->send_done(id, status, std::move(body));
                   });
        return;
      case FrameKind::notify:
        return spec_.services.notify(frame.id, frame.method, frame.body);
      case FrameKind::sin:
        return spec_.misbehaved(frame.status == static_cast<int>(Sin::late_completion) ? Sin::late_completion
                                                                                       : Sin::bad_request);
      case FrameKind::open:
      case FrameKind::cancel:
      case FrameKind::close:
        spec_.misbehaved(Sin::broken_frame);
        return kill(fail(Code::unavailable, "the plugin process was killed: it sent what only a host sends"));
    }
  }

  void on_opened(const Frame& frame) {
    has_answered_ = true;
    Status status = ok();
    if (frame.status != SLIPWAY_OK) {
      status = decode_error(frame.status, frame.body);
    } else if (auto said = decode<OpenedMessage>(frame.body)) {
      opened_message_ = *std::move(said);
    } else {
      status = std::move(said).error();
    }
    if (!status) {  // it exits by itself; the reason is this
      end_reason(std::move(status).error());
      return;
    }
    spec_.completions.post([this] {
      if (opened_ == nullptr) return;
      spec_.completions.cancel(*open_timer_);
      std::exchange(opened_, nullptr)(ok());
    });
  }

  void on_end(const Status& end) {
    if (!end) {
      if (end.error().code == Code::invalid) spec_.misbehaved(Sin::broken_frame);
      kill(fail(Code::unavailable, "the plugin process was killed: {}", end.error().message));
    }
    const Clock& clock = spec_.completions.clock();
    auto waited = child_.wait(clock, Deadline::after(clock, kExitLimit));
    if (!waited) {
      child_.kill();
      waited = child_.wait(clock, Deadline::never());
    }
    end_reason(fail(Code::unavailable, "the plugin process {}", waited->text));
    const bool is_clean = !was_killed_at_close_ && !waited->was_signalled && waited->code == 0;
    Error why;
    {
      const std::lock_guard lock(end_mutex_);
      why = *reason_;
    }
    calls_->close(why);
    // Behind the ends of its calls; and the last use of this channel, which its owner may drop then.
    spec_.completions.post([this, why, is_clean] { tell_end(why, is_clean); });
  }

  // On completions.
  void tell_end(const Error& why, bool is_clean) {
    std::function<void(bool)> closed;
    {
      const std::lock_guard lock(end_mutex_);
      has_ended_ = true;
      closed = std::move(closed_);
    }
    if (opened_ != nullptr) {
      spec_.completions.cancel(*open_timer_);
      return std::exchange(opened_, nullptr)(why);
    }
    if (closed) return closed(is_clean);
    spec_.ended(why);
  }

  void kill(Error why) {
    end_reason(std::move(why));
    child_.kill();
  }
  // The first reason is the true one.
  void end_reason(Error why) {
    const std::lock_guard lock(end_mutex_);
    if (!reason_) reason_ = std::move(why);
  }

  const OpenSpec spec_;
  const std::shared_ptr<FrameSocket> socket_;  // shared with service calls that are answered late
  Child child_;                                // waited for on the socket's thread; kill() from any
  const std::shared_ptr<CallTable> calls_;
  ServiceGate gate_;
  bool has_answered_ = false;     // the first `done` of id 0 has come; on the socket's thread
  OpenedMessage opened_message_;  // of it, and unchanged since

  Done<Unit> opened_;  // on completions
  std::optional<TimerId> open_timer_;
  std::atomic<bool> was_killed_at_close_{false};
  const std::shared_ptr<int> alive_ = std::make_shared<int>();

  mutable std::mutex end_mutex_;  // guards what follows
  std::optional<Error> reason_;
  std::function<void(bool)> closed_;
  bool has_ended_ = false;
};

}  // namespace

void open_isolated(OpenSpec spec, Isolation isolation, Done<std::unique_ptr<Channel>> opened) {
  Executor& completions = spec.completions;
  isolation.helpers.post(
      [spec = std::move(spec), isolation, opened = std::move(opened), &completions]() mutable {
        std::array<int, 2> pair{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
          const Error error = fs::error_of(errno, "making a socket for", spec.library);
          return completions.post([opened, error] { opened(error); });
        }
        fs::FileDescriptor ours(pair[0]);
        const fs::FileDescriptor theirs(pair[1]);
        auto child = isolation.spawner.spawn({.program = isolation.program,
                                              .profile = isolation.sandbox.profile,
                                              .mode = isolation.sandbox.mode,
                                              .channel_fd = theirs.get()});
        if (!child) {
          return completions.post([opened, error = std::move(child).error()] { opened(error); });
        }
        const unsigned threads = spec.threads;
        OpenMessage message{spec.library, isolation.sandbox, threads, 0, spec.create};
        auto channel = std::make_shared<std::unique_ptr<IsolatedChannel>>(
            std::make_unique<IsolatedChannel>(std::move(spec), std::move(ours), *std::move(child)));
        completions.post([channel, message = std::move(message), opened = std::move(opened)] {
          (*channel)->start(message, [channel, opened](Result<Unit> end) {
            if (!end) {
              opened(std::move(end).error());
              channel->reset();
              return;
            }
            opened(std::unique_ptr<Channel>(std::move(*channel)));
          });
        });
      });
}

}  // namespace slipway::plugin
