// SPDX-License-Identifier: Apache-2.0
// instance_services.hpp - the services of one instance (DESIGN 4.3): bytes to messages, each method to what
// does it, and back.
#pragma once

#include "base/token_bucket.hpp"
#include "plugin/http_service.hpp"
#include "plugin/services.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace slipway::plugin {

// What a plugin tells about a call (0: about none). Called on any thread; must not block. No more than
// kMaxNotes come, and none that is larger than kMaxNoteBytes; the rest is dropped, which `log` is told.
inline constexpr TokenBucket::Budget kMaxNotes{.per_second = 200, .burst = 2000};
inline constexpr std::size_t kMaxNoteBytes = std::size_t{64} << 10U;
struct NoteSinks {
  std::function<void(std::uint64_t call, const LogNote& note)> log;
  std::function<void(std::uint64_t call, const ProgressNote& note)> progress;
  std::function<void(const MetricNote& note)> metric;
};

// Thread-safe; what it refers to outlives it.
class InstanceServices final : public HostServices {
 public:
  struct Parts {
    HttpService& http;
    std::shared_ptr<const HttpScope> scope;
    SecretSource& secrets;
    bool reads_secrets = false;  // the manifest asked for secret.get/1
    KvStore& kv;
    Executor& executor;  // clock and timers
    NoteSinks notes;
  };

  explicit InstanceServices(Parts parts) : parts_(std::move(parts)) {}
  ~InstanceServices() override;

  void call(ServiceCall call, RawDone done) override;
  void cancel(std::uint64_t id) override;
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override;

 private:
  struct Open {
    RawDone done;
    std::function<void()> give_up;  // none: ends soon by itself, or has not begun
    bool is_cancelled = false;
  };

  template <class R>
  void serve(const ServiceCall& call);
  void perform(const ServiceCall& call, HttpCallRequest request);
  void perform(const ServiceCall& call, const SecretGetRequest& request);
  void perform(const ServiceCall& call, KvGetRequest request);
  void perform(const ServiceCall& call, KvPutRequest request);
  void perform(const ServiceCall& call, KvDeleteRequest request);
  void perform(const ServiceCall& call, KvListRequest request);
  void perform(const ServiceCall& call, ClockNowRequest request);
  void perform(const ServiceCall& call, ClockSleepRequest request);

  template <class Reply>
  void end(std::uint64_t id, const Result<Reply>& result);
  void end_raw(std::uint64_t id, slipway_status status, std::string body);
  template <class Reply>
  Done<Reply> ender(std::uint64_t id);
  void set_give_up(std::uint64_t id, std::function<void()> give_up);

  bool takes_note(std::size_t bytes);

  const Parts parts_;
  TokenBucket notes_{kMaxNotes};
  std::atomic<std::uint64_t> dropped_notes_{0};
  std::mutex open_mutex_;  // guards what follows
  std::condition_variable open_changed_;
  std::unordered_map<std::uint64_t, Open> open_;
  unsigned completing_ = 0;  // completions that run now
};

}  // namespace slipway::plugin
