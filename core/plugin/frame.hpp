// SPDX-License-Identifier: Apache-2.0
// frame.hpp - what host and child say to each other over their socket: a header of 40 bytes in the machine's
// own byte order (both ends are of one build of one machine), then the method, then the body.
#pragma once

#include "base/fs.hpp"

#include <slipway/abi.h>
#include <slipway/result.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace slipway::plugin {

enum class FrameKind : std::uint32_t {
  open = 1,  // host: load and make the instance; body: OpenMessage (isolated.hpp). Answered by `done` of id 0
  call,      // either: a call. Ids are per direction; `parent` is one of the other direction
  done,      // either: its end
  cancel,    // host: gives up a call
  notify,    // child: topic in `method`; `id`: the host's call that it is about
  close,     // host: end the instance and exit
  sin        // child: the plugin did what it must not; which (Sin) in `status`
};

struct Frame {
  FrameKind kind = FrameKind::call;
  slipway_status status = SLIPWAY_OK;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::int64_t deadline_ns = 0;
  std::string method = {};  // initialized, so that a designated initializer may leave it out
  std::string body = {};

  bool operator==(const Frame&) const = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 40;
inline constexpr std::size_t kMaxMethodBytes = 256;

// The header and the method; the body follows as it is.
[[nodiscard]] std::string encode_frame_head(const Frame& frame);

// Bytes to frames, in any pieces. One thread.
class FrameParser {
 public:
  // Calls `on_frame` for each frame that is whole. invalid: no frame of this protocol; nothing after it is
  // read.
  Status feed(std::string_view bytes, const std::function<void(Frame)>& on_frame);

 private:
  Status begin_frame();

  Frame frame_;
  std::string head_;  // header bytes that have come
  std::size_t method_size_ = 0;
  std::size_t body_size_ = 0;
  bool has_header_ = false;
};

// One end of the socket, with a thread that reads and, when the peer is slow, writes what is left.
// Thread-safe.
class FrameSocket {
 public:
  // Bytes that wait for a peer that does not read; beyond it nothing is taken but what ends something and is
  // short: for that there is some more, and a peer that lets even this become full has hung.
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{64} << 20U;
  static constexpr std::size_t kReservedBytes = std::size_t{1} << 20U;

  explicit FrameSocket(fs::FileDescriptor socket);
  ~FrameSocket();  // shut() and join()

  // `on_frame` runs on the socket's thread; it must not block, as nothing is read meanwhile. `on_end` comes
  // once, last: the peer closed or hears nothing any more (ok), or what was wrong. `peer`: a pidfd; the end
  // of that process is the end of the socket, whoever else holds it (its own children). -1: none.
  void start(std::string thread_name, std::function<void(Frame)> on_frame, std::function<void(Status)> on_end,
             int peer = -1);

  // Never blocks. False: the socket is closed, or too much waits; nothing of the frame was sent.
  bool send(const Frame& frame);
  // `done` of a call. An answer that finds no place becomes a short error, as no end may get lost. False: not
  // even that, the socket is closed.
  bool send_done(std::uint64_t id, slipway_status status, std::string body);
  // The peer sees the end; the thread ends.
  void shut();
  // Waits for the thread; not from its own callbacks.
  void join();

 private:
  void run(const std::function<void(Frame)>& on_frame, const std::function<void(Status)>& on_end);
  Status read_and_write(const std::function<void(Frame)>& on_frame);
  void write_queued();
  void break_off();  // with queue_mutex_: nothing is sent any more; what has come is still read
  void wake();

  const fs::FileDescriptor socket_;
  const fs::FileDescriptor wake_;  // eventfd
  int peer_ = -1;                  // borrowed
  std::thread thread_;
  std::atomic<bool> is_shut_{false};
  std::atomic<bool> is_peer_hung_{false};

  std::mutex queue_mutex_;  // guards what follows, and the order of writing
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t written_ = 0;  // bytes of queue_.front() that are written
};

}  // namespace slipway::plugin
