// SPDX-License-Identifier: Apache-2.0
// message_tests.cpp - requests that are incomplete, wrong, foreign or huge, without a cloud. What changes
// something is only called with requests that must be refused.
#include "conform/methods.hpp"
#include "conform/trial.hpp"

#include <slipway/codec.hpp>

#include <algorithm>

namespace slipway::conform {

namespace {

constexpr const char* kAll = "slipway::decode of the SDK sees to it";

// `body` must be refused with invalid, by a message that has one of the names.
Status check_refusal(Subject& subject, const std::string& method, const std::string& body,
                     const std::vector<std::string>& names, std::string_view what) {
  const CallEnd end = subject.raw(method, body);
  SLIPWAY_TRY(check_end(method, body, end));
  const Error error = end.is_ok() ? Error{} : end.error();
  const bool is_named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return error.message.find(name) != std::string::npos;
  });
  if (!end.is_ok() && error.code == Code::invalid && (is_named || names.empty())) return ok();
  std::string got = "a reply";
  if (!end.is_ok()) got = message("{}: {}", error.code, error.message);
  const std::string wanted = names.empty() ? "invalid" : "invalid with a message that names " + names.front();
  return unmet("{} was called with {} ({}); wanted {}, got {}", method, slipway::detail::excerpt(body, 120),
               what, wanted, got)
      .why("a request that is wrong must not become half a request, and its author needs the place")
      .look_at("how the plugin reads its requests")
      .to_do(kAll);
}

Status empty(Trial& trial, const MethodFacts& facts) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  if (!facts.required.empty()) return check_refusal(*subject, facts.name, "{}", facts.required, "no member");
  return check_end(facts.name, "{}", subject->raw(facts.name, "{}"));
}

Status unknown_field(Trial& trial, const MethodFacts& facts) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  json::object body = facts.has_effect ? json::object() : facts.members;
  body["zz_conform"] = {{"of", {1, 2, 3}}};
  const std::string sent = json::serialize(body);
  const CallEnd end = subject->raw(facts.name, sent);
  SLIPWAY_TRY(check_end(facts.name, sent, end));
  if (end.is_ok() || end.error().message.find("zz_conform") == std::string::npos) return ok();
  return unmet("{} was called with an unknown member; wanted it skipped, got {}", facts.name,
               end.error().message)
      .why("messages grow: a newer host sends members that this plugin does not know")
      .look_at("how the plugin reads its requests")
      .to_do(kAll);
}

Status required(Trial& trial, const MethodFacts& facts) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  for (const std::string& name : facts.required) {
    json::object body = facts.members;
    body.erase(name);
    SLIPWAY_TRY(check_refusal(*subject, facts.name, json::serialize(body), {name}, "without " + name));
  }
  return ok();
}

// Of another kind than the default; null where any kind, or none, is right.
json::value other_kind(const json::value& value) {
  if (value.is_string() || value.is_array() || value.is_object()) return true;
  if (value.is_number() || value.is_bool()) return json::array{"conform"};
  return nullptr;
}

Status wrong_type(Trial& trial, const MethodFacts& facts) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  unsigned tried = 0;
  for (const auto& member : facts.members) {
    const json::value wrong = other_kind(member.value());
    if (wrong.is_null()) continue;
    json::object body = facts.members;
    body[member.key()] = wrong;
    ++tried;
    SLIPWAY_TRY(check_refusal(*subject, facts.name, json::serialize(body), {std::string(member.key())},
                              "a member of another type"));
  }
  return tried > 0 ? ok() : Status(not_applicable("requests without members"));
}

Status own_method(Trial& trial, const std::string& method) {
  if (!trial.bench().is_harmless()) return skipped("a method of its own, which may change this machine");
  SLIPWAY_TRY(Subject * subject, trial.subject());
  return check_end(method, "{}", subject->raw(method, "{}"));
}

Status unknown_method(Trial& trial, const std::string& method) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  const CallEnd end = subject->raw(method, "{}");
  if (!end.is_ok() && end.error().code == Code::unsupported) return ok();
  return unmet("{} was called, which the plugin does not have; wanted unsupported, got {}", method,
               end.is_ok() ? std::string("a reply") : end.error().message)
      .why("a newer host asks for what an older plugin lacks, and goes on without it")
      .look_at("how the plugin finds a method by its name")
      .to_do("answer SLIPWAY_UNSUPPORTED for every name that is not in the manifest");
}

// The method that a request which is no request is sent to: best one without effect.
std::string any_method(const Bench& bench) {
  const auto harmless = harmless_methods(bench);
  for (const std::string& method : harmless) {
    if (facts_of(method) != nullptr) return method;
  }
  if (!harmless.empty()) return harmless.front();
  return bench.manifest.methods.empty() ? "account.probe/1" : bench.manifest.methods.front();
}

Test no_request(std::string name, std::string what, std::string body) {
  return {"messages/" + name, [what = std::move(what), body = std::move(body)](Trial& trial) -> Status {
            SLIPWAY_TRY(Subject * subject, trial.subject());
            return check_refusal(*subject, any_method(trial.bench()), body, {}, what);
          }};
}

Status huge(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.subject());
  std::string body = R"({"zz_conform":")";
  body.append(SLIPWAY_MESSAGE_MAX_BYTES - body.size() - 2, 'x').append("\"}");
  const std::string method = any_method(trial.bench());
  return check_end(method, R"({"zz_conform": 16 MiB of x})", subject->raw(method, body));
}

}  // namespace

void add_message_tests(const Bench& bench, Tests& tests) {
  const auto add = [&](const MethodFacts& facts, const char* name,
                       Status (*body)(Trial&, const MethodFacts&)) {
    tests.push_back({message("messages/{}/{}", facts.name.substr(0, facts.name.find('/')), name),
                     [body, &facts](Trial& trial) { return body(trial, facts); }});
  };
  for (const std::string& method : bench.manifest.methods) {
    const MethodFacts* facts = facts_of(method);
    if (facts == nullptr) {
      tests.push_back({"messages/" + method.substr(0, method.find('/')) + "/empty",
                       [method](Trial& trial) { return own_method(trial, method); }});
      continue;
    }
    add(*facts, "empty", empty);
    add(*facts, "unknown-field", unknown_field);
    if (!facts->required.empty()) add(*facts, "required-field", required);
    if (!facts->members.empty()) add(*facts, "wrong-type", wrong_type);
  }
  for (const char* method :
       {"conform.no_such/1", "instances.list/999", "instances", "/", "instances.list/1/"}) {
    std::string name = method;
    std::replace(name.begin(), name.end(), '/', '-');
    tests.push_back({"messages/unknown-method-" + name,
                     [method](Trial& trial) { return unknown_method(trial, method); }});
  }
  tests.push_back(no_request("no-bytes", "no bytes at all", ""));
  tests.push_back(no_request("no-json", "no JSON", "{\"a\": "));
  tests.push_back(no_request("no-object", "a list", "[1, 2, 3]"));
  tests.push_back(no_request("no-utf8", "no UTF-8", "{\"a\": \"\xff\xfe\"}"));
  tests.push_back(no_request("too-deep", "100 000 lists inside each other", std::string(100'000, '[')));
  tests.push_back({"messages/huge-body", huge});
}

}  // namespace slipway::conform
