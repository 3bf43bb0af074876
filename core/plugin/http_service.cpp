// SPDX-License-Identifier: Apache-2.0
// http_service.cpp - the thread: takes what was asked for, lets it wait for its budget, runs libcurl,
// completes. Only the inbox is shared; all else belongs to the thread.
#include "plugin/http_service.hpp"

#include "base/crash.hpp"
#include "base/log.hpp"
#include "plugin/http_budget.hpp"
#include "plugin/http_transfer.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace slipway::plugin {
namespace {

constexpr Logger kLog("http");
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kMaxNamedEndpoints = 64;  // in metrics: a catalogue may name any number
constexpr long kIdleConnections = 128;

struct Open {
  std::uint64_t id;
  PreparedRequest request;
  std::shared_ptr<const HttpScope> scope;
  std::shared_ptr<HttpBudget> budget;
  Deadline deadline;
  Done<HttpCallReply> done;
  bool is_paid;  // by a CreateToken: does not wait

  std::string verb;  // these two stay when the request has gone into the transfer
  Url url;
  std::int64_t started_ns = 0;
  std::unique_ptr<HttpTransfer> transfer;

  // The last moment at which it may go out.
  [[nodiscard]] std::int64_t latest_ns() const {
    const std::int64_t not_after_ns = request.not_after_ns;
    return not_after_ns == 0 ? deadline.ns() : std::min(deadline.ns(), not_after_ns);
  }
};
using OpenPtr = std::unique_ptr<Open>;

// Process-wide and never undone: other libraries may use libcurl as well.
Status set_up_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code == CURLE_OK) return ok();
  return fail(Code::internal, "libcurl cannot be used: {}", curl_easy_strerror(code));
}

std::int64_t ms_until(std::int64_t then_ns, std::int64_t now_ns) {
  return then_ns <= now_ns ? 0 : (then_ns - now_ns - 1) / kNsPerMs + 1;
}

}  // namespace

struct HttpService::Impl {
  Impl(const Clock& the_clock, TokenBucket::Budget budget, MetricFamily<Counter> count,
       MetricFamily<Histogram> seconds)
      : clock(the_clock), budgets(budget), requests(count), durations(seconds), multi(curl_multi_init()) {
    if (multi == nullptr) throw std::bad_alloc();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kIdleConnections);
    // No signal is for this thread: SIGPIPE, which OpenSSL raises on a connection that dropped, above all.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread = std::thread([this]() noexcept { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), "http");
  }
  ~Impl() {
    {
      const std::lock_guard lock(inbox_mutex);
      is_stopping = true;
    }
    curl_multi_wakeup(multi);
    thread.join();
    curl_multi_cleanup(multi);
  }

  void hand_over(OpenPtr open) {
    {
      const std::lock_guard lock(inbox_mutex);
      inbox.push_back(std::move(open));
    }
    curl_multi_wakeup(multi);
  }

  void run();
  bool take_inbox();  // false: stop
  void accept(OpenPtr open);
  std::int64_t start_waiting();
  void start(OpenPtr open);
  void read_ends();
  void give_up(std::uint64_t id);
  void give_up_all();
  void complete(Open& open, Result<HttpCallReply> result);
  void refuse_waiting(Open& open, std::int64_t at_ns);
  std::string endpoint_label(const std::string& host);

  const Clock& clock;
  HttpBudgets budgets;
  std::atomic<std::uint64_t> last_id{0};

  std::mutex inbox_mutex;  // guards the next three
  std::vector<OpenPtr> inbox;
  std::vector<std::uint64_t> cancels;
  bool is_stopping = false;

  // Of the thread.
  MetricFamily<Counter> requests;
  MetricFamily<Histogram> durations;
  std::set<std::string> named_endpoints;
  CURLM* multi;
  std::map<std::shared_ptr<HttpBudget>, std::deque<OpenPtr>> waiting;  // first come, first served
  std::unordered_map<CURL*, OpenPtr> running;

  std::thread thread;  // last: it uses all of the above
};

void HttpService::Impl::run() {
  while (take_inbox()) {
    const std::int64_t next_ns = start_waiting();
    int count = 0;
    curl_multi_perform(multi, &count);
    read_ends();
    const std::int64_t wait_ms = std::min<std::int64_t>(ms_until(next_ns, clock.monotonic_ns()), 60'000);
    // Ends early for sockets, for libcurl's own timers and for curl_multi_wakeup().
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait_ms), nullptr);
  }
  give_up_all();
}

bool HttpService::Impl::take_inbox() {
  std::vector<OpenPtr> opened;
  std::vector<std::uint64_t> cancelled;
  bool is_last = false;
  {
    const std::lock_guard lock(inbox_mutex);
    opened.swap(inbox);
    cancelled.swap(cancels);
    is_last = is_stopping;
  }
  for (OpenPtr& open : opened) accept(std::move(open));
  for (const std::uint64_t id : cancelled) give_up(id);
  return !is_last;
}

