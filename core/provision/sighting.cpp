// SPDX-License-Identifier: Apache-2.0
#include "provision/sighting.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <tuple>

namespace slipway::provision {
namespace {

using model::AttemptPhase;

Ownership of_attempt(const model::Attempt& attempt, const Item& item) {
  switch (attempt.phase) {
    case AttemptPhase::sent:
      return Ownership::claimable;
    case AttemptPhase::created:
    case AttemptPhase::deleting:
      return attempt.provider_id == item.id ? Ownership::mine : Ownership::duplicate;
    case AttemptPhase::released:
      return attempt.provider_id == item.id ? Ownership::released : Ownership::duplicate;
    case AttemptPhase::gone:
    case AttemptPhase::abandoned:
    case AttemptPhase::rejected:
      return Ownership::collectable;
  }
  return Ownership::unverified;
}

}  // namespace

Sighting sight(const model::Snapshot& snapshot, const model::Environment& environment, const Markers& markers,
               const Item& item) {
  Sighting seen;
  const auto claim = markers.read(item.marker);
  if (!claim) return seen;
  seen.ownership = Ownership::unverified;
  if (!claim->nonce) return seen;

  auto attempt = snapshot.find<model::Attempt>(*claim->nonce);
  if (attempt && attempt->environment != environment.id) attempt = nullptr;
  if (attempt) {
    seen.machine = attempt->machine;
  } else if (claim->machine) {
    seen.machine = claim->machine;
  } else {
    seen.machine = machine_in_name(snapshot.controller.uuid, environment.name, item.name);
  }
  if (!seen.machine || !markers.is_signed(*claim, *seen.machine)) {
    seen.machine.reset();
    return seen;
  }
  seen.nonce = claim->nonce;
  seen.ownership = attempt ? of_attempt(*attempt, item) : Ownership::orphan;
  seen.attempt = std::move(attempt);
  return seen;
}

bool is_older(const Item& a, const Item& b) {
  return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
}

std::optional<model::MachineId> machine_in_name(std::string_view controller_uuid,
                                                std::string_view environment, std::string_view name) {
  const std::string ours = message("slipway-{}-{}-", controller_uuid.substr(0, 8), environment);
  const auto end = name.rfind('-');
  if (!name.starts_with(ours) || end < ours.size() || end == std::string_view::npos) return std::nullopt;
  std::string id(name.substr(ours.size(), end - ours.size()));
  if (id == "shared") return model::MachineId{};
  std::replace(id.begin(), id.end(), '-', '/');
  auto machine = model::MachineId::parse(id);
  return machine ? std::optional(*std::move(machine)) : std::nullopt;
}

}  // namespace slipway::provision
