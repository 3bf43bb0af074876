// SPDX-License-Identifier: Apache-2.0
#include "provision/start_contents.hpp"

#include "base/text.hpp"
#include "model/constraints.hpp"
#include "model/spread.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace slipway::provision {
namespace {

constexpr std::string_view kSubnetContext = "cannot match subnets to zones";

Result<MatchedSubnets> subnet_of_placement(const model::Snapshot& snapshot, const model::Machine& machine) {
  MatchedSubnets matched;
  const std::string& target = machine.placement.target;
  snapshot.for_each_in<model::Subnet>(machine.environment, [&](const model::RowPtr<model::Subnet>& s) {
    if (!s->provider_id.empty() && (s->cidr == target || s->provider_id == target))
      matched.zones[s->provider_id] = s->zones;
  });
  if (matched.zones.empty())
    return fail(Code::not_found, "{}: no subnet {} with a provider id is known", kSubnetContext, target);
  return matched;
}

// A volume and how it comes to its machine, into the contents.
class Volumes {
 public:
  Volumes(const model::Snapshot& snapshot, const model::Machine& machine, const StorageProviders& storage,
          StartContents& contents)
      : snapshot_(snapshot), machine_(machine), storage_(storage), contents_(contents) {}

  Status add_all() {
    using ByMachine = model::Attachment::ByMachine;
    const auto& attachments = snapshot_.by<model::Attachment, ByMachine>();
    for (auto it = attachments.lower_bound(ByMachine::Key{machine_.environment, machine_.id, ""});
         it != attachments.end() && std::get<0>(it->first) == machine_.environment &&
         std::get<1>(it->first) == machine_.id;
         ++it) {
      if (it->second->life == model::Life::alive) SLIPWAY_TRY(add(*it->second));
    }
    return ok();
  }

 private:
  Status add(const model::Attachment& attachment) {
    const auto volume = snapshot_.find<model::Volume>({machine_.environment, attachment.volume});
    if (!volume) return fail(Code::not_found, "volume {}: there is no such volume", attachment.volume);
    if (!volume->provider_id.empty()) {
      SLIPWAY_TRY(check_is_free(attachment));
      contents_.attachments.push_back(
          {volume->provider_id, "", "", is_read_only(*volume, attachment), InstanceState::unknown});
      return ok();
    }
    auto pool = pool_of(*volume);
    if (!pool) return std::move(pool).error().within(message("volume {}", volume->id));
    if (storage_.at(pool->provider)) return ok();  // the storage worker's
    SLIPWAY_TRY(check_is_free(attachment));
    contents_.request.volumes.push_back(
        {volume->id, volume->size_mib, std::move(pool->attributes), is_read_only(*volume, attachment)});
    return ok();
  }

  // A pool's name, or a provider's own for one without attributes.
  Result<model::Pool> pool_of(const model::Volume& volume) const {
    const auto row = snapshot_.find<model::Pool>({machine_.environment, volume.pool});
    if (!row && storage_.count(volume.pool) == 0)
      return fail(Code::not_found, "no pool {} and no storage provider of that name", volume.pool);
    if (!row) return model::Pool{machine_.environment, volume.pool, volume.pool, {}, {}};
    if (storage_.count(row->provider) == 0)
      return fail(Code::not_found, "pool {} is of the storage provider {}, which is not there", row->name,
                  row->provider);
    return *row;
  }

  Status check_is_free(const model::Attachment& attachment) const {
    const bool is_attached =
        attachment.state == InstanceState::running || attachment.state == InstanceState::building;
    if (!is_attached) return ok();
    return fail(Code::conflict, "volume {} already attached to machine {}", attachment.volume, machine_.id);
  }

  static bool is_read_only(const model::Volume& volume, const model::Attachment& attachment) {
    return volume.is_read_only || attachment.is_read_only;
  }

