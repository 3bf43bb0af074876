// SPDX-License-Identifier: Apache-2.0
// lifecycle.hpp - the states that machines and attempts go through and the moves that are allowed, each as
// one table. Pure; an illegal move is an Error that names both states.
#pragma once

#include <slipway/result.hpp>

#include <boost/describe/enum.hpp>

#include <span>
#include <string_view>

namespace slipway::model {

// Whether a thing is wanted: alive, on its way out, or over (only its remains are cleaned up). Only forward.
enum class Life { alive, dying, dead };
BOOST_DESCRIBE_ENUM(Life, alive, dying, dead)

// The state that is shown to people.
enum class MachineState { pending, building, running, blocked, failed, down, stopping, gone };
BOOST_DESCRIBE_ENUM(MachineState, pending, building, running, blocked, failed, down, stopping, gone)

// Why a machine is blocked: a closed list.
enum class BlockedReason { none, quota, throttled, credential, paused, brake, plugin, no_zone, read_only };
BOOST_DESCRIBE_ENUM(BlockedReason, none, quota, throttled, credential, paused, brake, plugin, no_zone,
                    read_only)

// One try to create one resource (EXACTLY_ONCE, Rows).
enum class AttemptPhase { sent, created, deleting, gone, abandoned, rejected, released };
BOOST_DESCRIBE_ENUM(AttemptPhase, sent, created, deleting, gone, abandoned, rejected, released)

// One allowed move and what makes it.
template <class State>
struct Transition {
  State from;
  State to;
  std::string_view when;
};

// The whole tables, for documentation and for tests that walk them.
[[nodiscard]] std::span<const Transition<Life>> life_transitions();
[[nodiscard]] std::span<const Transition<MachineState>> machine_transitions();
[[nodiscard]] std::span<const Transition<AttemptPhase>> attempt_transitions();

// ok if the table has the move, or if nothing moves; else conflict: "a machine cannot go from gone to running
// (allowed from gone: none)".
[[nodiscard]] Status check_move(Life from, Life to);
[[nodiscard]] Status check_move(MachineState from, MachineState to);
[[nodiscard]] Status check_move(AttemptPhase from, AttemptPhase to);

// sent, created and deleting: the resource may exist. At most one such attempt for each (machine, kind,
// slot).
[[nodiscard]] bool is_active(AttemptPhase phase);

}  // namespace slipway::model
