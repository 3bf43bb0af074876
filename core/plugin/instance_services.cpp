// SPDX-License-Identifier: Apache-2.0
#include "plugin/instance_services.hpp"

#include <slipway/codec.hpp>
#include <slipway/messages.hpp>

#include <boost/mp11/algorithm.hpp>

#include <bit>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

namespace slipway::plugin {

InstanceServices::~InstanceServices() {
  std::vector<std::uint64_t> ids;
  {
    const std::lock_guard lock(open_mutex_);
    for (const auto& [id, open] : open_) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) cancel(id);
  std::unique_lock lock(open_mutex_);
  open_changed_.wait(lock, [this] { return open_.empty() && completing_ == 0; });
}

void InstanceServices::call(ServiceCall call, RawDone done) {
  {
    const std::lock_guard lock(open_mutex_);
    open_.emplace(call.id, Open{std::move(done), nullptr, false});
  }
  bool is_known = false;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, HostRequests>>([&](auto type) {
    using R = typename decltype(type)::type;
    if (is_known || call.method != R::method) return;
    is_known = true;
    serve<R>(call);
  });
  if (!is_known) {
    end<Unit>(
        call.id,
        fail(Code::unsupported, "this host has no service {}", detail::excerpt(call.method)).rejected());
  }
}

template <class R>
void InstanceServices::serve(const ServiceCall& call) {
  auto request = decode<R>(call.body);
  if (!request) {
    return end<Unit>(call.id, fail(Code::invalid, "{}: {}", R::method, request.error().message).rejected());
  }
  perform(call, *std::move(request));
}

void InstanceServices::perform(const ServiceCall& call, HttpCallRequest request) {
  const std::uint64_t request_id = parts_.http.request(std::move(request), parts_.scope, call.parent,
                                                       call.deadline, ender<HttpCallReply>(call.id));
  set_give_up(call.id, [this, request_id] { parts_.http.cancel(request_id); });
}

void InstanceServices::perform(const ServiceCall& call, const SecretGetRequest& request) {
  if (!parts_.reads_secrets) {
    return end<Unit>(call.id, fail(Code::denied,
                                   "secret.get/1: the plugin's manifest does not ask for it (reads_secrets); "
                                   "secrets go into requests by their names"));
  }
  auto secret = parts_.secrets.secret(request.name.value);
  if (!secret) return end<Unit>(call.id, std::move(secret).error());
  end<SecretGetReply>(call.id, SecretGetReply{std::string(secret->reveal())});
}

void InstanceServices::perform(const ServiceCall& call, KvGetRequest request) {
  parts_.kv.get(std::move(request), ender<KvEntry>(call.id));
}
void InstanceServices::perform(const ServiceCall& call, KvPutRequest request) {
  parts_.kv.put(std::move(request), ender<KvPutReply>(call.id));
}
void InstanceServices::perform(const ServiceCall& call, KvDeleteRequest request) {
  parts_.kv.remove(std::move(request), ender<Unit>(call.id));
}
void InstanceServices::perform(const ServiceCall& call, KvListRequest request) {
  parts_.kv.list(std::move(request), ender<KvListReply>(call.id));
}

void InstanceServices::perform(const ServiceCall& call, ClockNowRequest) {
  const Clock& clock = parts_.executor.clock();
  end<ClockNowReply>(call.id, ClockNowReply{clock.monotonic_ns(), clock.utc_ms()});
}

void InstanceServices::perform(const ServiceCall& call, ClockSleepRequest request) {
  constexpr std::int64_t kLongestMs = 24 * 3'600'000;
  if (request.ms < 0 || request.ms > kLongestMs) {
    return end<Unit>(
        call.id, fail(Code::invalid, "clock.sleep/1: ms: expected 0 to {}, got {}", kLongestMs, request.ms));
  }
  const Deadline wanted = Deadline::after(parts_.executor.clock(), std::chrono::milliseconds(request.ms));
  const bool is_cut = call.deadline < wanted;
  const std::uint64_t id = call.id;
  const TimerId timer = parts_.executor.post_at(wanted.sooner(call.deadline), [this, id, is_cut] {
    if (!is_cut) return end<Unit>(id, Unit{});
    end<Unit>(id, fail(Code::deadline, "clock.sleep/1: the call's deadline came first"));
  });
  set_give_up(id, [this, id, timer] {
    if (parts_.executor.cancel(timer))
      end<Unit>(id, fail(Code::cancelled, "clock.sleep/1: the call was given up"));
  });
}

// ---- Ends
// ---------------------------------------------------------------------------------------------------

template <class Reply>
Done<Reply> InstanceServices::ender(std::uint64_t id) {
  return [this, id](const Result<Reply>& result) { end<Reply>(id, result); };
}

template <class Reply>
void InstanceServices::end(std::uint64_t id, const Result<Reply>& result) {
  if (result) return end_raw(id, SLIPWAY_OK, encode(*result));
  end_raw(id, static_cast<slipway_status>(result.error().code), encode_error(result.error()));
}

void InstanceServices::end_raw(std::uint64_t id, slipway_status status, std::string body) {
  RawDone done;
  {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    done = std::move(found->second.done);
    open_.erase(found);
    ++completing_;
  }
  done(status, std::move(body));
  const std::lock_guard lock(open_mutex_);
  --completing_;
  open_changed_.notify_all();
}

// A call may have ended or been cancelled before what it started was known.
void InstanceServices::set_give_up(std::uint64_t id, std::function<void()> give_up) {
  {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    if (!found->second.is_cancelled) {
      found->second.give_up = std::move(give_up);
      return;
    }
  }
  give_up();
}

void InstanceServices::cancel(std::uint64_t id) {
  std::function<void()> give_up;
  {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(id);
    if (found == open_.end() || std::exchange(found->second.is_cancelled, true)) return;
    give_up = std::move(found->second.give_up);
  }
  if (give_up) give_up();
}

bool InstanceServices::takes_note(std::size_t bytes) {
  if (bytes <= kMaxNoteBytes && notes_.try_take(parts_.executor.clock().monotonic_ns()).is_taken) return true;
  const std::uint64_t dropped = ++dropped_notes_;
  if (std::has_single_bit(dropped) && parts_.notes.log) {  // less and less often
    parts_.notes.log(0, LogNote{LogSeverity::warn,
                                "the plugin says too much at once, the rest is dropped",
                                {{"count", std::to_string(dropped)}}});
  }
  return false;
}

void InstanceServices::notify(std::uint64_t call, std::string_view topic, std::string_view body) {
  if (!takes_note(body.size())) return;
  const auto tell = [&]<class Note>(std::type_identity<Note>, const auto& sink) {
    if (topic != Note::topic || !sink) return;
    const auto note = decode<Note>(body);
    if (!note) return;  // dropped, as under load: what nobody answers cannot be refused
    if constexpr (std::is_same_v<Note, MetricNote>) {
      sink(*note);
    } else {
      sink(call, *note);
    }
  };
  tell(std::type_identity<LogNote>{}, parts_.notes.log);
  tell(std::type_identity<ProgressNote>{}, parts_.notes.progress);
  tell(std::type_identity<MetricNote>{}, parts_.notes.metric);
}

}  // namespace slipway::plugin
