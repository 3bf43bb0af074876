// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/cloud.hpp"

#include <algorithm>
#include <cmath>

namespace slipway::sim {
namespace {

using Apply = Result<json::value> (*)(World& world, const json::value& body);

template <class R>
Result<json::value> apply_as(World& world, const json::value& body) {
  auto request = from_json<R>(body);
  if (!request) {
    Error error = std::move(request).error();
    error.outcome = Outcome::rejected;
    return error;
  }
  SLIPWAY_TRY(const typename R::Reply reply, world.apply(*request));
  return to_json(reply);
}

// Null: there is no such method.
Apply apply_of(std::string_view method) {
  static const std::map<std::string_view, Apply> kApply = [] {
    std::map<std::string_view, Apply> out;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, CloudRequests>>([&](auto request) {
      using R = typename decltype(request)::type;
      out.emplace(R::method, &apply_as<R>);
    });
    return out;
  }();
  const auto found = kApply.find(method);
  return found == kApply.end() ? nullptr : found->second;
}

// A member of the body that is text; else empty.
std::string text_member(const json::value& body, std::string_view name) {
  const json::object* object = body.if_object();
  const json::value* member = object == nullptr ? nullptr : object->if_contains(name);
  const json::string* text = member == nullptr ? nullptr : member->if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

std::string action_name(const Fault* fault) {
  return fault == nullptr ? std::string() : boost::describe::enum_to_string(fault->action, "unknown");
}

}  // namespace

Cloud::Cloud(Script script, std::uint64_t seed, std::int64_t now_ms)
    : world_(std::move(script), now_ms), faults_({}), random_(seed) {
  set_script(world_.script(), now_ms);
}

void Cloud::set_script(Script script, std::int64_t now_ms) {
  world_.advance(now_ms);
  faults_ = FaultBook(script.faults);
  rate_tokens_ = script.rate_limit ? script.rate_limit->burst : 0;
  rate_filled_ms_ = world_.now_ms();
  world_.set_script(std::move(script));
}

Handled Cloud::handle(std::string_view method, std::string_view body, std::int64_t now_ms) {
  world_.advance(now_ms);
  Handled outcome;
  outcome.due_ms = world_.now_ms();
  Called called{std::string(method), {}, {}};
  if (apply_of(method) == nullptr) {
    outcome.error = fail(Code::unsupported, "no method {}", method).rejected();
    return outcome;
  }
  ++calls_[called.method].received;
  outcome.due_ms += latency_ms(method);
  const Fault* fault = nullptr;
  if (auto parsed = detail::parse(body, DecodeOptions{}.max_bytes, DecodeOptions{}.max_depth); !parsed) {
    outcome.error = std::move(parsed).error();
  } else {
    called.body = *std::move(parsed);
    called.nonce = text_member(called.body, "nonce");
    outcome.error = over_rate();
    if (!outcome.error) {
      fault = faults_.pick(method, text_member(called.body, "zone"), world_.age_ms(), random_);
      run(called, fault, outcome);
    }
  }
  const bool is_nothing_done = fault != nullptr && (fault->action == FaultAction::lose_request ||
                                                    fault->action == FaultAction::late_accept);
  const std::string result = outcome.error ? boost::describe::enum_to_string(outcome.error->code, "?") : "ok";
  if (outcome.is_lost) {
    ++calls_[called.method].lost;
  } else if (outcome.error) {
    ++calls_[called.method].refused;
  }
  note(called, fault, outcome, is_nothing_done ? std::string() : result);
  return outcome;
}

std::int64_t Cloud::latency_ms(std::string_view method) {
  const Script& script = world_.script();
  std::int64_t out = script.latency_ms;
  for (const auto& [pattern, latency] : script.latency_of_ms) {
    if (matches_method(pattern, method)) out = latency;  // by name, so the longest pattern comes last
  }
  const std::int64_t spread = script.latency_spread_ms;
  return spread == 0 ? out
                     : out + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(spread) + 1));
}

