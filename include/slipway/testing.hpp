// SPDX-License-Identifier: Apache-2.0
// testing.hpp - a plugin's own unit tests, without a host and under any test framework: nothing here throws,
// exits or prints. A FakeHost plays the cloud by script, a Plugin calls methods through the real entry table.
//
//   testing::FakeHost host;
//   host.expect("POST", "/servers").header("Idempotency-Key", "n1").json_has("/name", "web-0")
//       .reply(201, {{"id", "srv-1"}});
//   testing::Plugin plugin(host, {{"region", "eu-1"}, {"token", "nimbus-token"}});
//   StartRequest request; ...
//   auto started = plugin.call(request);                   Result<StartReply>
//   CHECK(host.problems() == "");
//
// Thread rule: FakeHost is thread-safe; a Plugin is of one thread.
#pragma once

#include <slipway/call.hpp>
#include <slipway/detail/fake_host.hpp>
#include <slipway/messages.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

// Of the plugin whose source is linked into the test.
extern "C" const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major,
                                                      uint32_t* want);

namespace slipway::detail {

// How a call ended. `done` gets only a token, so the table that explains tokens is the process's.
struct TestCall {
  testing::FakeHost* host = nullptr;
  std::string method;
  bool is_done = false;
  slipway_status status = SLIPWAY_OK;
  std::string body;
};
struct TestCalls {
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::uint64_t last_id = 0;
  std::map<std::uint64_t, TestCall> by_id;  // until the Plugin goes

  static TestCalls& of_process() {
    static TestCalls& calls = *new TestCalls;
    return calls;
  }

  static void done(void* token, slipway_status status, slipway_bytes body) noexcept {
    TestCalls& calls = of_process();
    const auto id = reinterpret_cast<std::uintptr_t>(token);
    const std::lock_guard lock(calls.mutex);
    const auto it = calls.by_id.find(id);
    if (it == calls.by_id.end()) return;
    TestCall& call = it->second;
    if (call.is_done) return call.host->add_problem(call.method + ": was completed twice");
    call.is_done = true;
    call.status = status;
    call.body = detail::as_text(body);
    call.host->close_call(id);
    calls.changed.notify_all();
  }
};

}  // namespace slipway::detail

namespace slipway::testing {

// Times are virtual and count from the call's beginning.
struct CallOptions {
  std::chrono::milliseconds deadline{0};                       // 0: none
  std::optional<std::chrono::milliseconds> cancel_after = {};  // 0: before the method begins
};

class Plugin;

// A call that was begun. Not to outlive its Plugin.
template <class R>
class Running {
 public:
  [[nodiscard]] bool is_done() const;
  void cancel() { host_->cancel_call(id_); }
  // Waits for the end, 10 s of real time at most.
  [[nodiscard]] Result<typename R::Reply> result() const;

