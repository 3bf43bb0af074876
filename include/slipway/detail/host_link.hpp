// SPDX-License-Identifier: Apache-2.0
// host_link.hpp - an instance's way to its host: calls of services with their pending table, notes, and the
// end of it all. Tokens are keys of the table, so a completion that comes late or twice finds nothing.
// Thread-safe.
#pragma once

#include <slipway/abi.h>
#include <slipway/codec.hpp>
#include <slipway/detail/move_only_function.hpp>
#include <slipway/messages/host.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace slipway::detail {

inline slipway_bytes as_bytes(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view as_text(slipway_bytes bytes) {
  return bytes.size == 0 ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

// The bytes are the caller's: valid until the callback returns.
using RawCallback = MoveOnlyFunction<void(slipway_status, std::string_view)>;

class HostLink;

// The services' calls that are open, of all instances of this plugin in this process: `done` gets nothing but
// a token, so the table that explains it is the process's. Never destroyed: a host may complete a call while
// the process ends.
struct PendingCalls {
  struct Pending {
    HostLink* link = nullptr;
    RawCallback callback;
  };

  std::mutex mutex;  // guards all below, and `running_` and `is_closed_` of every link
  std::condition_variable idle;
  std::uint64_t last_key = 0;
  std::unordered_map<std::uint64_t, Pending> open;

  static PendingCalls& of_process() {
    static PendingCalls& calls = *new PendingCalls;
    return calls;
  }
};

// Whether this thread is inside a callback. It may be the thread that completes everything else, so whoever
// waits in it waits for itself.
inline bool& is_in_callback() {
  static thread_local bool is_in = false;
  return is_in;
}

class HostLink {
 public:
  explicit HostLink(const slipway_host& host) : host_(host) {}
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  // While one lives, close() does not return: plugin code runs.
  class Running {
   public:
    explicit Running(HostLink& link) : link_(link) {
      const std::lock_guard lock(PendingCalls::of_process().mutex);
      ++link_.running_;
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { link_.leave(); }

   private:
    HostLink& link_;
  };

  // `callback` runs once: on a thread of the host's, or on this one before the return. It must not block.
  void call(std::string_view method, std::string_view body, std::uint64_t parent, std::int64_t deadline_ns,
            RawCallback callback) {
    PendingCalls& calls = PendingCalls::of_process();
    std::uint64_t key = 0;
    {
      const std::lock_guard lock(calls.mutex);
      if (!is_closed_) {
        key = ++calls.last_key;
        calls.open.emplace(key, PendingCalls::Pending{this, std::move(callback)});
      }
    }
    if (key == 0) return run(callback, SLIPWAY_CANCELLED, kEndingBody);
    slipway_request request{};
    request.size = sizeof(slipway_request);
    request.id = key;
    request.parent = parent;
    request.deadline_ns = deadline_ns;
    request.method = as_bytes(method);
    request.body = as_bytes(body);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a key, never an address
    host_.call(host_.self, &request, &HostLink::complete, reinterpret_cast<void*>(key));
  }

  template <class Note>
  void notify(std::uint64_t call_id, const Note& note) const {
    const std::string body = encode(note, {.omit_defaults = true});
    host_.notify(host_.self, call_id, as_bytes(Note::topic), as_bytes(body));
  }

  [[nodiscard]] bool is_cancelled(std::uint64_t call_id) const {
    return host_.cancelled(host_.self, call_id) != 0;
  }

  // Ends what is open with `cancelled`, refuses what comes, and waits until no callback and no method runs.
  void close() noexcept {
    PendingCalls& calls = PendingCalls::of_process();
    std::vector<RawCallback> ended;
    std::unique_lock lock(calls.mutex);
    is_closed_ = true;
    for (auto it = calls.open.begin(); it != calls.open.end();) {
      const bool is_mine = it->second.link == this;
      if (is_mine) ended.push_back(std::move(it->second.callback));
      it = is_mine ? calls.open.erase(it) : std::next(it);
    }
    lock.unlock();
    for (RawCallback& callback : ended) run(callback, SLIPWAY_CANCELLED, kEndingBody);
    lock.lock();
    calls.idle.wait(lock, [this] { return running_ == 0; });
  }

 private:
  static constexpr std::string_view kEndingBody = R"({"message":"the plugin's instance ends"})";

  static void complete(void* token, slipway_status status, slipway_bytes reply) noexcept {
    PendingCalls& calls = PendingCalls::of_process();
    PendingCalls::Pending pending;
    {
      const std::lock_guard lock(calls.mutex);
      const auto it = calls.open.find(reinterpret_cast<std::uintptr_t>(token));
      if (it == calls.open.end()) return;
      pending = std::move(it->second);
      calls.open.erase(it);
      ++pending.link->running_;
    }
    pending.link->run(pending.callback, status, as_text(reply));
    pending.link->leave();
  }

  // What the callback captured is gone when this returns.
  void run(RawCallback& callback, slipway_status status, std::string_view body) noexcept {
    const bool was_in_callback = std::exchange(is_in_callback(), true);
    try {
      RawCallback mine = std::move(callback);
      mine(status, body);
    } catch (const std::exception& e) {
      log_exception(e.what());
    } catch (...) {
      log_exception("no std::exception");
    }
    is_in_callback() = was_in_callback;
  }
  void log_exception(std::string_view what) const {
    notify(0, LogNote{LogSeverity::error,
                      "a callback of the plugin threw an exception",
                      {{"error", std::string(what)}}});
  }

  void leave() noexcept {
    PendingCalls& calls = PendingCalls::of_process();
    const std::lock_guard lock(calls.mutex);
    if (--running_ == 0) calls.idle.notify_all();
  }

  const slipway_host& host_;
  int running_ = 0;
  bool is_closed_ = false;
};

}  // namespace slipway::detail
