// SPDX-License-Identifier: Apache-2.0
// names.hpp - the names that Slipway gives and those that it takes: environments, machines, resources in a
// cloud, interfaces of a host. Pure.
#pragma once

#include "base/ids.hpp"
#include "model/environment.hpp"
#include "model/ids.hpp"

#include <slipway/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::model {

inline constexpr std::size_t kMaxMachineName = 63;   // a label of a host name (RFC 1123)
inline constexpr std::size_t kMaxResourceName = 63;  // what every known cloud takes as a name and as a label
// Attempts of one environment: at 20 creates a second without a break this lasts for 15 years.
inline constexpr std::int64_t kMaxAttemptSeq = 9'999'999'999;

// At most 20 characters of [a-z0-9-], the first not a hyphen; not ending as a container's id does
// ("x-1-lxc"), because resource_name() of its machine 0 would be the one of a container of environment x.
[[nodiscard]] Status check_environment_name(std::string_view name);

// A label of a host name: at most 63 characters of [a-z0-9-], a hyphen neither first nor last.
[[nodiscard]] Status check_machine_name(std::string_view name);

// "web-{id}" for `machines` machines that are added together. invalid: another brace, no {id} for more than
// one, and what could become no machine name for the longest id.
[[nodiscard]] Status check_name_template(std::string_view name_template, std::size_t machines);

// "web-{id}" for machine 3/lxc/0 is "web-3-lxc-0". The template is checked.
[[nodiscard]] std::string expand_name(std::string_view name_template, const MachineId& machine);

// What a machine is called that nobody named: "prod-3".
[[nodiscard]] std::string default_machine_name(std::string_view environment, const MachineId& machine);

// "slipway-7f3a9c21-prod-3-lxc-0-17", or "slipway-7f3a9c21-prod-shared-17" for what belongs to the
// environment and no machine (empty id). Nothing is ever shortened: the limits of the parts (8,
// kMaxEnvironmentName, MachineId::kMaxSize, kMaxAttemptSeq) add up to kMaxResourceName. Within a controller
// two attempts never get one name, since the environment and the id can be told apart again and seq is never
// used twice. Asserts the limits, which are checked where the parts come from.
[[nodiscard]] std::string resource_name(std::string_view controller_uuid, std::string_view environment,
                                        const MachineId& machine, std::int64_t seq);

// "sw" and 11 base32 characters (55 bits) of the nonce: Linux takes at most 15 characters.
[[nodiscard]] std::string host_interface_name(const Nonce& nonce);

}  // namespace slipway::model
