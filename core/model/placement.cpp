// SPDX-License-Identifier: Apache-2.0
#include "model/placement.hpp"

#include "base/text.hpp"
#include "model/address.hpp"
#include "model/ids.hpp"

#include <boost/describe/enum_from_string.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace slipway::model {
namespace {

constexpr std::array<std::string_view, 2> kKeys = {"zone", "subnet"};
constexpr std::array<std::string_view, 3> kContainerKinds = {"lxc", "lxd", "kvm"};

std::optional<ContainerKind> container_kind(std::string_view text) {
  ContainerKind kind{};
  if (std::find(kContainerKinds.begin(), kContainerKinds.end(), text) == kContainerKinds.end())
    return std::nullopt;
  const bool is_kind = boost::describe::enum_from_string(std::string(text).c_str(), kind);
  return is_kind ? std::optional(kind) : std::nullopt;
}

Result<Placement> parse_pair(std::string_view key, std::string_view target) {
  if (key != "zone" && key != "subnet") {
    return fail(Code::invalid, "unknown key \"{}\"{}; expected zone= or subnet=", key,
                text::did_you_mean(key, kKeys));
  }
  if (target.empty() || target.find(' ') != std::string_view::npos) {
    return fail(Code::invalid, "{}: expected a name without spaces, got \"{}\"", key, target);
  }
  if (key == "zone") return Placement{PlacementKind::zone, std::string(target), ContainerKind::unknown};
  std::string subnet(target);  // the provider's id, or a CIDR, which is written in one way only
  if (target.find('/') != std::string_view::npos) {
    SLIPWAY_TRY(const Cidr cidr, Cidr::parse(target));
    subnet = cidr.text();
  }
  return Placement{PlacementKind::subnet, std::move(subnet), ContainerKind::unknown};
}

Result<Placement> parse_container(std::string_view kind_text, std::string_view host) {
  const auto kind = container_kind(kind_text);
  if (!kind) {
    return fail(Code::invalid, "unknown kind of container \"{}\"{}; expected lxc:ID, lxd:ID or kvm:ID",
                kind_text, text::did_you_mean(kind_text, kContainerKinds));
  }
  SLIPWAY_TRY(MachineId id, MachineId::parse(host));
  return Placement{PlacementKind::container, std::move(id.value), *kind};
}

Result<Placement> parse(std::string_view text) {
  if (text.empty()) return Placement{};
  if (!text::is_plain(text)) return fail(Code::invalid, "\"{}\" has control characters", text::escaped(text));
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    return parse_pair(text.substr(0, equals), text.substr(equals + 1));
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    return parse_container(text.substr(0, colon), text.substr(colon + 1));
  }
  if (container_kind(text)) {
    return fail(Code::invalid, "\"{}\" does not say in which machine; write {}:ID, as in {}:3", text, text,
                text);
  }
  if (auto id = MachineId::parse(text)) {
    return Placement{PlacementKind::machine, std::move(id->value), ContainerKind::unknown};
  }
  return fail(Code::invalid,
              "expected zone=NAME, subnet=CIDR, a machine id (3) or a container in one (lxc:3), got \"{}\"",
              text);
}

}  // namespace

Result<Placement> parse_placement(std::string_view text) {
  auto placement = parse(text::trim(text));
  if (!placement) return std::move(placement).error().within("placement");
  return placement;
}

std::string print_placement(const Placement& placement) {
  switch (placement.kind) {
    case PlacementKind::none:
      return {};
    case PlacementKind::machine:
      return placement.target;
    case PlacementKind::zone:
    case PlacementKind::subnet:
      return message("{}={}", placement.kind, placement.target);
    case PlacementKind::container:
      return message("{}:{}", placement.container, placement.target);
  }
  return {};
}

Status check_placement(const Placement& placement) {
  SLIPWAY_TRY(const Placement again, parse_placement(print_placement(placement)));
  if (again == placement) return ok();
  return fail(Code::invalid, "placement: kind {}, target \"{}\" and container {} do not go together",
              placement.kind, text::escaped(placement.target), placement.container);
}

}  // namespace slipway::model
