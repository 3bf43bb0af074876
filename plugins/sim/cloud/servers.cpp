// SPDX-License-Identifier: Apache-2.0
// servers.cpp - World: servers from their start to their end.
#include "sim/cloud/world.hpp"

#include <algorithm>
#include <set>

namespace slipway::sim {
namespace {

constexpr std::size_t kMaxNameBytes = 63;

template <class Range, class T>
bool contains(const Range& range, const T& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

}  // namespace

Result<StartReply> World::apply(const StartRequest& request) {
  if (script_.start_is_idempotent) {
    if (const auto known = started_.find(request.nonce); known != started_.end()) {
      if (const Server* server = servers_.find(known->second)) return StartReply{*server};
      return fail(Code::conflict, "the nonce {} made server {}, which is gone", request.nonce, known->second);
    }
  }
  SLIPWAY_TRY(check_start(request));
  SLIPWAY_TRY(const std::string zone, choose_zone(request));
  Server made;
  made.zone = zone;
  made.type = request.type;
  made.image = request.image;
  made.hardware = request.hardware;
  if (const InstanceType* type = type_of(request.type)) made.hardware = type->hardware;
  if (request.root_disk_mib) made.hardware.root_disk_mib = request.root_disk_mib;
  made.state = State::building;
  made.machine = request.machine;
  made.firewall_groups = request.firewall_groups;
  made.user_data_bytes = request.user_data.data.size();
  SLIPWAY_TRY(connect(request, made));
  Server& server = servers_.add(std::move(made), request, now_ms_);
  const std::string id = server.id;
  for (Interface& own : server.own_interfaces) own.parent = id;
  for (const std::string& port : server.interfaces) {
    if (Port* named = ports_.find(port)) named->parent = id;
  }
  for (const std::string& address : request.public_addresses) public_addresses_.find(address)->parent = id;
  make_disks(request, server);
  started_.insert_or_assign(request.nonce, id);
  at(now_ms_ + script_.boot_ms, [this, id] { boot(id); });
  return StartReply{server};
}

Status World::check_start(const StartRequest& r) {
  if (r.name.size() > kMaxNameBytes) {
    return fail(Code::invalid, "name: {} bytes, at most {} are taken", r.name.size(), kMaxNameBytes)
        .rejected();
  }
  if (r.user_data.data.size() > script_.max_user_data_bytes) {
    return fail(Code::invalid, "user_data: {} bytes, at most {} are taken", r.user_data.data.size(),
                script_.max_user_data_bytes)
        .rejected();
  }
  const InstanceType* type = type_of(r.type);
  if (type == nullptr) {
    return fail(Code::not_found, "there is no type {} in region {}", r.type, script_.region).rejected();
  }
  if (image_of(r.image) == nullptr) return fail(Code::not_found, "there is no image {}", r.image).rejected();
  for (const std::string& subnet : r.subnets) {
    if (range_of(subnet) == nullptr) return fail(Code::not_found, "there is no subnet {}", subnet).rejected();
  }
  std::set<std::string> named;
  for (const std::string& id : r.interfaces) {
    const Port* port = ports_.find(id);
    if (port == nullptr) return fail(Code::not_found, "there is no port {}", id).rejected();
    if (!port->parent.empty() || !named.insert(id).second) {
      return fail(Code::conflict, "port {} is bound to server {}", id, port->parent).rejected();
    }
  }
  for (const std::string& id : r.firewall_groups) {
    if (groups_.find(id) == nullptr) return fail(Code::not_found, "there is no group {}", id).rejected();
  }
  for (const std::string& id : r.public_addresses) {
    const PublicAddress* address = public_addresses_.find(id);
    if (address == nullptr) return fail(Code::not_found, "there is no public address {}", id).rejected();
    if (!address->parent.empty() || !named.insert(id).second) {
      return fail(Code::conflict, "public address {} leads to server {}", id, address->parent).rejected();
    }
  }
  std::uint64_t volume_mib = 0;
  for (const VolumeParameters& volume : r.volumes) {
    SLIPWAY_TRY(check_volume(volume));
    volume_mib += volume.size_mib;
  }
  SLIPWAY_TRY(check_quota("instances", 1));
  SLIPWAY_TRY(check_quota("cores", type->hardware.cores.value_or(0)));
  SLIPWAY_TRY(check_quota("mem_mib", type->hardware.mem_mib.value_or(0)));
  SLIPWAY_TRY(check_quota("volumes", r.volumes.size()));
  SLIPWAY_TRY(check_quota("volume_mib", volume_mib));
  return ok();
}

// The named zone if it has room, else the one with the fewest servers.
Result<std::string> World::choose_zone(const StartRequest& r) {
  const InstanceType& type = *type_of(r.type);
  const auto offers = [&](const std::string& zone) {
    return type.zones.empty() || contains(type.zones, zone);
  };
  if (r.zone && !r.zone->empty()) {
    if (zone_spec(*r.zone) == nullptr) return fail(Code::invalid, "there is no zone {}", *r.zone).rejected();
    if (!offers(*r.zone)) {
      return fail(Code::exhausted, "zone {} does not offer the type {}", *r.zone, r.type)
          .scope(Scope::zone)
          .rejected();
    }
    SLIPWAY_TRY(check_zone(*r.zone));
    return *r.zone;
  }
  std::optional<std::string> best;
  for (const ZoneSpec& zone : script_.zones) {
    if (!offers(zone.name) || !check_zone(zone.name)) continue;
    if (!best || servers_in(zone.name) < servers_in(*best)) best = zone.name;
  }
  if (best) return *best;
  return fail(Code::exhausted, "no zone of {} has room for the type {}", script_.region, r.type)
      .scope(Scope::region)
      .rejected();
}

Status World::check_zone(const std::string& zone) {
  const ZoneSpec& spec = *zone_spec(zone);
  if (is_out(spec)) return fail(Code::unavailable, "zone {} is down", zone).scope(Scope::zone).rejected();
  if (!spec.capacity || servers_in(zone) < *spec.capacity) return ok();
  return fail(Code::exhausted, "no capacity in zone {}: all {} places are taken", zone, *spec.capacity)
      .scope(Scope::zone)
      .rejected();
}

// Gives the server its interfaces: the ports that were named, else one of its own in each subnet. Nothing can
// be refused after the first address was taken but for want of another, and then those are given back.
Status World::connect(const StartRequest& r, Server& server) {
  server.interfaces = r.interfaces;
  for (const std::string& id : r.interfaces) {
    const Port& port = *ports_.find(id);
    server.private_addresses.insert(server.private_addresses.end(), port.addresses.begin(),
                                    port.addresses.end());
  }
  if (!r.interfaces.empty()) return ok();
  std::vector<std::string> subnets = r.subnets;
  if (subnets.empty() && !script_.subnets.empty()) subnets.push_back(script_.subnets.front().id);
  for (const std::string& subnet : subnets) {
    auto address = take_address(subnet, {});
    if (!address) {
      give_back(server.private_addresses);
      return std::move(address).error();
    }
    Interface own;
    own.id = message("nic-{}", subnet);
    own.subnet = subnet;
    own.mac = make_mac();
    own.state = State::running;
    own.created_ms = now_ms_;
    own.addresses = {*address};
    server.own_interfaces.push_back(std::move(own));
    server.private_addresses.push_back(*std::move(address));
  }
  return ok();
}

void World::make_disks(const StartRequest& r, const Server& server) {
  MakeRequest part;  // without a nonce: the disk is covered by its server's
  part.marker = server.marker;
  for (std::size_t i = 0; i < r.volumes.size(); ++i) {
    part.name = message("{}-disk-{}", server.name, i);
    Disk disk;
    disk.parent = server.id;
    disk.size_mib = r.volumes[i].size_mib;
    disk.zone = server.zone;
    disk.persistent = false;
    disk.is_part = true;
    disk.state = State::running;
    Disk& added = disks_.add(std::move(disk), part, now_ms_);
    added.hardware_id = "serial-" + added.id;
    Attachment attachment;
    attachment.volume_id = added.id;
    attachment.instance_id = server.id;
    attachment.device = message("/dev/sd{}", std::string(1, static_cast<char>('b' + i % 25)));
    attachment.read_only = r.volumes[i].read_only;
    attachment.state = State::running;
    added.attachment = std::move(attachment);
  }
}

void World::boot(const std::string& id) {
  Server* server = servers_.find(id);
  if (server == nullptr || server->state != State::building) return;
  if (server->is_doomed) {
    server->state = State::failed;
    server->message = "no host was found that could run it";
    return;
  }
  server->state = State::running;
  show_addresses(*server);
}

void World::doom(const std::string& server_id) {
  if (Server* server = servers_.find(server_id)) server->is_doomed = true;
}

void World::show_addresses(Server& server) {
  if (server.state != State::running) return;
  server.addresses = server.private_addresses;
  public_addresses_.for_each([&](const PublicAddress& address) {
    if (address.parent != server.id) return;
    server.addresses.push_back({address.value, AddressScope::public_, AddressKind::ipv4, "public", {}});
  });
}

Result<StopReply> World::apply(const StopRequest& request) {
  StopReply out;
  for (const std::string& id : request.ids) {
    out.results.push_back({id, {}});
    Server* server = servers_.find(id);
    if (server == nullptr || server->state == State::stopping) continue;
    server->state = State::stopping;
    server->message.clear();
    at(now_ms_ + script_.stop_ms, [this, id] { remove_server(id); });
  }
  return out;
}

// Ports and public addresses stay and are free again; its own disks go, others are detached.
void World::remove_server(const std::string& id) {
  Server* server = servers_.find(id);
  if (server == nullptr) return;
  for (const std::string& port : server->interfaces) {
    if (Port* bound = ports_.find(port)) bound->parent.clear();
  }
  for (const Interface& own : server->own_interfaces) give_back(own.addresses);
  public_addresses_.for_each([&](PublicAddress& address) {
    if (address.parent == id) address.parent.clear();
  });
  std::vector<std::string> parts;
  disks_.for_each([&](Disk& disk) {
    if (disk.attachment && disk.attachment->instance_id == id) disk.attachment.reset();
    if (disk.parent == id && disk.is_part) parts.push_back(disk.id);
  });
  for (const std::string& disk : parts) disks_.remove(disk, now_ms_);
  servers_.remove(id, now_ms_);
}

Result<ListReply> World::apply(const ListRequest& request) {
  return servers_.list<ListReply>(request, visible_ms(), script_.max_page);
}

Result<GetReply> World::apply(const GetRequest& request) {
  GetReply out;
  for (const std::string& id : request.ids) {
    const Server* server = servers_.find(id);
    if (server != nullptr && server->created_ms <= visible_ms()) {
      out.results.push_back({id, *server, {}});
    } else {
      out.results.push_back({id, {}, fail(Code::not_found, "there is no server {}", id)});
    }
  }
  return out;
}

Result<World::Server*> World::known_server(const std::string& id) {
  if (Server* server = servers_.find(id)) return server;
  return fail(Code::not_found, "there is no server {}", id).rejected();
}

// A cloud keeps its servers up itself.
Result<MaintainReply> World::apply(const MaintainRequest& request) {
  MaintainReply out;
  for (const std::string& id : request.ids) {
    out.results.push_back({id, {}});
    if (auto server = known_server(id); !server) out.results.back().error = std::move(server).error();
  }
  return out;
}

// Four commands are enough to see arguments, input, output and exit code come through.
Result<ExecReply> World::apply(const ExecRequest& request) {
  SLIPWAY_TRY(const Server* server, known_server(request.id));
  if (server->state != State::running) {
    return fail(Code::conflict, "server {} is not running", request.id).rejected();
  }
  if (request.command.empty()) return fail(Code::invalid, "command: empty").rejected();
  const std::string& program = request.command.front();
  ExecReply out;
  if (program == "echo") {
    for (std::size_t i = 1; i < request.command.size(); ++i) {
      out.output.data += (i > 1 ? " " : "") + request.command[i];
    }
    out.output.data += '\n';
  } else if (program == "cat") {
    out.output = request.input;
  } else if (program == "false") {
    out.exit_code = 1;
  } else if (program != "true") {
    out.exit_code = 127;
    out.errors.data = program + ": not found\n";
  }
  return out;
}

Result<LogReply> World::apply(const LogRequest& request) {
  SLIPWAY_TRY(const Server* server, known_server(request.id));
  std::string text = message("{} boots from {} in {}\n", server->name, server->image, server->zone);
  if (server->state == State::running) {
    text +=
        message("cloud-init read {} bytes of user data\n{} login:", server->user_data_bytes, server->name);
  }
  if (server->state == State::failed) text += "kernel panic\n";
  if (text.size() > request.max_bytes) text.erase(0, text.size() - request.max_bytes);
  return LogReply{{std::move(text)}};
}

std::size_t World::servers_in(const std::string& zone) {
  std::size_t count = 0;
  servers_.for_each([&](const Server& server) { count += server.zone == zone ? 1U : 0U; });
  return count;
}

}  // namespace slipway::sim
