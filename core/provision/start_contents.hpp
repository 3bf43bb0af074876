// SPDX-License-Identifier: Apache-2.0
// start_contents.hpp - what goes into the start of a machine, from a snapshot and the choices that were made.
// Pure. Nonce, name, not_after_ns, user data and ids of what was made before (ports, groups, addresses) are
// added by whoever commits the attempt.
#pragma once

#include "model/environment.hpp"
#include "model/machine.hpp"
#include "model/snapshot.hpp"

#include <slipway/messages/instances.hpp>
#include <slipway/messages/manifest.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace slipway::provision {

// Storage providers of the environment by name. Dynamic: volumes are made and attached by the storage worker
// while a machine runs; static: they come with the instance.
using StorageProviders = std::map<std::string, bool>;  // is it dynamic?

struct StartChoice {
  InstanceType type;                // without id: the cloud has no types
  std::optional<std::string> zone;  // nothing: the cloud has no zones
  std::string image;                // of images.resolve
  Marker marker;                    // of this attempt
  MarkerForm form;                  // what the cloud keeps; labels go out as far as it has room
  StorageProviders storage;
};

// Subnet id to its zones; no zones: it is in all of them.
using SubnetZones = std::map<std::string, std::vector<std::string>>;

struct StartContents {
  StartRequest request;
  SubnetZones subnets_to_zones;               // all that its spaces allow; empty: any subnet will do
  std::vector<Attachment> attachments;        // volumes that exist and are to be attached; instance_id empty
  std::vector<std::string> spread_instances;  // model::spread_instances()
  std::vector<std::string> warnings;          // for people: what was left out, and why
};

// invalid: with the volume's id, or "cannot match subnets to zones: ...". The machine alone is concerned.
[[nodiscard]] Result<StartContents> start_contents(const model::Snapshot& snapshot,
                                                   const model::Environment& environment,
                                                   const model::Machine& machine, const StartChoice& choice);

struct MatchedSubnets {
  SubnetZones zones;
  std::vector<std::string> warnings;
};

// The subnets of all spaces that the constraints ask for (the union), or the one of the placement; empty if
// neither says any. not_found: a space or subnet that is not known; invalid: no subnet can be given to a
// start. Messages begin with "cannot match subnets to zones".
[[nodiscard]] Result<MatchedSubnets> match_subnets(const model::Snapshot& snapshot,
                                                   const model::Machine& machine,
                                                   const Constraints& constraints);

// Machines without an instance that failed in a way that a retry may help, in the order of their ids.
[[nodiscard]] std::vector<model::RowPtr<model::Machine>> machines_with_transient_errors(
    const model::Snapshot& snapshot, model::EnvironmentId environment);

}  // namespace slipway::provision
