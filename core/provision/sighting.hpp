// SPDX-License-Identifier: Apache-2.0
// sighting.hpp - what one resource in a listing is to us: the classes of EXACTLY_ONCE, Collect and Harvest.
// The only place where a resource of the cloud is taken for ours. Pure.
#pragma once

#include "model/snapshot.hpp"
#include "provision/marker.hpp"

#include <boost/describe/enum.hpp>

namespace slipway::provision {

enum class Ownership {
  mine,         // an active attempt's own resource
  claimable,    // of an attempt whose outcome is unknown: to be adopted
  duplicate,    // of an active attempt that has another one
  collectable,  // of an attempt that is over: refused, abandoned, gone
  orphan,       // signed by us, and no row knows it: the state is older than the cloud
  released,     // given up on purpose: never touched
  unverified,   // says it is ours, with a signature that is not: reported, never touched
  foreign       // everything else
};
BOOST_DESCRIBE_ENUM(Ownership, mine, claimable, duplicate, collectable, orphan, released, unverified, foreign)

struct Sighting {
  Ownership ownership = Ownership::foreign;
  std::optional<Nonce> nonce;
  std::optional<model::MachineId> machine;
  model::RowPtr<model::Attempt> attempt;  // null for orphan, unverified and foreign
};

// Duplicates of an attempt without an id yet are all `claimable`: which of them is kept is oldest_of().
[[nodiscard]] Sighting sight(const model::Snapshot& snapshot, const model::Environment& environment,
                             const Markers& markers, const Item& item);

// Whether `a` is kept when both were made for one nonce: the older one, then the smaller id.
[[nodiscard]] bool is_older(const Item& a, const Item& b);

// The machine in a resource's name (model::resource_name), for markers that do not hold it.
[[nodiscard]] std::optional<model::MachineId> machine_in_name(std::string_view controller_uuid,
                                                              std::string_view environment,
                                                              std::string_view name);

}  // namespace slipway::provision
