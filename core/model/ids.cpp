// SPDX-License-Identifier: Apache-2.0
#include "model/ids.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace slipway::model {
namespace {

constexpr std::array<std::string_view, 3> kContainerKinds = {"lxc", "lxd", "kvm"};

bool is_number(std::string_view text) {
  const bool is_digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_digits && !text.empty() && (text.size() == 1 || text.front() != '0');
}

bool is_container_kind(std::string_view text) {
  return std::find(kContainerKinds.begin(), kContainerKinds.end(), text) != kContainerKinds.end();
}

}  // namespace

Result<MachineId> MachineId::parse(std::string_view text) {
  const auto segments = text::split(text, '/');
  bool is_valid = segments.size() % 2 == 1;  // NUMBER, then pairs of KIND and NUMBER
  for (std::size_t i = 0; is_valid && i < segments.size(); ++i) {
    is_valid = i % 2 == 0 ? is_number(segments[i]) : is_container_kind(segments[i]);
  }
  if (!is_valid) {
    return fail(Code::invalid, "expected a machine id such as 3 or 3/lxc/0 (lxc, lxd or kvm), got \"{}\"",
                text);
  }
  if (text.size() > kMaxSize) {
    return fail(Code::invalid, "a machine id has at most {} characters, got \"{}\"", kMaxSize, text);
  }
  return MachineId{std::string(text)};
}

std::optional<MachineId> MachineId::parent() const {
  const std::size_t number = value.rfind('/');
  if (number == std::string::npos || number == 0) return std::nullopt;
  const std::size_t kind = value.rfind('/', number - 1);
  if (kind == std::string::npos) return std::nullopt;
  return MachineId{value.substr(0, kind)};
}

// Segment by segment. Numbers have no leading zeros, so the shorter one is the smaller one and no conversion
// can overflow; kinds are of one length.
std::strong_ordering MachineId::operator<=>(const MachineId& other) const {
  std::string_view a = value;
  std::string_view b = other.value;
  while (true) {
    const std::string_view x = a.substr(0, a.find('/'));
    const std::string_view y = b.substr(0, b.find('/'));
    if (x.size() != y.size()) return x.size() <=> y.size();
    if (x != y) return x <=> y;
    // One of them ends here: the outer machine stands first.
    if (a.size() == x.size() || b.size() == y.size()) return a.size() <=> b.size();
    a.remove_prefix(x.size() + 1);
    b.remove_prefix(y.size() + 1);
  }
}

}  // namespace slipway::model
