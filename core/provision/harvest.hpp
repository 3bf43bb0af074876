// SPDX-License-Identifier: Apache-2.0
// harvest.hpp - which instances that no machine wants are deleted: by positive evidence only, never because
// something is absent from our state (EXACTLY_ONCE, I3 and Harvest; rows T33 to T42). Pure. The server of a
// removed machine is not harvested but given up by its own attempt (step.hpp).
#pragma once

#include "model/environment.hpp"
#include "provision/settings.hpp"
#include "provision/sighting.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slipway::provision {

// One resource of the newest listing. Borrowed for the call.
struct Seen {
  const Item& item;
  Sighting sighting;
  unsigned complete_listings = 0;  // in a row that showed it, the newest one among them
  std::int64_t first_seen_ms = 0;  // UTC, by this process
  bool is_protected = false;       // its machine is, or was when it was removed
};

struct Harvest {
  std::vector<std::string> remove;  // ids to delete, in the order of `seen`; with is_over_cap: that would be
  struct Left {
    std::string id;
    Ownership ownership;
    std::string why;  // for `orphan list`
    bool operator==(const Left&) const = default;
  };
  std::vector<Left> left;    // ours by signature, or said to be, and not deleted
  bool is_over_cap = false;  // more than the cap: nothing is deleted until a person agrees
};

// `seen`: everything that a listing showed. `is_complete`: of that listing; if not, nothing is deleted.
[[nodiscard]] Harvest plan_harvest(std::span<const Seen> seen, bool is_complete, model::HarvestMode mode,
                                   const Timings& timings, const HarvestCap& cap, std::int64_t now_ms);

}  // namespace slipway::provision
