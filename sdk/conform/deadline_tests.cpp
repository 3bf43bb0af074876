// SPDX-License-Identifier: Apache-2.0
// deadline_tests.cpp - calls end in time: after their deadline, after a cancel, while the cloud does not
// answer, and with a single thread.
#include "conform/law_groups.hpp"
#include "conform/methods.hpp"
#include "conform/trial.hpp"

#include <slipway/codec.hpp>

namespace slipway::conform {

namespace {

using namespace std::chrono_literals;

constexpr auto kShort = 50ms;

std::vector<plugin::Fault> hanging() { return {{.kind = plugin::FaultKind::hang}}; }
std::vector<plugin::Fault> answering(std::chrono::milliseconds delay) {
  HttpCallReply reply;
  reply.status = 404;
  reply.body = "{}";
  return {{.kind = plugin::FaultKind::answer, .delay = delay, .reply = reply}};
}

Status in_time(const Bench& bench, std::string_view method, std::string_view what, const CallEnd& end) {
  const auto limit = bench.options.cancel_grace + kShort;
  if (end.took < limit && end.error().message.find("did not end") == std::string::npos) return ok();
  return unmet(
             "{} was called, and {} while the cloud did not answer; wanted an end within {} ms, got one "
             "after {} ms",
             method, what, limit.count(),
             std::chrono::duration_cast<std::chrono::milliseconds>(end.took).count())
      .why("the host ends an instance that does not listen, with all that is open on it")
      .look_at("loops and waits in the method that do not look at call.cancelled()")
      .to_do(
          "wait through the host (http, call.sleep), which ends with the call; ask call.cancelled() in "
          "loops");
}

Status after_deadline(Trial& trial, const std::string& method) {
  SLIPWAY_TRY(Subject * subject, trial.subject(hanging()));
  const CallEnd end = subject->begin(method, "{}", kShort).wait();
  SLIPWAY_TRY(check_end(method, "{}", end));
  SLIPWAY_TRY(subject->check_manners());
  return end.is_ok() ? ok() : in_time(trial.bench(), method, "its deadline passed", end);
}

Status after_cancel(Trial& trial, const std::string& method) {
  SLIPWAY_TRY(Subject * subject, trial.subject(hanging()));
  auto pending = subject->begin(method, "{}", trial.bench().options.call_limit);
  Event soon(trial.bench().clock);
  static_cast<void>(soon.wait(Deadline::after(trial.bench().clock, 20ms)));
  pending.cancel();
  const CallEnd end = pending.wait();
  SLIPWAY_TRY(check_end(method, "{}", end));
  SLIPWAY_TRY(subject->check_manners());
  SLIPWAY_TRY(end.is_ok() ? ok() : in_time(trial.bench(), method, "given up", end));
  // And the instance goes on.
  subject->faults().set(answering(0ms));
  return check_end(method, "{}", subject->raw(method, "{}"));
}

Result<std::string> a_method(const Bench& bench) {
  const auto methods = harmless_methods(bench);
  if (methods.empty()) return not_applicable("the plugin has no method without effect");
  return bench.has<ListRequest>() ? std::string(ListRequest::method) : methods.front();
}

Status pool_of_one(Trial& trial) {
  SLIPWAY_TRY(const std::string method, a_method(trial.bench()));
  SLIPWAY_TRY(Subject * subject, trial.subject(answering(5ms), 1));
  std::vector<Subject::Pending> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(subject->begin(method, "{}", trial.bench().options.call_limit));
  for (auto& call : calls) SLIPWAY_TRY(check_end(method, "{}", call.wait()));
  if (subject->requests() == 0) return not_applicable("the plugin sends no HTTP request");
  return ok();
}

Status ends_with_open_call(Trial& trial) {
  SLIPWAY_TRY(const std::string method, a_method(trial.bench()));
  Bench& bench = trial.bench();
  SLIPWAY_TRY(auto subject, Subject::open(bench, {.faults = hanging()}));
  auto pending = subject->begin(method, "{}", bench.options.call_limit);
  const std::int64_t began = bench.clock.monotonic_ns();
  subject.reset();
  const CallEnd end = pending.wait();
  const auto took = std::chrono::nanoseconds(bench.clock.monotonic_ns() - began);
  if (end.is_ok() || took < bench.options.cancel_grace) return ok();
  return unmet("an instance was ended while {} was open; wanted that within {} ms, got it after {} ms",
               method, bench.options.cancel_grace.count(),
               std::chrono::duration_cast<std::chrono::milliseconds>(took).count())
      .why("a daemon that stops, and new settings, wait for it")
      .look_at("what the method waits for")
      .to_do("wait through the host, which ends with the call");
}

// Given up while the request that makes something is under way: nobody knows whether it was made.
Status make_given_up(Trial& trial, const LawGroup& group) {
  SLIPWAY_TRY(Subject * subject, trial.any_subject({}));
  SLIPWAY_TRY(const Surroundings around, trial.bench().needs_cloud() ? look_around(trial.bench(), *subject)
                                                                     : Result(made_up_surroundings()));
  subject->faults().set({{.kind = plugin::FaultKind::hang, .only_once = true}});
  const std::string body = group.make_body(make_request(trial, 1), around);
  auto pending = subject->begin(group.make, body, kShort);
  const CallEnd end = pending.wait();
  const bool was_sent = subject->faults().applied() > 0;
  clean_up_at_end(trial, *subject, group);
  if (!was_sent) {
    return subject->requests() == 0 ? Status(not_applicable("the plugin sends no HTTP request"))
                                    : trial.bench().needs_cloud();
  }
  SLIPWAY_TRY(check_end(group.make, body, end));
  if (!end.is_ok() && end.error().outcome == Outcome::unknown)
    return in_time(trial.bench(), group.make, "its deadline passed", end);
  return unmet("{} was given up after its request had gone out; wanted outcome unknown, got {}", group.make,
               end.is_ok() ? std::string("a reply") : std::string("rejected"))
      .why("the core would make a second one, and never look for the first")
      .look_at("where the method turns errors of the host into its own")
      .to_do("give the host's error on as it is: it knows what was sent");
}

}  // namespace

void add_deadline_tests(const Bench& bench, Tests& tests) {
  for (const std::string& method : harmless_methods(bench)) {
    const std::string name = method.substr(0, method.find('/'));
    tests.push_back({"deadlines/after-deadline-" + name,
                     [method](Trial& trial) { return after_deadline(trial, method); }});
    tests.push_back(
        {"deadlines/after-cancel-" + name, [method](Trial& trial) { return after_cancel(trial, method); }});
  }
  tests.push_back({"deadlines/pool-of-one", pool_of_one});
  tests.push_back({"deadlines/ends-with-open-call", ends_with_open_call});
  for (const LawGroup& group : law_groups()) {
    if (!bench.has(group.make)) continue;
    tests.push_back({"deadlines/" + group.name + "-given-up",
                     [&group](Trial& trial) { return make_given_up(trial, group); }});
  }
}

}  // namespace slipway::conform
