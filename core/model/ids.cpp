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
  const std::string_view a = value;
  const std::string_view b = other.value;
  auto segment = std::strong_ordering::equal;  // what it says if it is of one length in both
  for (std::size_t i = 0;; ++i) {
    const bool ends_in_a = i == a.size() || a[i] == '/';
    const bool ends_in_b = i == b.size() || b[i] == '/';
    if (ends_in_a != ends_in_b) return ends_in_a ? std::strong_ordering::less : std::strong_ordering::greater;
    if (!ends_in_a) {
      if (segment == 0) segment = static_cast<unsigned char>(a[i]) <=> static_cast<unsigned char>(b[i]);
      continue;
    }
    if (segment != 0) return segment;
    // One of them ends here: the outer machine stands first.
    if (i == a.size() || i == b.size()) return a.size() <=> b.size();
  }
}

}  // namespace slipway::model
