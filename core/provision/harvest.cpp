// SPDX-License-Identifier: Apache-2.0
#include "provision/harvest.hpp"

#include "provision/step.hpp"

#include <algorithm>

namespace slipway::provision {
namespace {

using model::HarvestMode;

bool is_ours_without_use(Ownership ownership) {
  return ownership == Ownership::duplicate || ownership == Ownership::collectable ||
         ownership == Ownership::orphan;
}

// Empty: it may be deleted.
std::string reason_to_leave(const Seen& seen, bool is_complete, HarvestMode mode, const Timings& timings,
                            std::int64_t now_ms) {
  if (mode == HarvestMode::none) return "harvest mode none deletes nothing";
  // Its nonce is in no row: the state is older than the cloud, and only a person knows what it was for.
  if (seen.sighting.ownership == Ownership::orphan && mode == HarvestMode::destroyed) {
    return "no record of it: adopt, release or delete it, or set harvest mode unknown";
  }
  if (seen.is_protected) return "protected";
  if (!is_complete) return "the listing was not complete";
  if (seen.complete_listings < kAbsencesNeeded) return "it was seen only once";
  // A cloud that does not say when it was made: counted from when it was first seen.
  const std::int64_t since_ms = seen.item.created_ms > 0 ? seen.item.created_ms : seen.first_seen_ms;
  if (now_ms - since_ms < timings.harvest_age.count()) {
    return message("younger than {}", timings.harvest_age);
  }
  return {};
}

}  // namespace

Harvest plan_harvest(std::span<const Seen> seen, bool is_complete, HarvestMode mode, const Timings& timings,
                     const HarvestCap& cap, std::int64_t now_ms) {
  Harvest out;
  std::size_t ours = 0;
  for (const Seen& one : seen) {
    const Ownership ownership = one.sighting.ownership;
    if (ownership != Ownership::foreign && ownership != Ownership::unverified) ++ours;
    if (ownership == Ownership::unverified) {
      out.left.push_back(
          {one.item.id, ownership, "its marker is not signed by this controller: never touched"});
    } else if (is_ours_without_use(ownership)) {
      std::string why = reason_to_leave(one, is_complete, mode, timings, now_ms);
      if (why.empty()) {
        out.remove.push_back(one.item.id);
      } else {
        out.left.push_back({one.item.id, ownership, std::move(why)});
      }
    }
  }
  out.is_over_cap = out.remove.size() > std::max(cap.least, ours * cap.percent / 100);
  return out;
}

}  // namespace slipway::provision
