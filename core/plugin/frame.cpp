// SPDX-License-Identifier: Apache-2.0
#include "plugin/frame.hpp"

#include "base/crash.hpp"

#include <slipway/codec.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace slipway::plugin {

namespace {

struct Header {
  std::uint32_t kind;
  std::int32_t status;
  std::uint64_t id;
  std::uint64_t parent;
  std::int64_t deadline_ns;
  std::uint32_t method_size;
  std::uint32_t body_size;
};
static_assert(sizeof(Header) == kFrameHeaderBytes);

}  // namespace

std::string encode_frame_head(const Frame& frame) {
  const Header header{static_cast<std::uint32_t>(frame.kind),
                      frame.status,
                      frame.id,
                      frame.parent,
                      frame.deadline_ns,
                      static_cast<std::uint32_t>(frame.method.size()),
                      static_cast<std::uint32_t>(frame.body.size())};
  std::string out(sizeof header, '\0');
  std::memcpy(out.data(), &header, sizeof header);
  return out + frame.method;
}

Status FrameParser::begin_frame() {
  Header header;
  std::memcpy(&header, head_.data(), sizeof header);
  const bool is_known = header.kind >= static_cast<std::uint32_t>(FrameKind::open) &&
                        header.kind <= static_cast<std::uint32_t>(FrameKind::sin);
  if (!is_known) return fail(Code::invalid, "a frame of the unknown kind {}", header.kind);
  if (header.method_size > kMaxMethodBytes || header.body_size > SLIPWAY_MESSAGE_MAX_BYTES) {
    return fail(Code::invalid, "a frame with {} bytes of method and {} of body; at most {} and {} are taken",
                header.method_size, header.body_size, kMaxMethodBytes, SLIPWAY_MESSAGE_MAX_BYTES);
  }
  frame_ = Frame{static_cast<FrameKind>(header.kind),
                 header.status,
                 header.id,
                 header.parent,
                 header.deadline_ns,
                 {},
                 {}};
  method_size_ = header.method_size;
  body_size_ = header.body_size;
  has_header_ = true;
  head_.clear();
  return ok();
}

Status FrameParser::feed(std::string_view bytes, const std::function<void(Frame)>& on_frame) {
  const auto take = [&](std::string& into, std::size_t wanted) {
    const std::size_t count = std::min(wanted - into.size(), bytes.size());
    into.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    return into.size() == wanted;
  };
  while (true) {
    if (!has_header_) {
      if (!take(head_, kFrameHeaderBytes)) return ok();
      SLIPWAY_TRY(begin_frame());
    }
    // No reservation by what the header says: memory grows with what really comes.
    if (!take(frame_.method, method_size_) || !take(frame_.body, body_size_)) return ok();
    has_header_ = false;
    on_frame(std::exchange(frame_, Frame{}));
  }
}

FrameSocket::FrameSocket(fs::FileDescriptor socket)
    : socket_(std::move(socket)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  SLIPWAY_ASSERT_MSG(wake_.is_open(), "eventfd: no descriptor is left");
}

FrameSocket::~FrameSocket() {
  shut();
  join();
}

void FrameSocket::join() {
  if (thread_.joinable()) thread_.join();
}

void FrameSocket::start(std::string thread_name, std::function<void(Frame)> on_frame,
                        std::function<void(Status)> on_end, int peer) {
  peer_ = peer;
  thread_ = std::thread([this, name = std::move(thread_name), on_frame = std::move(on_frame),
                         on_end = std::move(on_end)]() noexcept {
    ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
    run(on_frame, on_end);
  });
}

void FrameSocket::shut() {
  if (is_shut_.exchange(true)) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  wake();
}

void FrameSocket::wake() {
  ::eventfd_write(wake_.get(), 1);  // a full counter wakes as well
}