void HttpService::Impl::accept(OpenPtr open) {
  if (!open->is_paid) {
    waiting[open->budget].push_back(std::move(open));
    return;
  }
  // It has its token, but a host that asked for silence gets it.
  const std::int64_t not_before_ns = open->budget->not_before_ns();
  if (not_before_ns > clock.monotonic_ns()) {
    refuse_waiting(*open, not_before_ns);
  } else {
    start(std::move(open));
  }
}

// Starts what has a token by now. Returns when the next one may start or gives up.
std::int64_t HttpService::Impl::start_waiting() {
  std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
  for (auto& [budget, queue] : waiting) {
    std::int64_t at_ns = budget->not_before_ns();
    // Who cannot go out in time is told now, not when its time is over.
    const std::int64_t earliest_ns = std::max(clock.monotonic_ns(), at_ns);
    std::vector<OpenPtr> late;
    for (OpenPtr& open : queue)
      if (open->latest_ns() < earliest_ns) late.push_back(std::exchange(open, nullptr));
    std::erase(queue, nullptr);
    while (!queue.empty()) {
      const TokenBucket::Take take = budget->try_take(clock.monotonic_ns());
      at_ns = take.at_ns;
      if (!take.is_taken) break;
      OpenPtr open = std::move(queue.front());
      queue.pop_front();
      start(std::move(open));
    }
    for (const OpenPtr& open : late) refuse_waiting(*open, at_ns);
    if (!queue.empty()) next_ns = std::min(next_ns, at_ns);
    for (const OpenPtr& open : queue) next_ns = std::min(next_ns, open->latest_ns());
  }
  std::erase_if(waiting, [](const auto& entry) { return entry.second.empty(); });
  return next_ns;
}

void HttpService::Impl::start(OpenPtr open) {
  const std::int64_t now_ns = clock.monotonic_ns();
  open->started_ns = now_ns;
  if (open->latest_ns() < now_ns) {
    refuse_waiting(*open, now_ns);
    return;
  }
  open->transfer =
      std::make_unique<HttpTransfer>(std::move(open->request), open->scope, clock, open->deadline);
  CURL* handle = open->transfer->handle();
  const CURLMcode code = curl_multi_add_handle(multi, handle);
  SLIPWAY_ASSERT(code == CURLM_OK);
  running.emplace(handle, std::move(open));
}

void HttpService::Impl::read_ends() {
  int left = 0;
  while (const CURLMsg* end = curl_multi_info_read(multi, &left)) {
    if (end->msg != CURLMSG_DONE) continue;
    const CURLcode code = end->data.result;  // the message goes with the handle
    const auto found = running.find(end->easy_handle);
    const OpenPtr open = std::move(found->second);
    running.erase(found);
    curl_multi_remove_handle(multi, open->transfer->handle());
    const std::int64_t now_ns = clock.monotonic_ns();
    auto raw = open->transfer->finish(code);
    if (!raw) {
      complete(*open, std::move(raw).error());
      continue;
    }
    HttpCallReply reply = make_reply(*std::move(raw), clock.utc_ms(), (now_ns - open->started_ns) / kNsPerMs);
    open->budget->on_reply(reply.status, reply.retry_after_ms, now_ns);
    complete(*open, std::move(reply));
  }
}

void HttpService::Impl::give_up(std::uint64_t id) {
  const auto cancelled = [](const Open& open) {
    auto failure = fail(Code::cancelled, "{} {}: cancelled", open.verb, open.url.shown());
    const bool was_sent = open.transfer != nullptr && open.transfer->was_sent();
    return was_sent ? Error(std::move(failure)) : Error(std::move(failure).rejected());
  };
  for (auto& [handle, running_one] : running) {
    if (running_one->id != id) continue;
    const OpenPtr open = std::move(running_one);
    curl_multi_remove_handle(multi, handle);
    running.erase(handle);
    complete(*open, cancelled(*open));
    return;
  }
  for (auto& [budget, queue] : waiting) {
    const auto found =
        std::find_if(queue.begin(), queue.end(), [&](const OpenPtr& o) { return o->id == id; });
    if (found == queue.end()) continue;
    const OpenPtr open = std::move(*found);
    queue.erase(found);
    complete(*open, cancelled(*open));
    return;
  }
}

void HttpService::Impl::give_up_all() {
  std::vector<std::uint64_t> ids;
  for (const auto& [handle, open] : running) ids.push_back(open->id);
  for (const auto& [budget, queue] : waiting)
    for (const OpenPtr& open : queue) ids.push_back(open->id);
  for (const std::uint64_t id : ids) give_up(id);
}

