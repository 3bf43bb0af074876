// SPDX-License-Identifier: Apache-2.0
// firewaller.hpp - which ports are to be opened and closed, from what is wanted and what is open. Pure: the
// same input, the same changes; applied, they leave nothing to do.
#pragma once

#include "model/environment.hpp"
#include "model/snapshot.hpp"

#include <slipway/messages/firewall.hpp>

#include <span>
#include <vector>

namespace slipway::provision {

// The same ports for the same sources in the fewest ranges, sorted: overlapping and adjoining ranges of one
// protocol and source become one, never more than they were together. Sources get their canonical spelling;
// one inside another stays, since it may be closed apart. What model::validate() refuses is left out.
[[nodiscard]] std::vector<PortRange> canonical_ports(std::span<const PortRange> ports);

// What is to be open in a group of this environment, canonical. Mode instance: the machine's own ports. Mode
// global: those that at least one machine wants, so that a port stays until the last one closes it. Machines
// that are dead, and containers (which no cloud's firewall sees), want none.
[[nodiscard]] std::vector<PortRange> wanted_ports(const model::Snapshot& snapshot,
                                                  const model::Environment& environment,
                                                  const FirewallTarget& target);

// A group as the cloud has it.
struct FirewallGroupRules {
  FirewallTarget target;
  bool is_ours = false;  // its marker was verified; else it is left alone
  std::vector<PortRange> rules;
};

// Open first, then close: no wanted port is shut in between. What is closed is named as it was observed.
struct FirewallChange {
  FirewallTarget target;
  std::vector<PortRange> open;
  std::vector<PortRange> close;
};

// By ports, not by rules: a cloud may have split or merged ranges. A rule that has only wanted ports stays;
// one that has another goes and what is missing then is opened. A rule that Slipway could not have made
// (unknown protocol, a source that is no network) is not ours and stays.
[[nodiscard]] FirewallChange change_of_group(std::span<const PortRange> wanted,
                                             const FirewallGroupRules& group);

// The changes of all groups that need one, in the order given. Nothing with mode none, for groups of another
// mode, and for groups whose machine is not there (their tear-down is somebody else's).
[[nodiscard]] std::vector<FirewallChange> firewall_changes(const model::Snapshot& snapshot,
                                                           const model::Environment& environment,
                                                           std::span<const FirewallGroupRules> groups);

}  // namespace slipway::provision
