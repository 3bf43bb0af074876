// SPDX-License-Identifier: Apache-2.0
// ranges.hpp - the machines that a bulk verb names: "7", "0-19", "3,5", "1/lxc/0", "prod:0-4,7". Pure.
#pragma once

#include <slipway/result.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace slipway::cli {

struct MachineRef {
  std::string environment;  // empty: the one that the command works in
  std::string id;           // "7", "1/lxc/0"

  bool operator==(const MachineRef&) const = default;
};

// More than anybody keeps in one environment; a slip like 0-1000000000 must not fill the memory.
inline constexpr std::size_t kMaxMachineRefs = 100'000;

// In the order written, each machine once. "ENV:" holds for the rest of its word: "prod:3,5" is prod:3 and
// prod:5. invalid: names the part that was refused and why.
[[nodiscard]] Result<std::vector<MachineRef>> parse_machines(std::span<const std::string> words);

// The shortest words that parse_machines() reads back to the same list: {"0-19", "prod:3", "1/lxc/0"}.
[[nodiscard]] std::vector<std::string> format_machines(std::span<const MachineRef> machines);

}  // namespace slipway::cli