 private:
  friend class Plugin;
  Running(FakeHost& host, std::uint64_t id) : host_(&host), id_(id) {}
  FakeHost* host_;
  std::uint64_t id_;
};

class Plugin {
 public:
  // An instance with these settings. If that fails, error() says why, and calls answer it too.
  Plugin(FakeHost& host, json::value settings, slipway_entry_fn entry = &slipway_plugin_entry) : host_(host) {
    std::uint32_t want = 0;
    table_ = entry(SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MAJOR, &want);
    if (table_ == nullptr) {
      error_ = fail(Code::unsupported, "the plugin speaks ABI {}, this SDK {}", want, SLIPWAY_ABI_MAJOR);
      return;
    }
    CreateMessage message;
    message.settings = std::move(settings);
    message.environment = {"test", "11111111-2222-3333-4444-555555555555"};
    message.controller = "66666666-7777-8888-9999-000000000000";
    const std::string text = encode(message);
    Bytes body;
    const slipway_status status =
        table_->create(&host_.table(), detail::as_bytes(text), &Plugin::copy, &body, &instance_);
    if (status != SLIPWAY_OK) error_ = decode_error(status, body.data);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  // Cancels what is still open. What then does not end within 10 s is a problem, and the instance is left.
  ~Plugin() {
    bool is_idle = true;
    for (const std::uint64_t id : calls_) {
      host_.cancel_call(id);
      is_idle = wait(id) && is_idle;
    }
    if (!is_idle) host_.add_problem("a cancelled call was not completed within 10 s");
    if (instance_ != nullptr && is_idle) table_->destroy(instance_);
    auto& calls = detail::TestCalls::of_process();
    const std::lock_guard lock(calls.mutex);
    for (const std::uint64_t id : calls_) calls.by_id.erase(id);
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  [[nodiscard]] Result<Manifest> manifest() const {
    if (table_ == nullptr) return *error_;
    Described described;
    table_->describe(
        [](void* token, slipway_status status, slipway_bytes body) {
          *static_cast<Described*>(token) = {status, std::string(detail::as_text(body))};
        },
        &described);
    if (described.status != SLIPWAY_OK) return decode_error(described.status, described.body);
    return decode<Manifest>(described.body);
  }

  // Calls the method of this request and waits for its end, 10 s of real time at most.
  template <class R>
  [[nodiscard]] Result<typename R::Reply> call(const R& request, CallOptions options = {}) {
    return begin(request, options).result();
  }

  // Begins it: a method that blocks has ended when this returns, an asynchronous one may go on.
  template <class R>
  [[nodiscard]] Running<R> begin(const R& request, CallOptions options = {}) {
    auto& calls = detail::TestCalls::of_process();
    std::uint64_t id = 0;
    {
      const std::lock_guard lock(calls.mutex);
      id = ++calls.last_id;
      calls.by_id[id] = {&host_, std::string(R::method), false, SLIPWAY_OK, {}};
    }
    calls_.push_back(id);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a key, never followed
    void* const token = reinterpret_cast<void*>(id);
    if (error_) {
      const std::string body = encode_error(*error_);
      detail::TestCalls::done(token, static_cast<slipway_status>(error_->code), detail::as_bytes(body));
      return Running<R>(host_, id);
    }
    const auto after = [now = host_.now_ns()](std::chrono::nanoseconds time) { return now + time.count(); };
    const std::int64_t deadline_ns = options.deadline.count() == 0 ? 0 : after(options.deadline);
    const std::int64_t cancel_at_ns = options.cancel_after ? after(*options.cancel_after) : 0;
    host_.open_call(id, deadline_ns, cancel_at_ns, [this, id] { table_->cancel(instance_, id); });
    if (options.cancel_after == std::chrono::milliseconds(0)) host_.cancel_call(id);
    const std::string body = encode(request);
    slipway_request raw{};
    raw.size = sizeof(slipway_request);
    raw.id = id;
    raw.deadline_ns = deadline_ns;
    raw.method = detail::as_bytes(R::method);
    raw.body = detail::as_bytes(body);
    table_->call(instance_, &raw, &detail::TestCalls::done, token);
    return Running<R>(host_, id);
  }

  // Whether the call has ended, after 10 s of real time at the latest.
  static bool wait(std::uint64_t id) {
    auto& calls = detail::TestCalls::of_process();
    std::unique_lock lock(calls.mutex);
    return calls.changed.wait_for(lock, std::chrono::seconds(10), [&] { return calls.by_id[id].is_done; });
  }

 private:
  struct Described {
    slipway_status status = SLIPWAY_INTERNAL;
    std::string body;
  };
  static void copy(void* token, slipway_status, slipway_bytes body) {
    static_cast<Bytes*>(token)->data = detail::as_text(body);
  }

  FakeHost& host_;
  const slipway_plugin* table_ = nullptr;
  void* instance_ = nullptr;
  std::optional<Error> error_;
  std::vector<std::uint64_t> calls_;
};

template <class R>
bool Running<R>::is_done() const {
  auto& calls = detail::TestCalls::of_process();
  const std::lock_guard lock(calls.mutex);
  return calls.by_id[id_].is_done;
}

template <class R>
Result<typename R::Reply> Running<R>::result() const {
  if (!Plugin::wait(id_))
    return fail(Code::deadline, "{}: not completed within 10 s of real time", R::method);
  auto& calls = detail::TestCalls::of_process();
  const std::lock_guard lock(calls.mutex);
  const detail::TestCall& ended = calls.by_id[id_];
  if (ended.status != SLIPWAY_OK) return decode_error(ended.status, ended.body);
  return decode<typename R::Reply>(ended.body);
}

}  // namespace slipway::testing
