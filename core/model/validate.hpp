// SPDX-License-Identifier: Apache-2.0
// validate.hpp - whether what somebody wants makes sense by itself, before anything is stored. Each error
// names all members that are wrong, with their paths ("ports[1].to: ...; name: ..."), so that nobody has to
// try ten times. What depends on other rows (does the pool exist?) is for whoever has a snapshot; user data
// is for who seals it. Pure.
#pragma once

#include "model/environment.hpp"
#include "model/machine.hpp"

#include <slipway/result.hpp>

#include <map>
#include <string>
#include <string_view>

namespace slipway::model {

// Bounds of one machine; far above what anybody needs and far below what would hurt a snapshot or a cloud.
inline constexpr std::size_t kMaxLabels = 64;
inline constexpr std::size_t kMaxLabelKey = 63;
inline constexpr std::size_t kMaxLabelValue = 255;
inline constexpr std::size_t kMaxImage = 255;
inline constexpr std::size_t kMaxSshKeys = 32;
inline constexpr std::size_t kMaxSshKey = 16 * 1024;
inline constexpr std::size_t kMaxPortRanges = 64;
inline constexpr std::size_t kMaxVolumeRequests = 16;
inline constexpr std::uint32_t kMaxVolumes = 24;  // of one machine in all: letters of disks
inline constexpr std::uint64_t kMaxVolumeMib = 1024ULL * 1024 * 1024;  // 1 PiB

// The wanted members of a machine, its constraints and its placement. invalid: all that is wrong.
[[nodiscard]] Status validate(const Machine& machine);

// At least 1 MiB and one volume; the pool is a name.
[[nodiscard]] Status validate(const VolumeRequest& request);

// tcp and udp: 1 <= from <= to; icmp: both 0. The source is a CIDR (address.hpp).
[[nodiscard]] Status validate(const PortRange& ports);

// One line "TYPE BASE64 [COMMENT]" of a type that OpenSSH still takes, whose blob begins with that type; no
// options before it, at most kMaxSshKey bytes.
[[nodiscard]] Status check_ssh_key(std::string_view key);

// Keys of [A-Za-z0-9._/-], the first a letter or digit, none that starts with "slipway", which is kept for
// markers; values in plain text.
[[nodiscard]] Status validate_labels(const std::map<std::string, std::string>& labels);

// Name and constraints; settings are checked by the plugin's schema.
[[nodiscard]] Status validate(const Environment& environment);

}  // namespace slipway::model
