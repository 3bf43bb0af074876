// SPDX-License-Identifier: Apache-2.0
// ids.hpp - the model's identities as types, so that none is taken for another. Thread rule: values.
#pragma once

#include <slipway/result.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::model {

// A point in the store's history: one number for each committed transaction, never used twice. 0: before
// everything.
struct Revision {
  std::uint64_t value = 0;
  auto operator<=>(const Revision&) const = default;
};

// The store's own number of an environment or a credential; never used again. People and markers use name and
// UUID.
struct EnvironmentId {
  std::int64_t value = 0;
  auto operator<=>(const EnvironmentId&) const = default;
};
struct CredentialId {
  std::int64_t value = 0;
  auto operator<=>(const CredentialId&) const = default;
};

// "3", or "3/lxc/0" inside machine 3; counted in its environment. Ordered by numbers: 2, 10, 10/lxc/0,
// 10/lxc/1, 11.
struct MachineId {
  static constexpr bool is_id = true;
  // Bounds depth and numbers together ("99999/lxc/9999", "9/lxc/9/kvm/99"), so that every id fits whole into
  // the name of a resource (names.hpp).
  static constexpr std::size_t kMaxSize = 14;
  std::string value;

  // invalid: anything but NUMBER(/KIND/NUMBER)* of at most kMaxSize characters, numbers without leading
  // zeros, KIND of lxc, lxd, kvm.
  [[nodiscard]] static Result<MachineId> parse(std::string_view text);
  [[nodiscard]] static MachineId top(std::uint64_t number) { return {std::to_string(number)}; }

  [[nodiscard]] bool is_container() const { return value.find('/') != std::string::npos; }
  // The machine that this one is inside of: "3/lxc/0" is in "3".
  [[nodiscard]] std::optional<MachineId> parent() const;

  bool operator==(const MachineId&) const = default;
  std::strong_ordering operator<=>(const MachineId& other) const;
};

}  // namespace slipway::model
