// SPDX-License-Identifier: Apache-2.0
// placement.hpp - where a machine is to be, as people write it: "zone=az1", "3", "lxc:3",
// "subnet=10.0.0.0/24". Pure.
#pragma once

#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <string>
#include <string_view>

namespace slipway::model {

// zone=NAME      in this zone
// subnet=CIDR|ID with a port in this subnet
// ID             beside machine ID: in its zone ("3", "3/lxc/0")
// KIND:ID        a container of KIND (lxc, lxd, kvm) inside machine ID; a bare KIND is refused, because a
// container
//                needs a host that exists: the constraint container= is for those that take any
// An empty text is the placement `none`. invalid: anything else.
[[nodiscard]] Result<Placement> parse_placement(std::string_view text);

// parse_placement() reads it back to an equal value, if check_placement() accepts the value.
[[nodiscard]] std::string print_placement(const Placement& placement);

// For a placement that did not come from a text. invalid: as parse_placement().
[[nodiscard]] Status check_placement(const Placement& placement);

}  // namespace slipway::model