bool FrameSocket::send(const Frame& frame) {
  constexpr std::size_t kShortBytes = 4096;
  const bool is_end = frame.kind == FrameKind::done || frame.kind == FrameKind::cancel ||
                      frame.kind == FrameKind::close || frame.kind == FrameKind::sin;
  const bool has_reserve = is_end && frame.body.size() <= kShortBytes;
  std::string head = encode_frame_head(frame);
  const std::lock_guard lock(queue_mutex_);
  if (is_shut_) return false;
  if (queued_bytes_ + head.size() + frame.body.size() >
      kMaxQueuedBytes + (has_reserve ? kReservedBytes : 0)) {
    if (has_reserve) {
      is_peer_hung_ = true;
      break_off();
    }
    return false;
  }
  std::size_t sent = 0;
  if (queue_.empty()) {  // the common way: straight into the socket, by the caller
    std::array<iovec, 2> parts{
        {{head.data(), head.size()}, {const_cast<char*>(frame.body.data()), frame.body.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      break_off();
      return false;
    }
    sent = count < 0 ? 0 : static_cast<std::size_t>(count);
    if (sent == head.size() + frame.body.size()) return true;
  }
  head += frame.body;
  head.erase(0, sent);
  queued_bytes_ += head.size();
  queue_.push_back(std::move(head));
  wake();
  return true;
}

bool FrameSocket::send_done(std::uint64_t id, slipway_status status, std::string body) {
  if (send({.kind = FrameKind::done, .status = status, .id = id, .body = std::move(body)})) return true;
  const Error error =
      fail(Code::unavailable, "its end found no place: {} bytes wait already for a peer that does not read",
           kMaxQueuedBytes);
  return send(
      {.kind = FrameKind::done, .status = SLIPWAY_UNAVAILABLE, .id = id, .body = encode_error(error)});
}

void FrameSocket::break_off() {
  queue_.clear();
  queued_bytes_ = 0;
  written_ = 0;
  is_shut_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);  // a reader still gets what is there, and then the end
  wake();
}

void FrameSocket::write_queued() {
  const std::lock_guard lock(queue_mutex_);
  while (!queue_.empty()) {
    const std::string& front = queue_.front();
    const ssize_t count =
        ::send(socket_.get(), front.data() + written_, front.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) break_off();
      return;  // full: poll says when
    }
    written_ += static_cast<std::size_t>(count);
    queued_bytes_ -= static_cast<std::size_t>(count);
    if (written_ < front.size()) continue;
    queue_.pop_front();
    written_ = 0;
  }
}

void FrameSocket::run(const std::function<void(Frame)>& on_frame, const std::function<void(Status)>& on_end) {
  Status end = read_and_write(on_frame);
  is_shut_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
  on_end(std::move(end));
}

Status FrameSocket::read_and_write(const std::function<void(Frame)>& on_frame) {
  FrameParser parser;
  std::string buffer(std::size_t{64} << 10U, '\0');
  int peer = peer_;
  while (true) {
    std::array<pollfd, 3> watched{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}, {peer, POLLIN, 0}}};
    {
      const std::lock_guard lock(queue_mutex_);
      if (!queue_.empty()) watched[0].events |= POLLOUT;
    }
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      return fs::error_of(errno, "waiting for", "the socket of a plugin");
    }
    if ((watched[1].revents & POLLIN) != 0) {
      eventfd_t count = 0;
      ::eventfd_read(wake_.get(), &count);
    }
    if (watched[2].revents != 0) {
      ::shutdown(socket_.get(), SHUT_RD);  // what the peer has sent is read, and then the end
      peer = -1;
    }
    if ((watched[0].revents & POLLOUT) != 0) write_queued();
    if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count == 0) {
      if (!is_peer_hung_) return ok();
      return fail(Code::unavailable, "it does not read what it is sent: {} bytes wait",
                  kMaxQueuedBytes + kReservedBytes);
    }
    if (count < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) continue;
      if (errno == ECONNRESET) return ok();  // the peer ended with unread bytes
      return fs::error_of(errno, "reading", "the socket of a plugin");
    }
    SLIPWAY_TRY(parser.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)), on_frame));
  }
}

}  // namespace slipway::plugin
