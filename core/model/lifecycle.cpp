// SPDX-License-Identifier: Apache-2.0
#include "model/lifecycle.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace slipway::model {
namespace {

using M = MachineState;
using A = AttemptPhase;

// One step at a time, even for a machine that never had an instance (it goes on to dead at once): whoever
// works on it sees dying first and stops, and every removal is the same two change rows.
constexpr std::array kLifeTransitions = {
    Transition<Life>{Life::alive, Life::dying, "somebody removed it"},
    Transition<Life>{Life::dying, Life::dead,
                     "nothing works on it any more; what it made is to be cleaned up"},
};

// What holds by construction: running is reached only from building and down, so an instance that is adopted
// is shown as building until a listing says that it runs; what has an instance is gone only after stopping; a
// machine that is down stays so until its instance runs again or somebody removes it, because nothing
// replaces it.
constexpr std::array kMachineTransitions = {
    Transition<MachineState>{M::pending, M::building, "a request goes out, or an instance of it is adopted"},
    Transition<MachineState>{M::pending, M::blocked,
                             "a reason outside of it forbids a request: quota, pause, brake, ..."},
    Transition<MachineState>{M::pending, M::failed,
                             "nothing can serve it: no type or image fits, or tries are used up"},
    Transition<MachineState>{M::pending, M::stopping,
                             "removed, and remains of earlier tries are to be deleted"},
    Transition<MachineState>{M::pending, M::gone, "removed before anything was made"},

    Transition<MachineState>{M::building, M::running, "the cloud says that the instance runs"},
    Transition<MachineState>{M::building, M::pending,
                             "the try is over and confirmed gone, and the next one is planned"},
    Transition<MachineState>{M::building, M::blocked,
                             "refused for a reason outside of it: quota, throttled, credential, ..."},
    Transition<MachineState>{M::building, M::failed, "refused for good, or the last try is over"},
    Transition<MachineState>{M::building, M::down,
                             "complete listings say that the instance is stopped or missing"},
    Transition<MachineState>{M::building, M::stopping, "removed"},

    Transition<MachineState>{M::running, M::down,
                             "complete listings say that the instance is stopped, failed or missing"},
    Transition<MachineState>{M::running, M::stopping, "removed"},

    Transition<MachineState>{M::blocked, M::pending, "the reason is over"},
    Transition<MachineState>{M::blocked, M::building,
                             "the probe's request goes out, or an instance of it is adopted"},
    Transition<MachineState>{M::blocked, M::failed,
                             "nothing can serve it any more: configuration or types changed"},
    Transition<MachineState>{M::blocked, M::stopping,
                             "removed, and remains of earlier tries are to be deleted"},
    Transition<MachineState>{M::blocked, M::gone, "removed before anything was made"},

    Transition<MachineState>{M::failed, M::pending,
                             "somebody retried, its configuration changed, or a retry is due"},
    Transition<MachineState>{M::failed, M::building, "an instance of it is adopted"},
    Transition<MachineState>{M::failed, M::stopping, "removed, and remains of its tries are to be deleted"},
    Transition<MachineState>{M::failed, M::gone, "removed, and all of its tries are over"},

    Transition<MachineState>{M::down, M::running, "the cloud says that the instance runs again"},
    Transition<MachineState>{M::down, M::stopping, "removed"},

    Transition<MachineState>{M::stopping, M::gone, "all of its attempts are over"},
};

// EXACTLY_ONCE, Rows and Algorithm. A definite no to a re-send says nothing of the first send and moves
// nothing. An instance that turns up for an attempt that is over is deleted by id with its evidence in the
// same row: no move.
constexpr std::array kAttemptTransitions = {
    Transition<AttemptPhase>{A::sent, A::created,
                             "the provider's id is known, from the answer or from a listing"},
    Transition<AttemptPhase>{A::sent, A::abandoned,
                             "ambiguous_until is over and two complete listings show nothing"},
    Transition<AttemptPhase>{A::sent, A::rejected, "a definite no to the only send"},
    Transition<AttemptPhase>{A::created, A::deleting, "committed before the request to delete goes out"},
    Transition<AttemptPhase>{A::created, A::released, "somebody keeps the resource; it is never harvested"},
    Transition<AttemptPhase>{A::deleting, A::gone, "two complete listings confirm that it is not there"},
};

template <class State, std::size_t N>
Status check(std::string_view subject, const std::array<Transition<State>, N>& table, State from, State to) {
  std::string allowed;
  for (const auto& move : table) {
    if (move.from != from) continue;
    if (move.to == to) return ok();
    allowed += message("{}{}", allowed.empty() ? "" : ", ", move.to);
  }
  if (from == to) return ok();
  return fail(Code::conflict, "{} cannot go from {} to {} (allowed from {}: {})", subject, from, to, from,
              allowed.empty() ? "none" : allowed);
}

}  // namespace

std::span<const Transition<Life>> life_transitions() { return kLifeTransitions; }
std::span<const Transition<MachineState>> machine_transitions() { return kMachineTransitions; }
std::span<const Transition<AttemptPhase>> attempt_transitions() { return kAttemptTransitions; }

Status check_move(Life from, Life to) { return check("life", kLifeTransitions, from, to); }
Status check_move(MachineState from, MachineState to) {
  return check("a machine", kMachineTransitions, from, to);
}
Status check_move(AttemptPhase from, AttemptPhase to) {
  return check("an attempt", kAttemptTransitions, from, to);
}

bool is_active(AttemptPhase phase) { return phase == A::sent || phase == A::created || phase == A::deleting; }

}  // namespace slipway::model
