// SPDX-License-Identifier: Apache-2.0
#include "provision/step.hpp"

#include <slipway/result.hpp>

namespace slipway::provision {
namespace {

using model::AttemptPhase;
using model::HarvestMode;
using model::Life;
using model::MachineState;

std::int64_t ns(milliseconds span) { return std::chrono::nanoseconds(span).count(); }

// Rows T22 to T32, for a machine without a server that exists or may exist.
Step without_server(const MachineView& view) {
  const model::Machine& machine = view.machine;
  if (machine.life == Life::dying) return {Move::bury, "removed, and nothing of it is under way"};
  if (machine.life == Life::dead) return {Move::erase, "all of its attempts are over"};
  if (machine.is_paused) return {Move::wait, "paused"};
  switch (machine.state) {
    case MachineState::pending:
    case MachineState::building:  // a start that ended with the process before its attempt was committed
    case MachineState::blocked:
      if (view.now_ms < machine.next_try_ms) return {Move::wait, "its next try is not due"};
      return {Move::start, "it has no server"};
    case MachineState::failed:
      return {Move::wait, "failed: until somebody retries it or changes it"};
    case MachineState::running:
    case MachineState::down:
    case MachineState::stopping:
    case MachineState::gone:
      break;
  }
  return {Move::wait, message("{} without a server: nothing replaces it", machine.state)};
}

// Algorithm 4. Presence is evidence at any time, absence only under the bounds.
Step resolve(const MachineView& view) {
  if (view.watch.is_call_open) return {Move::wait, "its create call is open"};
  if (view.seen != nullptr) return {Move::adopt, message("a listing shows it as {}", view.seen->id)};
  if (view.now_ms <= view.attempt->ambiguous_until_ms) {
    return {Move::wait, "its create may still take effect"};
  }
  if (view.watch.absences < kAbsencesNeeded) {
    return {Move::wait,
            message("{} of {} complete listings without it", view.watch.absences, kAbsencesNeeded)};
  }
  return {Move::abandon, message("{} complete listings after {} do not show it", view.watch.absences,
                                 view.attempt->ambiguous_until_ms)};
}

Step with_dead_machine(const MachineView& view) {
  if (view.machine.keep_instance) return {Move::release, "its instance is to stay"};
  if (view.mode == HarvestMode::none || view.mode == HarvestMode::unknown) {
    return {Move::release, message("harvest mode {} leaves the instances of removed machines", view.mode)};
  }
  return {Move::give_up, "its machine was removed"};
}

Step with_server(const MachineView& view, const Timings& timings) {
  const model::Machine& machine = view.machine;
  if (machine.life == Life::dying) return {Move::bury, "removed, and nothing of it is under way"};
  if (machine.life == Life::dead) return with_dead_machine(view);
  // What ran once has data, so it is shown as down and left to its owner. What never ran is nothing yet
  // (Algorithm 7: delete, confirm, then the next attempt).
  const bool has_run = machine.state == MachineState::running || machine.state == MachineState::down;
  if (!has_run) {
    if (view.seen != nullptr && view.seen->state == InstanceState::failed) {
      return {Move::give_up, message("the cloud could not build it: {}", view.seen->message)};
    }
    const bool runs = view.seen != nullptr && view.seen->state == InstanceState::running;
    if (!runs && view.now_ms - view.attempt->sent_ms > timings.building_limit.count()) {
      return {Move::give_up, message("it does not run after {}", timings.building_limit)};
    }
  }
  if (machine.id.is_container() && !view.is_maintained)
    return {Move::maintain, "a container with an instance"};
  return {};
}

Step remove(const MachineView& view, const Timings& timings) {
  const Watch& watch = view.watch;
  if (watch.is_call_open) return {Move::wait, "its deletion is under way"};
  if (watch.absences >= kAbsencesNeeded) {
    return {Move::confirm_gone, message("{} complete listings do not show it", watch.absences)};
  }
  if (!watch.deletion_accepted_ns) return {Move::stop, "it is not wanted"};
  const bool is_going = view.seen == nullptr || view.seen->state == InstanceState::stopping;
  if (!is_going && view.now_ns - *watch.deletion_accepted_ns > ns(timings.stop_again)) {
    return {Move::stop, message("it is still {} after {}", view.seen->state, timings.stop_again)};
  }
  return {Move::wait, "listings have to confirm that it is gone"};
}

}  // namespace

Watch Watch::of_sent(const Timings& timings, std::int64_t commit_ns) {
  Watch watch;
  watch.bound_ns = commit_ns + ns(timings.create_timeout + timings.late_bound + timings.visibility_lag);
  return watch;
}

Watch Watch::of_found(const Timings& timings, std::int64_t start_ns) {
  Watch watch;
  watch.bound_ns = start_ns + ns(timings.late_bound + timings.visibility_lag);
  return watch;
}

void Watch::note_created(const Timings& timings, std::int64_t now_ns) {
  bound_ns = now_ns + ns(timings.visibility_lag);
  absences = 0;
  missing_since_ns.reset();
}

void Watch::note_listing(const Listing& listing, bool is_shown) {
  const bool counts = listing.is_complete && !is_shown && listing.begun_ns > bound_ns;
  if (!counts) {
    // What began too early or is not whole says nothing of an absence, but it breaks the row of those that
    // do.
    absences = 0;
    missing_since_ns.reset();
    return;
  }
  if (absences++ == 0) missing_since_ns = listing.ended_ns;
}

Step next_step(const MachineView& view, const Timings& timings) {
  if (view.attempt == nullptr) return without_server(view);
  switch (view.attempt->phase) {
    case AttemptPhase::sent:
      return resolve(view);
    case AttemptPhase::created:
      return with_server(view, timings);
    case AttemptPhase::deleting:
      return remove(view, timings);
    case AttemptPhase::gone:
    case AttemptPhase::abandoned:
    case AttemptPhase::rejected:
    case AttemptPhase::released:
      break;
  }
  return without_server(view);
}

bool is_missing(const Watch& watch, const Timings& timings, std::int64_t now_ns) {
  if (!watch.missing_since_ns) return false;
  return watch.absences >= timings.down_listings ||
         now_ns - *watch.missing_since_ns >= ns(timings.down_after);
}

}  // namespace slipway::provision
