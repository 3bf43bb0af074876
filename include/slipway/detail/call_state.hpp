// SPDX-License-Identifier: Apache-2.0
// call_state.hpp - one call that the host made: completed exactly once whoever comes first, cancelled at most
// once. Shared by the glue, the method's Call, and the Completion. Thread-safe.
#pragma once

#include <slipway/detail/host_link.hpp>

#include <atomic>
#include <memory>

namespace slipway::detail {

class CallState;

// The calls that are open on an instance, so that a cancel finds its call. Thread-safe.
class OpenCalls {
 public:
  void add(std::uint64_t id, std::shared_ptr<CallState> call) {
    const std::lock_guard lock(calls_mutex_);
    calls_[id] = std::move(call);
  }
  void remove(std::uint64_t id) {
    const std::lock_guard lock(calls_mutex_);
    calls_.erase(id);
  }
  [[nodiscard]] std::shared_ptr<CallState> find(std::uint64_t id) {
    const std::lock_guard lock(calls_mutex_);
    const auto it = calls_.find(id);
    return it == calls_.end() ? nullptr : it->second;
  }

 private:
  std::mutex calls_mutex_;  // guards calls_
  std::unordered_map<std::uint64_t, std::shared_ptr<CallState>> calls_;
};

class CallState {
 public:
  // Nobody's call: no id, no deadline, never completed.
  explicit CallState(HostLink& link) : link_(link), is_over_(true) {}

  CallState(HostLink& link, OpenCalls& open, const slipway_request& request, slipway_done done, void* token)
      : link_(link),
        open_(&open),
        id_(request.id),
        deadline_ns_(request.deadline_ns),
        method_(as_text(request.method)),
        done_(done),
        token_(token) {}

  [[nodiscard]] HostLink& link() const { return link_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] std::int64_t deadline_ns() const { return deadline_ns_; }
  [[nodiscard]] const std::string& method() const { return method_; }

  // The bound of a call that makes something; set before the method runs. 0: none.
  [[nodiscard]] std::int64_t not_after_ns() const { return not_after_ns_; }
  void set_not_after_ns(std::int64_t not_after_ns) { not_after_ns_ = not_after_ns; }

  // The first one counts; another one is a bug of the plugin's and goes into its log.
  void complete(slipway_status status, std::string_view body) noexcept {
    std::vector<MoveOnlyFunction<void()>> dropped;  // destroyed without the lock: they may hold anything
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) {
        return link_.notify(0,
                            LogNote{LogSeverity::error, "a call was completed twice", {{"method", method_}}});
      }
      is_over_ = true;
      dropped.swap(on_cancel_);
    }
    dropped.clear();
    open_->remove(id_);
    if (body.size() <= SLIPWAY_MESSAGE_MAX_BYTES) return done_(token_, status, as_bytes(body));
    const Error error = fail(Code::internal, "{}: a reply of {} bytes, at most {} are taken", method_,
                             body.size(), SLIPWAY_MESSAGE_MAX_BYTES);
    done_(token_, SLIPWAY_INTERNAL, as_bytes(encode_error(error)));
  }
  void complete(const Error& error) noexcept {
    complete(static_cast<slipway_status>(error.code), encode_error(error));
  }

  // A completion that went without completing. While the method runs its caller decides: an exception that
  // destroyed it says more.
  void drop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (is_in_method_) {
        is_dropped_ = true;
        return;
      }
    }
    complete(fail(Code::internal, "method {} dropped its completion", method_));
  }

  // Runs the method, in whatever style; its exception becomes the call's end.
  template <class F>
  void run_method(F&& method) noexcept {
    {
      const std::lock_guard lock(mutex_);
      is_in_method_ = true;
    }
    try {
      method();
    } catch (const std::exception& e) {
      complete(fail(Code::internal, "method {} threw an exception: {}", method_, e.what()));
    } catch (...) {
      complete(fail(Code::internal, "method {} threw something that is no std::exception", method_));
    }
    bool was_dropped = false;
    {
      const std::lock_guard lock(mutex_);
      is_in_method_ = false;
      was_dropped = is_dropped_ && !is_over_;
    }
    if (was_dropped) drop();
  }

  [[nodiscard]] bool is_cancelled() const { return is_cancelled_ || (id_ != 0 && link_.is_cancelled(id_)); }

  void cancel() noexcept {
    std::vector<MoveOnlyFunction<void()>> callbacks;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      callbacks.swap(on_cancel_);
    }
    for (auto& callback : callbacks) run_cancel(callback);
  }

  // Runs at once if the call is cancelled already, never once it is completed.
  void on_cancel(MoveOnlyFunction<void()> callback) {
    const bool is_given_up = is_cancelled();  // asks the host: its cancel may have come before the call
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      if (!is_given_up && !is_cancelled_) return on_cancel_.push_back(std::move(callback));
    }
    run_cancel(callback);
  }

 private:
  void run_cancel(MoveOnlyFunction<void()>& callback) noexcept {
    const bool was_in_callback = std::exchange(is_in_callback(), true);
    try {
      callback();
    } catch (...) {
      link_.notify(id_, LogNote{LogSeverity::error, "on_cancel threw an exception", {{"method", method_}}});
    }
    is_in_callback() = was_in_callback;
  }

  HostLink& link_;
  OpenCalls* const open_ = nullptr;
  const std::uint64_t id_ = 0;
  const std::int64_t deadline_ns_ = 0;
  const std::string method_;
  const slipway_done done_ = nullptr;
  void* const token_ = nullptr;
  std::int64_t not_after_ns_ = 0;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  // guards the rest
  bool is_over_ = false;
  bool is_in_method_ = false;
  bool is_dropped_ = false;
  std::vector<MoveOnlyFunction<void()>> on_cancel_;
};

}  // namespace slipway::detail