std::optional<Error> Cloud::over_rate() {
  const auto& limit = world_.script().rate_limit;
  if (!limit) return std::nullopt;
  const auto passed_ms = static_cast<double>(world_.now_ms() - rate_filled_ms_);
  rate_tokens_ = std::min(limit->burst, rate_tokens_ + passed_ms * limit->per_s / 1'000);
  rate_filled_ms_ = world_.now_ms();
  if (rate_tokens_ >= 1) {
    rate_tokens_ -= 1;
    return std::nullopt;
  }
  const auto wait_ms = static_cast<std::int64_t>(std::ceil((1 - rate_tokens_) * 1'000 / limit->per_s - 1e-6));
  return fail(Code::unavailable, "too many requests: more than {} a second", limit->per_s)
      .retry_after(std::chrono::milliseconds(wait_ms))
      .rejected();
}

// The effect, and what the caller hears of it.
void Cloud::run(const Called& called, const Fault* fault, Handled& outcome) {
  const FaultAction action = fault == nullptr ? FaultAction::unknown : fault->action;
  switch (action) {
    case FaultAction::lose_request:
    case FaultAction::lose_reply:
    case FaultAction::late_accept:
      return lose(called, *fault, outcome);
    case FaultAction::error:
      outcome.error = fault->error;
      return;
    case FaultAction::throttle:
      outcome.error = fail(Code::unavailable, "too many requests")
                          .retry_after(std::chrono::milliseconds(fault->delay_ms))
                          .rejected();
      return;
    default:
      break;
  }
  auto reply = apply(called);
  if (action == FaultAction::slow) outcome.due_ms += fault->delay_ms;
  if (!reply) {
    outcome.error = std::move(reply).error();
    return;
  }
  if (action == FaultAction::duplicate) (void)apply(called).has_value();
  if (action == FaultAction::fail_server) {
    world_.doom(from_json<StartReply>(*reply).value_or(StartReply{}).instance.id);
  }
  if (action == FaultAction::partial || action == FaultAction::lies) thin(*reply, *fault);
  if (action == FaultAction::error_after) outcome.error = fault->error;
  outcome.reply = action == FaultAction::garbage ? fault->text : json::serialize(*reply);
}

void Cloud::lose(const Called& called, const Fault& fault, Handled& outcome) {
  outcome.is_lost = true;
  outcome.due_ms += fault.hang_ms;
  if (fault.action == FaultAction::lose_reply) {
    if (auto reply = apply(called); !reply) outcome.error = std::move(reply).error();
  }
  if (fault.action != FaultAction::late_accept) return;
  world_.at(outcome.due_ms + fault.delay_ms, [this, called, late = fault] {
    Handled effect;
    effect.due_ms = world_.now_ms();
    if (auto reply = apply(called); !reply) effect.error = std::move(reply).error();
    note(called, &late, effect,
         effect.error ? boost::describe::enum_to_string(effect.error->code, "?") : "ok");
    requests_.back().is_late = true;
  });
}

Result<json::value> Cloud::apply(const Called& called) {
  auto reply = apply_of(called.method)(world_, called.body);
  if (reply) ++calls_[called.method].done;
  return reply;
}

// Takes items out of a list, at least one if there is any.
void Cloud::thin(json::value& reply, const Fault& fault) {
  json::object& members = reply.as_object();
  for (const std::string_view name : {"items", "attachments"}) {
    json::value* list = members.if_contains(name);
    if (list == nullptr || !list->is_array() || list->as_array().empty()) continue;
    json::array kept;
    for (json::value& item : list->as_array()) {
      if (!random_.chance(fault.share)) kept.push_back(std::move(item));
    }
    if (kept.size() == list->as_array().size())
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random_.below(kept.size())));
    *list = std::move(kept);
  }
  if (fault.action == FaultAction::partial && members.contains("complete")) members["complete"] = false;
}

void Cloud::note(const Called& called, const Fault* fault, const Handled& outcome, std::string result) {
  if (requests_.size() == kMaxRequests) requests_.pop_front();
  requests_.push_back({++last_number_, world_.now_ms(), outcome.due_ms, called.method, called.nonce,
                       action_name(fault), std::move(result), outcome.is_lost, false});
}

Audit Cloud::audit(std::int64_t now_ms) {
  world_.advance(now_ms);
  return {world_.now_ms(), world_.traces(), calls_};
}

}  // namespace slipway::sim
