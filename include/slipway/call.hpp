// SPDX-License-Identifier: Apache-2.0
// call.hpp - what a method of a plugin gets with its request: Call (deadline, cancellation, log, progress),
// Completion (the answer, in the asynchronous style), and each() for requests with several ids. Thread rule:
// Call and call_service() are thread-safe; a Completion is of one thread at a time.
#pragma once

#include <slipway/detail/call_state.hpp>
#include <slipway/messages/host.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace slipway {

// 30s and 500ms behind `using namespace slipway`.
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

using LogFields = std::map<std::string, std::string>;

class Call;

// What a service's answer is given to in the asynchronous style: on a thread of the host's, or at once. It
// must not block, and so not wait for another service either.
template <class T>
using Callback = detail::MoveOnlyFunction<void(Result<T>)>;

template <class R>
void call_service(const Call& call, const R& request, Callback<typename R::Reply> callback);
template <class R>
[[nodiscard]] Result<typename R::Reply> call_service(const Call& call, const R& request);

// A call that the host made. A handle: copies are the same call, and may outlive it.
class Call {
 public:
  explicit Call(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  [[nodiscard]] std::uint64_t id() const { return state_->id(); }

  // Whether the host has given the call up: then it is to end soon, within 10 s. Cheap.
  [[nodiscard]] bool cancelled() const { return state_->is_cancelled(); }

  // Runs `callback` when the host gives the call up, on a thread of the host's: it must not block. At once if
  // that has happened already; never after the call's completion.
  void on_cancel(detail::MoveOnlyFunction<void()> callback) const { state_->on_cancel(std::move(callback)); }

  // When the host stops waiting, nanoseconds on its clock; 0: never.
  [[nodiscard]] std::int64_t deadline_ns() const { return state_->deadline_ns(); }

  // Until then, by the host's clock; 0 once it has passed, milliseconds::max() without a deadline. Blocks
  // shortly.
  [[nodiscard]] Result<std::chrono::milliseconds> remaining() const {
    if (deadline_ns() == 0) return std::chrono::milliseconds::max();
    SLIPWAY_TRY(const ClockNowReply now, call_service(*this, ClockNowRequest{}));
    const std::chrono::nanoseconds left(std::max<std::int64_t>(deadline_ns() - now.now_ns, 0));
    return std::chrono::duration_cast<std::chrono::milliseconds>(left);
  }

  // Blocks for that long on the host's clock; fails with cancelled or deadline when the call ends before.
  [[nodiscard]] Status sleep(std::chrono::milliseconds time) const {
    return call_service(*this, ClockSleepRequest{time.count()});
  }

  // How far the work is: shown as the machine's status.
  void progress(std::string text, std::optional<std::uint32_t> percent = {}) const {
    state_->link().notify(id(), ProgressNote{std::move(text), percent});
  }

  // A line of the host's log that names this call. Constant text; what varies goes into fields.
  void log(LogSeverity level, std::string text, LogFields fields = {}) const {
    state_->link().notify(id(), LogNote{level, std::move(text), std::move(fields)});
  }

  [[nodiscard]] const std::shared_ptr<detail::CallState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::CallState> state_;
};

// Asks the host for a service on behalf of `call`, whose deadline and cancellation bound it.
template <class R>
void call_service(const Call& call, const R& request, Callback<typename R::Reply> callback) {
  using Reply = typename R::Reply;
  call.state()->link().call(
      R::method, encode(request, {.omit_defaults = true}), call.id(), call.deadline_ns(),
      [callback = std::move(callback)](slipway_status status, std::string_view body) mutable {
        if (status != SLIPWAY_OK) return callback(decode_error(status, body));
        auto reply = decode<Reply>(body);
        if (reply) return callback(*std::move(reply));
        callback(fail(Code::internal, "{}: the host's reply: {}", R::method, reply.error().message));
      });
}

// Blocks until it is answered. Not inside a callback, whose thread may be the one that answers.
template <class R>
[[nodiscard]] Result<typename R::Reply> call_service(const Call& call, const R& request) {
  if (detail::is_in_callback()) {
    return fail(
               Code::internal,
               "{}: would block inside a callback, whose thread may be the one that answers it; use the form "
               "with a callback",
               R::method)
        .rejected();
  }
  struct Waiter {
    std::mutex mutex;  // guards result
    std::condition_variable ready;
    std::optional<Result<typename R::Reply>> result;
  };
  const auto waiter =
      std::make_shared<Waiter>();  // shared: the answering thread still notifies when we leave
  call_service(call, request, [waiter](Result<typename R::Reply> result) {
    const std::lock_guard lock(waiter->mutex);
    waiter->result.emplace(std::move(result));
    waiter->ready.notify_one();
  });
  std::unique_lock lock(waiter->mutex);
  waiter->ready.wait(lock, [&] { return waiter->result.has_value(); });
  return *std::move(waiter->result);
}

// The answer to a call in the asynchronous style, from any thread: completion(StartReply{...}) or
// completion(fail(...)). Exactly once: one that is destroyed before completes the call with internal.
template <class Reply>
class Completion {
 public:
  explicit Completion(std::shared_ptr<detail::CallState> call) : call_(std::move(call)) {}
  Completion(Completion&& other) noexcept = default;
  Completion& operator=(Completion&& other) noexcept {
    if (this != &other) {
      drop();
      call_ = std::move(other.call_);
      is_complete_ = other.is_complete_;
    }
    return *this;
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() { drop(); }

  void operator()(Result<Reply> result) {
    const bool is_good = result.has_value();
    if (call_ == nullptr) return;  // moved from: another object has the duty
    is_complete_ = true;
    if (!is_good) return call_->complete(result.error());
    call_->complete(SLIPWAY_OK, encode(*result, {.omit_defaults = true}));
  }

 private:
  void drop() noexcept {
    if (call_ != nullptr && !is_complete_) call_->drop();
  }

  std::shared_ptr<detail::CallState> call_;
  bool is_complete_ = false;
};

// Does `work` for each id and puts what it says into the reply's results, each with its own error:
//   return each<GetReply>(call, request.ids, [&](const std::string& id) -> Result<Instance> {...});
// Result<Unit> where a result has no item. Once the call is cancelled the rest is not begun.
template <class Reply, class Work>
[[nodiscard]] Reply each(const Call& call, const std::vector<std::string>& ids, Work&& work) {
  using OneResult = typename decltype(Reply::results)::value_type;
  Reply reply;
  reply.results.reserve(ids.size());
  for (const std::string& id : ids) {
    OneResult one;
    one.id = id;
    if (call.cancelled()) {
      one.error = fail(Code::cancelled, "not begun: the call was cancelled").rejected();
    } else if (id.empty()) {  // as a path's last segment it would name the whole collection
      one.error = fail(Code::invalid, "ids[{}]: is empty", reply.results.size()).rejected();
    } else {
      auto result = work(id);
      if (!result) {
        one.error = std::move(result).error();
      } else if constexpr (requires { one.item; }) {
        one.item = *std::move(result);
      }
    }
    reply.results.push_back(std::move(one));
  }
  return reply;
}

}  // namespace slipway
