// SPDX-License-Identifier: Apache-2.0
// cloud.hpp - a simulated cloud: a World, and between it and its callers everything that goes wrong with a
// real one (script.hpp). It waits for nothing: an answer says when it is due, and whoever calls lets that
// time pass, be it virtual. The same seed, script and calls give the same answers, bit for bit.
//
// Linked by the plugin (in its process, or behind tests/support/sim_cloud) and by the simulation of the
// product. Thread rule: one thread.
#pragma once

#include "sim/cloud/audit.hpp"
#include "sim/cloud/faults.hpp"
#include "sim/cloud/world.hpp"

#include <slipway/codec.hpp>

#include <deque>

namespace slipway::sim {

// What becomes of a call.
struct Handled {
  std::optional<Error> error;
  std::string reply;        // JSON, unless there is an error
  std::int64_t due_ms = 0;  // when the caller has it, or sees the connection end
  bool is_lost = false;     // nothing comes: neither reply nor error is the caller's to see
};

template <class Reply>
struct Answer {
  Result<Reply> result;
  std::int64_t due_ms = 0;
};

class Cloud {
 public:
  // The script must be a checked one (parse_script, check_script). `now_ms`: UTC.
  Cloud(Script script, std::uint64_t seed, std::int64_t now_ms);

  // unsupported: no such method; invalid: the body is none of its requests. A time before the last one is
  // taken as the last one.
  Handled handle(std::string_view method, std::string_view body, std::int64_t now_ms);

  // The same for a caller that has the types. What is lost or unreadable is `unavailable`, outcome unknown.
  template <Request R>
  Answer<typename R::Reply> call(const R& request, std::int64_t now_ms) {
    Handled outcome = handle(R::method, encode(request), now_ms);
    const std::int64_t due_ms = outcome.due_ms;
    return {result_of<typename R::Reply>(std::move(outcome)), due_ms};
  }

  // Another script from now on: faults are counted anew, resources stay.
  void set_script(Script script, std::int64_t now_ms);
  void set_object_url(std::string url) { world_.set_object_url(std::move(url)); }

  Audit audit(std::int64_t now_ms);
  // The last kMaxRequests calls.
  [[nodiscard]] const std::deque<RequestTrace>& requests() const { return requests_; }
  static constexpr std::size_t kMaxRequests = 10'000;

  static std::span<const std::string_view> methods() { return World::methods(); }

 private:
  struct Called {
    std::string method;
    json::value body;
    std::string nonce;
  };

  std::int64_t latency_ms(std::string_view method);
  std::optional<Error> over_rate();
  void run(const Called& called, const Fault* fault, Handled& outcome);
  void lose(const Called& called, const Fault& fault, Handled& outcome);
  Result<json::value> apply(const Called& called);
  void thin(json::value& reply, const Fault& fault);
  void note(const Called& called, const Fault* fault, const Handled& outcome, std::string result);

  template <class Reply>
  static Result<Reply> result_of(Handled&& outcome) {
    if (outcome.is_lost) return fail(Code::unavailable, "the connection ended without an answer");
    if (outcome.error) return *std::move(outcome.error);
    auto reply = decode<Reply>(outcome.reply);
    if (!reply) return fail(Code::unavailable, "unreadable answer: {}", reply.error().message);
    return reply;
  }

  World world_;
  FaultBook faults_;
  Random random_;
  double rate_tokens_ = 0;
  std::int64_t rate_filled_ms_ = 0;
  std::uint64_t last_number_ = 0;
  std::map<std::string, CallCount> calls_;
  std::deque<RequestTrace> requests_;
};

}  // namespace slipway::sim
