// SPDX-License-Identifier: Apache-2.0
// failure_tests.cpp - what a method that makes something says when the cloud fails: rejected only with proof,
// unknown otherwise. Most of it needs no cloud, as each request is answered by the fault itself.
#include "conform/law_tests.hpp"
#include "conform/methods.hpp"

#include <slipway/codec.hpp>

namespace slipway::conform {

namespace {

HttpCallReply reply_of(std::uint32_t status, std::string body = {}) {
  HttpCallReply reply;
  reply.status = status;
  reply.body = std::move(body);
  reply.headers = {{"content-type", "text/html"}};
  return reply;
}

struct FailureCase {
  const char* name;
  plugin::Fault fault;
  const char* done;                                  // "the connection was refused"
  std::function<std::string(const Error&)> problem;  // empty: as it should be
  const char* why;
  const char* to_do;
};

std::string is_rejected(const Error& error) {
  if (error.outcome == Outcome::rejected) return {};
  return message("wanted outcome rejected, got unknown ({}: {})", error.code, error.message);
}

std::string is_unknown(const Error& error) {
  if (error.outcome == Outcome::unknown || !error.accepted_id.empty()) return {};
  return message("wanted outcome unknown, got rejected ({}: {})", error.code, error.message);
}

std::string is_throttled(const Error& error) {
  constexpr std::int64_t kAfter = 7000;
  if (error.code != Code::unavailable)
    return message("wanted unavailable, got {}: {}", error.code, error.message);
  if (error.outcome != Outcome::rejected) return "wanted outcome rejected, got unknown";
  if (error.retry_after_ms == kAfter) return {};
  return message("wanted retry_after_ms {}, got {}", kAfter, error.retry_after_ms.value_or(0));
}

std::string is_code(const Error& error, Code code) {
  if (error.code != code) return message("wanted {}, got {}: {}", code, error.code, error.message);
  return is_rejected(error);
}

std::vector<FailureCase> cases() {
  using plugin::FaultKind;
  HttpCallReply throttled = reply_of(429, "{}");
  throttled.headers.push_back({"retry-after", "7"});
  throttled.retry_after_ms = 7000;
  constexpr const char* kDouble = "the core would make a second one while the first exists";
  constexpr const char* kGiveOn = "give the host's error on as it is: it knows what was sent";
  constexpr const char* kProof =
      "say rejected() only where the cloud's own answer proves that nothing was made";
  constexpr const char* kHttpError = "http_error() of the SDK knows the usual statuses";
  return {
      {"refused",
       {.kind = FaultKind::drop_before},
       "each connection was refused before anything was sent",
       is_rejected,
       "the core would list and wait for something that cannot exist",
       kGiveOn},
      {"lost-answer",
       {.kind = FaultKind::drop_after, .only_once = true},
       "the answer of the request that makes it was lost",
       is_unknown,
       kDouble,
       kGiveOn},
      {"server-error",
       {.kind = FaultKind::answer, .only_once = true, .reply = reply_of(500, "<html>")},
       "the request that makes it was answered with 500",
       is_unknown,
       kDouble,
       kProof},
      {"bad-gateway",
       {.kind = FaultKind::answer, .only_once = true, .reply = reply_of(502, "<html>")},
       "the request that makes it was answered with 502 by a proxy",
       is_unknown,
       kDouble,
       kProof},
      {"unreadable-answer",
       {.kind = FaultKind::answer, .only_once = true, .reply = reply_of(201, "<html>")},
       "the request that makes it was answered with 201 and no JSON",
       is_unknown,
       kDouble,
       "reply.decode<T>() says so by itself"},
      {"answer-without-id",
       {.kind = FaultKind::answer, .only_once = true, .reply = reply_of(201, "{}")},
       "the request that makes it was answered with 201 and an object without an id",
       is_unknown,
       kDouble,
       "an answer without an id is no yes: fail() with outcome unknown"},
      {"unauthenticated",
       {.kind = FaultKind::answer, .reply = reply_of(401, "{}")},
       "each request was answered with 401",
       [](const Error& error) { return is_code(error, Code::unauthenticated); },
       "the environment is to wait for a new credential, and not to try again",
       kHttpError},
      {"throttled",
       {.kind = FaultKind::answer, .reply = throttled},
       "each request was answered with 429, Retry-After: 7",
       is_throttled,
       "the core waits as long as the cloud asks, and counts no try",
       kHttpError},
  };
}

Status run_case(Trial& trial, const LawGroup& group, const FailureCase& c) {
  Bench& bench = trial.bench();
  SLIPWAY_TRY(Subject * subject, trial.any_subject({}));
  Surroundings around = made_up_surroundings();
  if (bench.needs_cloud()) {
    SLIPWAY_TRY(around, look_around(bench, *subject));
    clean_up_at_end(trial, *subject, group);
  }
  subject->faults().set({c.fault});
  const unsigned before = subject->requests();
  const std::string body = group.make_body(make_request(trial, 1), around);
  const CallEnd end = subject->raw(group.make, body);
  if (subject->requests() == before) return not_applicable("the plugin sends no HTTP request");
  if (subject->faults().applied() == 0) {
    SLIPWAY_TRY(bench.needs_cloud());
    return not_applicable("no request is marked once");
  }
  SLIPWAY_TRY(check_end(group.make, body, end));
  std::string problem;
  if (end.is_ok()) {
    const auto made = group.made(end);
    if (!made || made->id.empty()) problem = "wanted an error, got a reply without an id";
  } else {
    problem = c.problem(end.error());
  }
  if (problem.empty()) return ok();
  return unmet("{} was called and {}; {}", group.make, c.done, problem)
      .why(c.why)
      .look_at("where the method makes its error of the cloud's answer")
      .to_do(c.to_do);
}

// A plugin's look-up may be answered from what it remembers, so a reply is fine only where it names an id.
Status reads_say_so(Trial& trial, std::uint32_t status, Code wanted) {
  SLIPWAY_TRY(Subject * subject,
              trial.subject({{.kind = plugin::FaultKind::answer, .reply = reply_of(status, "{}")}}));
  const CallEnd end = subject->raw(ListRequest::method, "{}");
  if (subject->requests() == 0) return not_applicable("the plugin sends no HTTP request");
  SLIPWAY_TRY(check_end(ListRequest::method, "{}", end));
  if (!end.is_ok() && end.error().code == wanted) return ok();
  return unmet("instances.list was called and each request was answered with {}; wanted {}, got {}", status,
               wanted, end.is_ok() ? std::string("a reply") : end.error().message)
      .why("an empty list would mean that all machines are gone")
      .look_at("what the plugin does with a status that is not 200")
      .to_do("give back error(reply) for every status that is not a page of the list");
}

}  // namespace

void add_failure_tests(const LawGroup& group, Tests& tests) {
  const std::string prefix = group.name == "instances" ? "start" : group.name;
  for (const FailureCase& c : cases()) {
    tests.push_back({"semantics/" + prefix + "-" + c.name,
                     [&group, c](Trial& trial) { return run_case(trial, group, c); }});
  }
  if (group.name != "instances") return;
  tests.push_back({"semantics/list-server-error",
                   [](Trial& trial) { return reads_say_so(trial, 500, Code::unavailable); }});
  tests.push_back({"semantics/list-unauthenticated",
                   [](Trial& trial) { return reads_say_so(trial, 401, Code::unauthenticated); }});
}

}  // namespace slipway::conform
