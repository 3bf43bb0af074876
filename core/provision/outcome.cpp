// SPDX-License-Identifier: Apache-2.0
// outcome.cpp - the table of codes. Pure.
#include "provision/outcome.hpp"

#include <algorithm>

namespace slipway::provision {
namespace {

// What may be concluded of the resource.
Verdict verdict_of(const Error& error, Send send) {
  if (!error.accepted_id.empty()) return Verdict::created;
  const bool is_proven = error.outcome == Outcome::rejected;
  // A conflict may be with our own earlier send: the nonce decides.
  if (!is_proven || send == Send::again || error.code == Code::conflict) return Verdict::unknown;
  return Verdict::rejected;
}

Consequence consequence_of_exhausted(Scope scope) {
  switch (scope) {
    case Scope::zone:
      return Consequence::next_zone;
    case Scope::region:
    case Scope::account:
      return Consequence::blocked_quota;
    case Scope::request:
      break;
  }
  return Consequence::retry;
}

// A refusal with a time is throttling, however far it reaches; a zone that does not answer is left for
// another.
Consequence consequence_of_unavailable(const Error& error) {
  const bool is_refused = error.outcome == Outcome::rejected && error.accepted_id.empty();
  if (error.code == Code::unavailable && is_refused && error.retry_after_ms) return Consequence::throttled;
  return error.scope == Scope::zone ? Consequence::next_zone : Consequence::back_off;
}

Consequence consequence_of(const Error& error) {
  switch (error.code) {
    case Code::invalid:
    case Code::denied:
      return Consequence::fail;
    case Code::unauthenticated:
      return Consequence::suspend_credential;
    case Code::exhausted:
      return consequence_of_exhausted(error.scope);
    case Code::unavailable:
    case Code::deadline:
      return consequence_of_unavailable(error);
    case Code::not_found:
      return Consequence::drop_lookups_once;
    case Code::cancelled:
      return Consequence::none;
    case Code::unsupported:
      return Consequence::unsupported;
    case Code::conflict:
    case Code::internal:
      break;
  }
  return Consequence::retry;
}

}  // namespace

Judgement judge(const Error& error, Send send) {
  Judgement out{verdict_of(error, send), consequence_of(error)};
  if (error.retry_after_ms) out.retry_after_ms = std::max<std::int64_t>(*error.retry_after_ms, 0);
  return out;
}

Judgement judge_success(std::string_view id) {
  if (id.empty()) return {Verdict::unknown, Consequence::retry};
  return {Verdict::created, Consequence::none};
}

}  // namespace slipway::provision