  const model::Snapshot& snapshot_;
  const model::Machine& machine_;
  const StorageProviders& storage_;
  StartContents& contents_;
};

// The spread groups of all machines on this instance: its own, and its containers'.
std::string groups_of(const model::Snapshot& snapshot, const model::Machine& machine) {
  std::set<std::string> groups;
  const auto& machines = snapshot.all<model::Machine>();
  if (!machine.group.empty()) groups.insert(machine.group);
  // Containers stand right behind their machine.
  for (auto it = machines.lower_bound(machine.key()); it != machines.end(); ++it) {
    const model::Machine& other = *it->second;
    if (other.environment != machine.environment) break;
    if (other.id == machine.id) continue;
    if (!other.id.value.starts_with(machine.id.value + "/")) break;
    if (!other.group.empty()) groups.insert(other.group);
  }
  return text::join(std::vector<std::string>(groups.begin(), groups.end()), " ");
}

// Groups and labels beside the marker, as far as the cloud has room; the marker's own entries always win.
void add_tags(StartContents& contents, const model::Snapshot& snapshot, const model::Machine& machine,
              const MarkerForm& form) {
  Marker& marker = contents.request.marker;
  const auto add = [&](const std::string& key, const std::string& value) {
    const bool has_room = form.place != MarkerPlace::name && marker.size() < form.max_entries &&
                          value.size() <= form.max_value_bytes;
    if (!has_room) {
      contents.warnings.push_back(message("label {} is not on the instance: the cloud has no room", key));
    } else {
      marker.emplace(key, value);
    }
  };
  if (const std::string groups = groups_of(snapshot, machine); !groups.empty()) add("slipway-groups", groups);
  for (const auto& [key, value] : machine.labels) add(key, value);
}

// What the type offers; where it says nothing, what the machine needs.
Hardware hardware_for(const InstanceType& type, const Constraints& constraints) {
  Hardware hardware = type.hardware;
  const auto fill = [](auto& offered, const auto& needed) {
    if (!offered && needed && *needed != std::decay_t<decltype(*needed)>{}) offered = *needed;
  };
  fill(hardware.arch, constraints.arch);
  fill(hardware.cores, constraints.cores);
  fill(hardware.mem_mib, constraints.mem_mib);
  fill(hardware.root_disk_mib, constraints.root_disk_mib);
  fill(hardware.cpu_power, constraints.cpu_power);
  return hardware;
}

Status add_subnets(StartContents& contents) {
  const auto& zone = contents.request.zone;
  for (const auto& [id, zones] : contents.subnets_to_zones) {
    const bool is_reachable =
        !zone || zones.empty() || std::find(zones.begin(), zones.end(), *zone) != zones.end();
    if (is_reachable) contents.request.subnets.push_back(id);
  }
  if (contents.request.subnets.empty() && !contents.subnets_to_zones.empty())
    return fail(Code::invalid, "{}: none of the subnets that the machine may be in is in zone {}",
                kSubnetContext, *zone);
  return ok();
}

}  // namespace

Result<MatchedSubnets> match_subnets(const model::Snapshot& snapshot, const model::Machine& machine,
                                     const Constraints& constraints) {
  if (machine.placement.kind == PlacementKind::subnet) return subnet_of_placement(snapshot, machine);
  MatchedSubnets matched;
  if (!constraints.spaces || constraints.spaces->include.empty()) return matched;
  const auto& wanted = constraints.spaces->include;
  for (const std::string& space : wanted) {
    if (!snapshot.find<model::Space>({machine.environment, space}))
      return fail(Code::not_found, "{}: there is no space {}", kSubnetContext, space);
  }
  snapshot.for_each_in<model::Subnet>(machine.environment, [&](const model::RowPtr<model::Subnet>& subnet) {
    if (std::find(wanted.begin(), wanted.end(), subnet->space) == wanted.end()) return;
    if (!subnet->provider_id.empty()) {
      matched.zones[subnet->provider_id] = subnet->zones;
      return;
    }
    matched.warnings.push_back(message("subnet {} of space {} is not used for machine {}: no provider id",
                                       subnet->cidr, subnet->space, machine.id));
  });
  if (matched.zones.empty())
    return fail(Code::invalid, "{}: no subnet of {} has a provider id; discover or add one", kSubnetContext,
                text::join(wanted, ", "));
  return matched;
}

Result<StartContents> start_contents(const model::Snapshot& snapshot, const model::Environment& environment,
                                     const model::Machine& machine, const StartChoice& choice) {
  StartContents contents;
  StartRequest& request = contents.request;
  request.machine = machine.id.value;
  request.type = choice.type.id;
  request.image = choice.image;
  request.zone = choice.zone;
  request.constraints = model::merge(environment.constraints, machine.constraints);
  request.hardware = hardware_for(choice.type, request.constraints);
  if (request.constraints.root_disk_mib.value_or(0) != 0)
    request.root_disk_mib = request.constraints.root_disk_mib;
  request.marker = choice.marker;
  add_tags(contents, snapshot, machine, choice.form);

  SLIPWAY_TRY(auto matched, match_subnets(snapshot, machine, request.constraints));
  contents.subnets_to_zones = std::move(matched.zones);
  contents.warnings.insert(contents.warnings.end(), matched.warnings.begin(), matched.warnings.end());
  SLIPWAY_TRY(add_subnets(contents));
  SLIPWAY_TRY(Volumes(snapshot, machine, choice.storage, contents).add_all());
  contents.spread_instances = model::spread_instances(snapshot, machine);
  return contents;
}

std::vector<model::RowPtr<model::Machine>> machines_with_transient_errors(const model::Snapshot& snapshot,
                                                                          model::EnvironmentId environment) {
  std::vector<model::RowPtr<model::Machine>> machines;
  snapshot.for_each_in<model::Machine>(environment, [&](const model::RowPtr<model::Machine>& machine) {
    const bool is_failed = machine->state == model::MachineState::failed;
    if (is_failed && machine->is_transient && machine->instance_id.empty()) machines.push_back(machine);
  });
  return machines;
}

}  // namespace slipway::provision
