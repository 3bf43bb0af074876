// SPDX-License-Identifier: Apache-2.0
// outcome.hpp - how the end of a call that makes something is to be understood: what may be concluded of the
// resource (EXACTLY_ONCE, Algorithm 3) and what follows for the machine (DESIGN 4.2, the table of codes). One
// table, pure.
#pragma once

#include <slipway/result.hpp>

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::provision {

// What is known of the resource. Only `rejected` allows a new attempt at once; `unknown` leaves the row SENT
// until the nonce is resolved.
enum class Verdict { created, rejected, unknown };
BOOST_DESCRIBE_ENUM(Verdict, created, rejected, unknown)

// What follows for the machine, once no instance of the attempt is left: at once after `rejected`, after the
// resolution found nothing with `unknown`, after the half-built instance is gone with `created`.
enum class Consequence {
  none,                // it went well, or we cancelled it ourselves
  fail,                // final: constraints, configuration or a retry by hand must come first
  unsupported,         // final: the cloud cannot do this at all
  suspend_credential,  // the whole environment waits for a credential
  next_zone,           // this zone failed for this machine
  blocked_quota,       // one probe later, then all
  throttled,           // later, and the credential's budget is lowered
  back_off,            // the cloud does not answer: again, and never final
  retry,               // again; final when the tries are used up
  drop_lookups_once,   // cached look-ups are dropped and it is tried once more, then final
};
BOOST_DESCRIBE_ENUM(Consequence, none, fail, unsupported, suspend_credential, next_zone, blocked_quota,
                    throttled, back_off, retry, drop_lookups_once)

struct Judgement {
  Verdict verdict = Verdict::unknown;
  Consequence consequence = Consequence::retry;
  std::optional<std::int64_t> retry_after_ms = {};  // from the end of the call; never negative

  bool operator==(const Judgement&) const = default;
};

// The same bytes may go out again where the cloud has a key. An answer to that says nothing about the first
// send, so it is never `rejected`.
enum class Send { first, again };

// Of a call that failed. An error with an accepted_id is `created`, whatever else it says: there is something
// to delete (EXACTLY_ONCE, Algorithm 7).
[[nodiscard]] Judgement judge(const Error& error, Send send = Send::first);

// Of a call that succeeded with this id; an empty one is a success that nothing can be done with: unknown.
[[nodiscard]] Judgement judge_success(std::string_view id);

}  // namespace slipway::provision
