// SPDX-License-Identifier: Apache-2.0
// concurrency_tests.cpp - many calls at once, answered by a cloud that says 404 after a while.
#include "conform/methods.hpp"
#include "conform/trial.hpp"

#include <slipway/codec.hpp>

#include <future>
#include <thread>

namespace slipway::conform {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kCalls = 64;

std::vector<plugin::Fault> slow_not_found() {
  HttpCallReply reply;
  reply.status = 404;
  reply.body = "{}";
  return {{.kind = plugin::FaultKind::answer, .nth = 0, .delay = 2ms, .reply = reply}};
}

struct Open {
  std::string method;
  std::string body;
  Subject::Pending pending;
};

Status all_end(std::vector<Open>& calls) {
  for (Open& call : calls) SLIPWAY_TRY(check_end(call.method, call.body, call.pending.wait()));
  return ok();
}

void begin(Trial& trial, Subject& subject, std::vector<Open>& calls, const std::string& method,
           std::string body = "{}") {
  auto pending = subject.begin(method, body, trial.bench().options.call_limit);
  calls.push_back({method, std::move(body), std::move(pending)});
}

Result<std::vector<std::string>> methods_of(Trial& trial) {
  auto methods = harmless_methods(trial.bench());
  if (methods.empty()) return not_applicable("the plugin has no method without effect");
  return methods;
}

Status many_calls(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  SLIPWAY_TRY(Subject * subject, trial.subject(slow_not_found()));
  std::vector<Open> calls;
  for (unsigned i = 0; i < kCalls; ++i) begin(trial, *subject, calls, methods.front());
  return all_end(calls);
}

Status mixed_calls(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  SLIPWAY_TRY(Subject * subject, trial.subject(slow_not_found()));
  std::vector<Open> calls;
  for (unsigned i = 0; i < 4; ++i) {
    for (const std::string& method : methods) begin(trial, *subject, calls, method);
  }
  return all_end(calls);
}

// Each answer names the id that was asked for.
Status answers_belong(Trial& trial) {
  if (!trial.bench().has<GetRequest>()) return not_applicable("the plugin has no instances.get");
  SLIPWAY_TRY(Subject * subject, trial.subject(slow_not_found()));
  std::vector<Open> calls;
  for (unsigned i = 0; i < kCalls; ++i) {
    begin(trial, *subject, calls, std::string(GetRequest::method),
          encode(GetRequest{{"conform-" + std::to_string(i), "conform-again-" + std::to_string(i)}}));
  }
  for (unsigned i = 0; i < kCalls; ++i) {
    const CallEnd end = calls[i].pending.wait();
    SLIPWAY_TRY(check_end(calls[i].method, calls[i].body, end));
    if (!end.is_ok()) continue;
    SLIPWAY_TRY(const GetReply reply, decode<GetReply>(end.body));
    const std::string wanted = "conform-" + std::to_string(i);
    const std::string got = reply.results.empty() ? "no result" : reply.results.front().id;
    if (reply.results.size() == 2 && got == wanted) continue;
    return unmet(
               "{} calls of instances.get were made at once; wanted 2 results, the first of {}, got {}, of "
               "{}",
               kCalls, wanted, reply.results.size(), got)
        .why("the core would take one machine for another")
        .look_at("members of the plugin's class that a call changes")
        .to_do("keep what belongs to a call in the call; results in the order of the request's ids");
  }
  return ok();
}

Status unknown_between(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  SLIPWAY_TRY(Subject * subject, trial.subject(slow_not_found()));
  std::vector<Open> calls;
  for (unsigned i = 0; i < kCalls / 2; ++i) {
    begin(trial, *subject, calls, methods.front());
    begin(trial, *subject, calls, "conform.no_such/1");
  }
  return all_end(calls);
}

// A call that hangs in the cloud holds no other up, while there are threads.
Status one_hangs(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  if (trial.bench().manifest.max_concurrency < 2)
    return not_applicable("the plugin takes one call at a time");
  std::vector<plugin::Fault> faults{{.kind = plugin::FaultKind::hang, .nth = 1}};
  faults.push_back(slow_not_found().front());
  SLIPWAY_TRY(Subject * subject, trial.subject(faults));
  auto hanging = subject->begin(methods.front(), "{}", trial.bench().options.call_limit);
  std::vector<Open> calls;
  for (unsigned i = 0; i < 8; ++i) begin(trial, *subject, calls, methods.front());
  const Status ended = all_end(calls);
  const bool has_hung = subject->requests() > 0;
  hanging.cancel();
  static_cast<void>(hanging.wait());
  SLIPWAY_TRY(ended);
  return has_hung ? ok() : Status(not_applicable("the plugin sends no HTTP request"));
}

// Completions that come too many come a little later; who counts them is check_manners().
Status completed_once(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  SLIPWAY_TRY(Subject * subject, trial.subject(slow_not_found()));
  for (const std::string& method : methods) {
    std::vector<Open> calls;
    for (unsigned i = 0; i < 4; ++i) begin(trial, *subject, calls, method);
    SLIPWAY_TRY(all_end(calls));
  }
  Event later(trial.bench().clock);
  static_cast<void>(later.wait(Deadline::after(trial.bench().clock, 100ms)));
  return ok();
}

Status instances_apart(Trial& trial) {
  SLIPWAY_TRY(const auto methods, methods_of(trial));
  SLIPWAY_TRY(Subject * stays, trial.subject(slow_not_found()));
  {
    SLIPWAY_TRY(const auto goes, Subject::open(trial.bench(), {.faults = slow_not_found()}));
    SLIPWAY_TRY(check_end(methods.front(), "{}", goes->raw(methods.front(), "{}")));
  }
  return check_end(methods.front(), "{}", stays->raw(methods.front(), "{}"));
}

Status created_at_once(Trial& trial) {
  std::vector<std::future<Status>> made;
  for (int i = 0; i < 4; ++i) {
    made.push_back(std::async(std::launch::async, [&bench = trial.bench()]() -> Status {
      SLIPWAY_TRY(const auto subject, Subject::open(bench, {}));
      return subject->check_manners();
    }));
  }
  Status first = ok();
  for (auto& one : made) {
    if (Status end = one.get(); !end && first) first = std::move(end);
  }
  return first;
}

}  // namespace

void add_concurrency_tests(const Bench&, Tests& tests) {
  tests.push_back({"concurrency/many-calls", many_calls});
  tests.push_back({"concurrency/mixed-calls", mixed_calls});
  tests.push_back({"concurrency/answers-belong", answers_belong});
  tests.push_back({"concurrency/unknown-between", unknown_between});
  tests.push_back({"concurrency/one-hangs", one_hangs});
  tests.push_back({"concurrency/completed-once", completed_once});
  tests.push_back({"concurrency/instances-apart", instances_apart});
  tests.push_back({"concurrency/created-at-once", created_at_once});
}

}  // namespace slipway::conform
