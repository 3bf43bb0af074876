// SPDX-License-Identifier: Apache-2.0
// fake_host.hpp - a host for an author's unit tests: HTTP by script, notes and secrets in memory, a clock
// that only jumps. For testing.hpp. Thread-safe.
#pragma once

#include <slipway/abi.h>
#include <slipway/detail/expectation.hpp>
#include <slipway/detail/host_link.hpp>
#include <slipway/messages/host.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway::testing {

class FakeHost {
 public:
  FakeHost() = default;
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  // Expects a request whose URL ends so ("/servers"; with a query only if one is given here) or is this whole
  // URL. Of several that fit, the first one that is still open answers.
  Expectation& expect(std::string verb, std::string target) {
    const std::lock_guard lock(mutex_);
    return expectations_.emplace_back(std::move(verb), std::move(target));
  }

  // What went wrong so far, a line each: requests that nobody expected or that were not as expected,
  // expectations that were not met. Empty: nothing.
  [[nodiscard]] std::string problems() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const std::string& problem : problems_) out += problem + "\n";
    for (const Expectation& e : expectations_) {
      if (e.left_ > 0) out += message("expected and did not come: {}\n", e.text());
    }
    return out;
  }

  // Every HTTP request that came, in its order.
  [[nodiscard]] std::vector<HttpCallRequest> requests() const { return locked(requests_); }
  [[nodiscard]] std::vector<LogNote> logs() const { return locked(logs_); }
  [[nodiscard]] std::vector<ProgressNote> progress() const { return locked(progress_); }
  [[nodiscard]] std::map<std::string, double> counters() const { return locked(counters_); }

  // What secret.get/1 answers.
  void set_secret(std::string name, std::string value) {
    const std::lock_guard lock(mutex_);
    secrets_[std::move(name)] = std::move(value);
  }
  void put(const std::string& key, std::string value) {
    const std::lock_guard lock(mutex_);
    kv_[key] = {key, Bytes{std::move(value)}, ++last_revision_};
  }
  [[nodiscard]] std::optional<std::string> get(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto it = kv_.find(key);
    return it == kv_.end() ? std::nullopt : std::optional(it->second.value.data);
  }

  // The host's clock; it begins at an hour and stands still but for sleeps, delays and advance().
  [[nodiscard]] std::int64_t now_ns() const { return locked(now_ns_); }
  void advance(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    move_clock(lock, now_ns_ + time.count());
  }

  // Answers the requests that are held.
  void release() {
    std::unique_lock lock(mutex_);
    std::vector<Held> held = std::exchange(held_, {});
    lock.unlock();
    for (const Held& h : held) answer(h.reply, h.done, h.token);
  }

  // What follows is Plugin's way in.
  [[nodiscard]] const slipway_host& table() const { return table_; }
  void add_problem(std::string text) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(std::move(text));
  }
  void open_call(std::uint64_t id, std::int64_t deadline_ns, std::int64_t cancel_at_ns,
                 std::function<void()> on_cancel) {
    const std::lock_guard lock(mutex_);
    calls_[id] = {deadline_ns, cancel_at_ns, false, std::move(on_cancel)};
  }
  void close_call(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    calls_.erase(id);
  }
  // Tells the plugin, and ends what the call waits for.
  void cancel_call(std::uint64_t id) {
    std::unique_lock lock(mutex_);
    cancel(lock, id);
  }

 private:
  struct OpenCall {
    std::int64_t deadline_ns = 0;
    std::int64_t cancel_at_ns = 0;  // 0: never
    bool is_cancelled = false;
    std::function<void()> on_cancel;
  };
  struct Answer {
    slipway_status status = SLIPWAY_OK;
    std::string body;
  };
  struct Held {
    std::uint64_t parent = 0;
    Answer reply;
    slipway_done done = nullptr;
    void* token = nullptr;
  };
  using Lock = std::unique_lock<std::mutex>;

  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  static FakeHost& of(void* self) { return *static_cast<FakeHost*>(self); }
  static void answer(const Answer& reply, slipway_done done, void* token) {
    done(token, reply.status, detail::as_bytes(reply.body));
  }

  static void call(void* self, const slipway_request* request, slipway_done done, void* token) noexcept {
    FakeHost& host = of(self);
    Lock lock(host.mutex_);
    const std::string_view method = detail::as_text(request->method);
    std::optional<Answer> reply;
    if (method == HttpCallRequest::method) {
      reply = host.http(lock, *request, done, token);
    } else if (method == ClockSleepRequest::method) {
      reply = serve<ClockSleepRequest>(*request, [&](const ClockSleepRequest& r) {
        return host.pass(lock, request->parent, std::chrono::milliseconds(r.ms));
      });
    } else {
      reply = host.serve_from_memory(method, *request);
    }
    lock.unlock();
    if (reply) answer(*reply, done, token);
  }

  static void notify(void* self, std::uint64_t, slipway_bytes topic, slipway_bytes body) noexcept {
    FakeHost& host = of(self);
    const std::lock_guard lock(host.mutex_);
    const auto take = [&]<class Note>(const Note*, auto&& keep) {
      if (detail::as_text(topic) != Note::topic) return;
      auto note = decode<Note>(detail::as_text(body));
      if (note) return keep(*std::move(note));
      host.problems_.push_back(message("{}: {}", Note::topic, note.error().message));
    };
    take(static_cast<LogNote*>(nullptr), [&](LogNote note) { host.logs_.push_back(std::move(note)); });
    take(static_cast<ProgressNote*>(nullptr),
         [&](ProgressNote note) { host.progress_.push_back(std::move(note)); });
    take(static_cast<MetricNote*>(nullptr),
         [&](const MetricNote& note) { host.counters_[note.name] += note.value; });
  }

  static std::int32_t cancelled(void* self, std::uint64_t call_id) noexcept {
    FakeHost& host = of(self);
    const std::lock_guard lock(host.mutex_);
    return host.end_of(call_id) ? 1 : 0;
  }

  template <class R, class F>
  static Answer serve(const slipway_request& request, F&& work) {
    auto decoded = decode<R>(detail::as_text(request.body));
    Result<typename R::Reply> result = decoded ? work(*decoded) : Result<typename R::Reply>(decoded.error());
    if (result) return {SLIPWAY_OK, encode(*result)};
    return {static_cast<slipway_status>(result.error().code), encode_error(result.error())};
  }

  Answer serve_from_memory(std::string_view method, const slipway_request& request) {
    if (method == ClockNowRequest::method) {
      return serve<ClockNowRequest>(request, [&](const auto&) -> Result<ClockNowReply> {
        return ClockNowReply{now_ns_, kUtcStartMs + now_ns_ / 1'000'000};
      });
    }
    if (method == SecretGetRequest::method) {
      return serve<SecretGetRequest>(request, [&](const SecretGetRequest& r) -> Result<SecretGetReply> {
        const auto it = secrets_.find(r.name.value);
        if (it == secrets_.end()) return fail(Code::not_found, "secret {}: not set", r.name);
        return SecretGetReply{it->second};
      });
    }
    if (method == KvGetRequest::method) {
      return serve<KvGetRequest>(request, [&](const KvGetRequest& r) -> Result<KvEntry> {
        const auto it = kv_.find(r.key);
        if (it == kv_.end()) return fail(Code::not_found, "key {}: not there", r.key);
        return it->second;
      });
    }
    if (method == KvPutRequest::method) {
      return serve<KvPutRequest>(request, [&](const KvPutRequest& r) -> Result<KvPutReply> {
        SLIPWAY_TRY(check_revision(r.key, r.if_revision));
        kv_[r.key] = {r.key, r.value, ++last_revision_};
        return KvPutReply{last_revision_};
      });
    }
    if (method == KvDeleteRequest::method) {
      return serve<KvDeleteRequest>(request, [&](const KvDeleteRequest& r) -> Status {
        SLIPWAY_TRY(check_revision(r.key, r.if_revision));
        kv_.erase(r.key);
        return ok();
      });
    }
    if (method == KvListRequest::method) {
      return serve<KvListRequest>(
          request, [&](const KvListRequest& r) -> Result<KvListReply> { return list_keys(r); });
    }
    problems_.push_back(message("the host has no service {}", method));
    const Error error = fail(Code::unsupported, "no service {}", method);
    return {SLIPWAY_UNSUPPORTED, encode_error(error)};
  }

  Status check_revision(const std::string& key, std::optional<std::int64_t> if_revision) const {
    const auto it = kv_.find(key);
    const std::int64_t revision = it == kv_.end() ? 0 : it->second.revision;
    if (!if_revision || *if_revision == revision) return ok();
    return fail(Code::conflict, "key {}: revision is {}, not {}", key, revision, *if_revision).rejected();
  }

  KvListReply list_keys(const KvListRequest& request) const {
    KvListReply reply;
    for (const auto& [key, entry] : kv_) {
      if (!key.starts_with(request.prefix) || key <= request.after) continue;
      if (reply.entries.size() == request.limit) {
        reply.next = reply.entries.back().key;
        break;
      }
      reply.entries.push_back({key, {}, entry.revision});
    }
    return reply;
  }

  // Nothing: it is held, and answered later.
  std::optional<Answer> http(Lock& lock, const slipway_request& request, slipway_done done, void* token) {
    Expectation* held = nullptr;
    Answer reply = serve<HttpCallRequest>(request, [&](const HttpCallRequest& r) -> Result<HttpCallReply> {
      requests_.push_back(r);
      if (auto end = end_of(request.parent)) return std::move(*end).within("not sent");
      if (r.not_after_ns != 0 && now_ns_ > r.not_after_ns) {
        return fail(Code::unavailable, "not sent, as its time (not_after_ns) has passed").rejected();
      }
      Expectation* expected = find(r);
      if (expected == nullptr) return unexpected(r);
      for (std::string& difference : expected->differences(r)) problems_.push_back(std::move(difference));
      --expected->left_;
      if (expected->is_held_) held = expected;
      if (expected->cancels_) cancel(lock, request.parent);
      const auto timeout = std::chrono::milliseconds(r.timeout_ms);
      SLIPWAY_TRY(pass(lock, request.parent, std::min(expected->delay_, timeout)));
      if (expected->delay_ > timeout) return fail(Code::unavailable, "no reply within {}", timeout);
      if (expected->error_) return *expected->error_;
      HttpCallReply answer = expected->reply_;
      answer.elapsed_ms = expected->delay_.count();
      return answer;
    });
    if (held == nullptr) return reply;
    held_.push_back({request.parent, std::move(reply), done, token});
    return std::nullopt;
  }

  Expectation* find(const HttpCallRequest& request) {
    for (Expectation& e : expectations_) {
      if (e.fits(request)) return &e;
    }
    return nullptr;
  }
  Error unexpected(const HttpCallRequest& request) {
    std::string open;
    for (const Expectation& e : expectations_) {
      if (e.left_ > 0) open.append(open.empty() ? "" : ", ").append(e.text());
    }
    problems_.push_back(message("came and was not expected: {} {} (expected: {})", request.verb, request.url,
                                open.empty() ? "nothing more" : open));
    return fail(Code::internal, "the test did not expect {} {}", request.verb, request.url);
  }

  // Why nothing more is done for this call, if it has ended.
  [[nodiscard]] std::optional<Error> end_of(std::uint64_t call_id) const {
    const auto it = calls_.find(call_id);
    if (it == calls_.end()) return std::nullopt;
    if (it->second.is_cancelled) return fail(Code::cancelled, "the call was cancelled");
    if (it->second.deadline_ns == 0 || now_ns_ < it->second.deadline_ns) return std::nullopt;
    return fail(Code::deadline, "the call's deadline passed");
  }

  // Lets time pass, at most until the call ends.
  Status pass(Lock& lock, std::uint64_t call_id, std::chrono::milliseconds time) {
    std::int64_t until = now_ns_ + std::chrono::nanoseconds(time).count();
    if (const auto it = calls_.find(call_id); it != calls_.end()) {
      for (const std::int64_t end : {it->second.deadline_ns, it->second.cancel_at_ns}) {
        if (end != 0) until = std::min(until, std::max(end, now_ns_));
      }
    }
    move_clock(lock, until);
    if (auto end = end_of(call_id)) return *std::move(end);
    return ok();
  }

  void move_clock(Lock& lock, std::int64_t to_ns) {
    now_ns_ = std::max(now_ns_, to_ns);
    std::vector<std::uint64_t> due;
    for (const auto& [id, call] : calls_) {
      if (call.cancel_at_ns != 0 && call.cancel_at_ns <= now_ns_) due.push_back(id);
    }
    for (const std::uint64_t id : due) cancel(lock, id);
  }

  // Lets go of the lock while plugin code runs.
  void cancel(Lock& lock, std::uint64_t id) {
    const auto it = calls_.find(id);
    if (it == calls_.end() || it->second.is_cancelled) return;
    it->second.is_cancelled = true;
    const std::function<void()> on_cancel = it->second.on_cancel;
    std::vector<Held> ended;
    const auto is_other = [&](const Held& h) { return h.parent != id; };
    const auto first = std::stable_partition(held_.begin(), held_.end(), is_other);
    std::move(first, held_.end(), std::back_inserter(ended));
    held_.erase(first, held_.end());
    lock.unlock();
    on_cancel();
    const Error error = fail(Code::cancelled, "the call was cancelled");
    for (const Held& h : ended) answer({SLIPWAY_CANCELLED, encode_error(error)}, h.done, h.token);
    lock.lock();
  }

  static constexpr std::int64_t kUtcStartMs = 1'700'000'000'000;

  const slipway_host table_{sizeof(slipway_host), SLIPWAY_ABI_VERSION, this, &call, &notify, &cancelled};
  mutable std::mutex mutex_;  // guards all below
  std::int64_t now_ns_ = 3'600'000'000'000;
  std::deque<Expectation> expectations_;
  std::vector<Held> held_;
  std::map<std::uint64_t, OpenCall> calls_;
  std::vector<std::string> problems_;
  std::vector<HttpCallRequest> requests_;
  std::vector<LogNote> logs_;
  std::vector<ProgressNote> progress_;
  std::map<std::string, double> counters_;
  std::map<std::string, std::string> secrets_;
  std::map<std::string, KvEntry> kv_;
  std::int64_t last_revision_ = 0;
};

}  // namespace slipway::testing