// It did not go out and could not before at_ns.
void HttpService::Impl::refuse_waiting(Open& open, std::int64_t at_ns) {
  const std::int64_t now_ns = clock.monotonic_ns();
  const std::int64_t wait_ms = ms_until(at_ns, now_ns);
  complete(open,
           fail(Code::unavailable, "{} {}: not sent in time; the request budget of {} lets it go in {} ms",
                open.verb, open.url.shown(), open.url.host, wait_ms)
               .rejected()
               .retry_after(std::chrono::milliseconds(wait_ms)));
}

void HttpService::Impl::complete(Open& open, Result<HttpCallReply> result) {
  const std::string endpoint = endpoint_label(open.url.host);
  const std::int64_t now_ns = clock.monotonic_ns();
  const std::int64_t took_ns = open.started_ns == 0 ? 0 : now_ns - open.started_ns;
  std::string end;
  if (result) {
    end = std::to_string(std::min<std::uint32_t>(result->status / 100, 9)) + "xx";
    durations.with({endpoint}).Observe(static_cast<double>(took_ns) / static_cast<double>(kNsPerSecond));
    kLog.debug("request answered", {{"instance", open.scope->settings().instance},
                                    {"verb", open.verb},
                                    {"url", open.url.shown()},
                                    {"status", result->status},
                                    {"ms", took_ns / kNsPerMs}});
    if (result->retry_after_ms && (result->status == 429 || result->status == 503)) {
      kLog.info(
          "host asks for fewer requests",
          {{"host", open.url.host}, {"status", result->status}, {"retry_after_ms", *result->retry_after_ms}});
    }
  } else {
    end = result.error().outcome == Outcome::rejected ? "not_sent" : "no_answer";
    kLog.debug(
        "request failed",
        {{"instance", open.scope->settings().instance}, {"error", result.error().message}, {"outcome", end}});
  }
  requests.with({endpoint, end}).Increment();
  open.transfer.reset();
  open.done(std::move(result));
}

std::string HttpService::Impl::endpoint_label(const std::string& host) {
  if (named_endpoints.size() < kMaxNamedEndpoints) named_endpoints.insert(host);
  return named_endpoints.contains(host) ? host : "other";
}

HttpService::HttpService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpService::~HttpService() = default;

Result<std::unique_ptr<HttpService>> HttpService::start(const Clock& clock, Metrics& metrics,
                                                        TokenBucket::Budget budget) {
  SLIPWAY_TRY(set_up_curl());
  SLIPWAY_TRY(auto requests,
              metrics.counters("slipway_http_requests_total",
                               "Requests of plugins, by host and by how they ended: 2xx and so on, "
                               "not_sent, no_answer",
                               {"host", "end"}));
  SLIPWAY_TRY(auto seconds, metrics.histograms("slipway_http_request_seconds",
                                               "From the start of a request to its answer", {"host"}));
  return std::unique_ptr<HttpService>(
      new HttpService(std::make_unique<Impl>(clock, budget, requests, seconds)));
}

std::uint64_t HttpService::request(HttpCallRequest request, std::shared_ptr<const HttpScope> scope,
                                   std::uint64_t parent, Deadline deadline, Done<HttpCallReply> done) {
  const std::uint64_t id = ++impl_->last_id;
  auto prepared = prepare(std::move(request), *scope);
  if (!prepared) {
    done(std::move(prepared).error());
    return id;
  }
  bool is_paid = false;
  if (prepared->is_once) {
    scope->set_create_host(prepared->url.host);
    is_paid = parent != 0 && scope->spend(parent);
  }
  auto budget =
      impl_->budgets.of(scope->settings().credential, prepared->url.host, impl_->clock.monotonic_ns());
  std::string verb = prepared->verb;
  Url url = prepared->url;
  impl_->hand_over(
      std::make_unique<Open>(Open{id, *std::move(prepared), std::move(scope), std::move(budget), deadline,
                                  std::move(done), is_paid, std::move(verb), std::move(url), 0, nullptr}));
  return id;
}

void HttpService::cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(impl_->inbox_mutex);
    impl_->cancels.push_back(id);
  }
  curl_multi_wakeup(impl_->multi);
}

Result<CreateToken> HttpService::try_acquire_for_create(std::shared_ptr<const HttpScope> scope) {
  const std::string host = scope->create_host();
  if (host.empty()) return CreateToken();
  const std::int64_t now_ns = impl_->clock.monotonic_ns();
  const auto take = impl_->budgets.of(scope->settings().credential, host, now_ns)->try_take(now_ns);
  if (take.is_taken) return CreateToken(std::move(scope));
  const std::int64_t wait_ms = ms_until(take.at_ns, now_ns);
  return fail(Code::unavailable, "no request to {} is left for a create; the next one in {} ms", host,
              wait_ms)
      .rejected()
      .retry_after(std::chrono::milliseconds(wait_ms));
}

}  // namespace slipway::plugin
