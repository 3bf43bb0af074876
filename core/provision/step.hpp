// SPDX-License-Identifier: Apache-2.0
// step.hpp - what is to be done next for one machine and its server: EXACTLY_ONCE, Algorithm 4, 6 and 7, as
// one pure function of the rows and of what listings showed. Who carries it out commits first and calls
// afterwards; then the next step is asked for. Nothing is concluded from an absence but here.
#pragma once

#include "model/environment.hpp"
#include "model/machine.hpp"
#include "model/snapshot.hpp"
#include "provision/settings.hpp"

#include <slipway/messages/instances.hpp>

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace slipway::provision {

// One listing of what bears our marker, as far as conclusions go. Times are monotonic ns.
struct Listing {
  std::int64_t begun_ns = 0;
  std::int64_t ended_ns = 0;
  bool is_complete = false;  // every page came and none said otherwise
};

// What this process knows of an active attempt beside its row. Not stored: after a restart all of it is
// learned anew, which only makes conclusions later.
struct Watch {
  bool is_call_open = false;  // a create or a deletion of it is under way in this process
  // A listing that began earlier says nothing by an absence: the request may still take effect, or the cloud
  // may not show it yet.
  std::int64_t bound_ns = 0;
  unsigned absences = 0;  // complete listings in a row, begun after bound_ns, that did not show it
  std::optional<std::int64_t> missing_since_ns;      // end of the first of them
  std::optional<std::int64_t> deletion_accepted_ns;  // when the cloud last accepted its deletion

  // Of an attempt that this process sends now: nothing arrives later than create-timeout + D, nor is shown
  // later than V after that.
  [[nodiscard]] static Watch of_sent(const Timings& timings, std::int64_t commit_ns);
  // Of one whose sender is gone: the request may have gone out at the very end, which was before `start_ns`.
  [[nodiscard]] static Watch of_found(const Timings& timings, std::int64_t start_ns);

  // The resource is known to exist from now on (an answer, a listing); it may be absent for V.
  void note_created(const Timings& timings, std::int64_t now_ns);
  void note_listing(const Listing& listing, bool is_shown);
};

// Two listings in a row must agree before an absence counts.
inline constexpr unsigned kAbsencesNeeded = 2;

enum class Move {
  wait,          // for a listing, the end of a call, or a person
  start,         // a new attempt
  adopt,         // the attempt's resource was found: sent -> created
  abandon,       // nothing was made and nothing can come any more: sent -> abandoned
  give_up,       // the server is not wanted: created -> deleting
  stop,          // the cloud is asked to delete it
  confirm_gone,  // deleting -> gone
  release,       // the server stays and is not ours any more: created -> released
  bury,          // life: dying -> dead
  maintain,      // a container with an instance: the plugin restores what this host keeps up for it
  erase          // the machine's row goes; its attempts stay as tombstones
};
BOOST_DESCRIBE_ENUM(Move, wait, start, adopt, abandon, give_up, stop, confirm_gone, release, bury, maintain,
                    erase)

struct Step {
  Move move = Move::wait;
  std::string why;  // for people; stored as evidence where a row changes

  bool operator==(const Step&) const = default;
};

struct MachineView {
  const model::Machine& machine;
  const model::Attempt* attempt = nullptr;  // the active one for its server, or null
  // Of the attempt, from the newest listing that showed it; of several the one that is kept. Null: none did.
  const Instance* seen = nullptr;
  Watch watch = {};            // of the attempt
  bool is_maintained = false;  // maintain was asked for since this process started (row T46)
  model::HarvestMode mode = model::HarvestMode::destroyed;
  std::int64_t now_ns = 0;  // monotonic
  std::int64_t now_ms = 0;  // UTC
};

[[nodiscard]] Step next_step(const MachineView& view, const Timings& timings);

// Whether a machine whose server is not shown is down: missing from enough listings, or for long enough.
[[nodiscard]] bool is_missing(const Watch& watch, const Timings& timings, std::int64_t now_ns);

}  // namespace slipway::provision
