// SPDX-License-Identifier: Apache-2.0
// retry.hpp - what a failed start does to its machine: tries, failed zones, the time of the next try, the
// state that is shown and its words (rows T58 to T62, T76 to T78; DESIGN 4.2 and 12). Pure but for the random
// number of the jitter.
#pragma once

#include "base/backoff.hpp"
#include "model/ids.hpp"
#include "model/lifecycle.hpp"
#include "provision/outcome.hpp"
#include "provision/zones.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace slipway::provision {

struct RetryPolicy {
  std::uint32_t tries = 10;  // the first one among them, so one more than the retries of row T61; at least 1
  Backoff backoff = kStartBackoff;
  std::chrono::milliseconds quota_probe{60'000};  // where the cloud does not say when
};

// How far the start of one machine has come. A new value on success, and when a person retries it.
struct StartTries {
  std::uint32_t used = 0;      // Machine::tries_used; below RetryPolicy::tries until the final failure
  std::uint32_t failures = 0;  // in a row, changes of zone not counted: how far the backoff has grown
  bool has_dropped_lookups = false;
  ZoneTries zones = {};

  // After a restart: what the machine's row still says.
  [[nodiscard]] static StartTries of(std::uint32_t tries_used) { return {tries_used, tries_used}; }

  bool operator==(const StartTries&) const = default;
};

struct StartFailure {
  model::MachineId machine;
  std::string zone;                             // where it was tried; empty: the cloud has no zones
  std::string words;                            // the cloud's: Error::message
  Judgement judgement;                          // of judge(); with consequence none nothing is changed
  std::span<const std::string> possible_zones;  // provision::possible_zones(); borrowed for the call
};

struct RetryDecision {
  StartTries tries;                                          // from now on
  model::MachineState state = model::MachineState::pending;  // or blocked, or failed
  model::BlockedReason blocked = model::BlockedReason::none;
  bool is_transient = false;     // with failed: a retry may help
  std::int64_t next_try_ms = 0;  // UTC; 0: none planned
  bool drop_lookups = false;     // before the next try: types, zones and images are asked for anew
  std::string message;           // for Machine::message

  bool operator==(const RetryDecision&) const = default;
};

// To be called once for each failed start, when nothing of it is left (Consequence). `now_ms` is UTC. A delay
// that the cloud asks for is held to at most one hour, and jittered upwards only.
[[nodiscard]] RetryDecision after_failure(StartTries tries, const StartFailure& failure,
                                          const RetryPolicy& policy, std::int64_t now_ms, Random& random);

}  // namespace slipway::provision
