// SPDX-License-Identifier: Apache-2.0
// network.cpp - World: ports, public addresses, subnets and the addresses in them.
#include "sim/cloud/world.hpp"

#include <algorithm>

namespace slipway::sim {
namespace {

std::string hex_byte(std::uint32_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {kDigits[byte >> 4U & 15U], kDigits[byte & 15U]};
}

}  // namespace

AddressRange* World::range_of(const std::string& subnet) {
  const auto range = ranges_.find(subnet);
  return range == ranges_.end() ? nullptr : &range->second;
}

// `wanted` empty: the next free one.
Result<Address> World::take_address(const std::string& subnet, const std::string& wanted) {
  AddressRange* range = range_of(subnet);
  if (range == nullptr) return fail(Code::not_found, "there is no subnet {}", subnet).rejected();
  Address out;
  out.value = wanted;
  if (wanted.empty()) {
    SLIPWAY_TRY(out.value, range->take());
  } else {
    SLIPWAY_TRY(range->take(wanted));
  }
  out.scope = AddressScope::cloud_local;
  out.kind = AddressKind::ipv4;
  out.subnet = subnet;
  return out;
}

void World::give_back(const std::vector<Address>& addresses) {
  for (const Address& address : addresses) {
    if (AddressRange* range = range_of(address.subnet)) range->give_back(address.value);
  }
}

// Locally administered, as no vendor's are.
std::string World::make_mac() {
  const std::uint32_t n = ++last_mac_;
  return message("02:51:{}:{}:{}:{}", hex_byte(n >> 24U), hex_byte(n >> 16U), hex_byte(n >> 8U), hex_byte(n));
}

Result<InterfaceCreateReply> World::apply(const InterfaceCreateRequest& request) {
  for (const std::string& id : request.firewall_groups) {
    if (groups_.find(id) == nullptr) return fail(Code::not_found, "there is no group {}", id).rejected();
  }
  SLIPWAY_TRY(check_quota("ports", 1));
  std::vector<std::string> wanted = request.fixed_addresses;
  if (wanted.empty()) wanted.emplace_back();
  Port port;
  for (const std::string& value : wanted) {
    auto address = take_address(request.subnet, value);
    if (!address) {
      give_back(port.addresses);
      return std::move(address).error();
    }
    port.addresses.push_back(*std::move(address));
  }
  port.subnet = request.subnet;
  port.mac = make_mac();
  port.state = State::running;
  port.firewall_groups = request.firewall_groups;
  return InterfaceCreateReply{ports_.add(std::move(port), request, now_ms_)};
}

// A server that it is bound to loses it.
void World::remove_port(Port& port) {
  give_back(port.addresses);
  if (Server* server = servers_.find(port.parent)) {
    std::erase(server->interfaces, port.id);
    std::erase_if(server->private_addresses, [&](const Address& address) {
      return std::find(port.addresses.begin(), port.addresses.end(), address) != port.addresses.end();
    });
    show_addresses(*server);
  }
  public_addresses_.for_each([&](PublicAddress& address) {
    if (address.interface == port.id) address.interface.clear();
  });
  ports_.remove(std::string(port.id), now_ms_);
}

Result<InterfaceDeleteReply> World::apply(const InterfaceDeleteRequest& request) {
  InterfaceDeleteReply out;
  for (const std::string& id : request.ids) {
    if (Port* port = ports_.find(id)) remove_port(*port);
    out.results.push_back({id, {}});
  }
  return out;
}

Result<InterfaceListReply> World::apply(const InterfaceListRequest& request) {
  return ports_.list<InterfaceListReply>(request, visible_ms(), script_.max_page);
}

// Claim and association are one call; an interface has at most one public address.
Result<AddressClaimReply> World::apply(const AddressClaimRequest& request) {
  Server* server = nullptr;
  if (!request.instance_id.empty()) {
    SLIPWAY_TRY(server, known_server(request.instance_id));
  }
  if (!request.interface.empty()) {
    const Port* port = ports_.find(request.interface);
    if (port == nullptr) return fail(Code::not_found, "there is no port {}", request.interface).rejected();
    const PublicAddress* holder = nullptr;
    public_addresses_.for_each([&](const PublicAddress& address) {
      if (address.interface == request.interface && address.id != request.address_id) holder = &address;
    });
    if (holder != nullptr) {
      return fail(Code::conflict, "port {} has the public address {}", request.interface, holder->value)
          .rejected();
    }
    if (server == nullptr) server = servers_.find(port->parent);
  }
  PublicAddress* address = nullptr;
  if (request.address_id.empty()) {
    SLIPWAY_TRY(check_quota("addresses", 1));
    PublicAddress made;
    SLIPWAY_TRY(made.value, public_range_.take());
    made.state = State::running;
    address = &public_addresses_.add(std::move(made), request, now_ms_);
  } else {
    address = public_addresses_.find(request.address_id);
    if (address == nullptr) {
      return fail(Code::not_found, "there is no public address {}", request.address_id).rejected();
    }
    if (!address->parent.empty() && (server == nullptr || address->parent != server->id)) {
      return fail(Code::conflict, "public address {} leads to server {}", address->id, address->parent)
          .rejected();
    }
  }
  address->interface = request.interface;
  if (server != nullptr) {
    address->parent = server->id;
    show_addresses(*server);
  }
  return AddressClaimReply{*address};
}

Result<AddressReleaseReply> World::apply(const AddressReleaseRequest& request) {
  AddressReleaseReply out;
  for (const std::string& id : request.ids) {
    out.results.push_back({id, {}});
    const PublicAddress* address = public_addresses_.find(id);
    if (address == nullptr) continue;
    const std::string server_id = address->parent;
    public_range_.give_back(address->value);
    public_addresses_.remove(id, now_ms_);
    if (Server* server = servers_.find(server_id)) show_addresses(*server);
  }
  return out;
}

Result<AddressListReply> World::apply(const AddressListRequest& request) {
  return public_addresses_.list<AddressListReply>(request, visible_ms(), script_.max_page);
}

// One page: a cloud has few subnets.
Result<SubnetsReply> World::apply(const SubnetsRequest& request) {
  SubnetsReply out;
  for (const Subnet& subnet : script_.subnets) {
    const bool is_asked = request.ids.empty() ||
                          std::find(request.ids.begin(), request.ids.end(), subnet.id) != request.ids.end();
    if (is_asked) out.items.push_back(subnet);
  }
  return out;
}

Result<SubnetInterfacesReply> World::apply(const SubnetInterfacesRequest& request) {
  SLIPWAY_TRY(const Server* server, known_server(request.instance_id));
  SubnetInterfacesReply out{server->own_interfaces};
  for (const std::string& id : server->interfaces) {
    if (const Port* port = ports_.find(id)) out.interfaces.push_back(*port);
  }
  return out;
}

Result<AddressAllocateReply> World::apply(const AddressAllocateRequest& request) {
  SLIPWAY_TRY(const Server* server, known_server(request.instance_id));
  SLIPWAY_TRY(Address address, take_address(request.subnet, request.address));
  Allocation made;
  made.value = std::move(address.value);
  made.parent = server->id;
  made.state = State::running;
  made.subnet = request.subnet;
  return AddressAllocateReply{allocations_.add(std::move(made), request, now_ms_)};
}

Result<AddressFreeReply> World::apply(const AddressFreeRequest& request) {
  AddressFreeReply out;
  for (const std::string& id : request.ids) {
    out.results.push_back({id, {}});
    const Allocation* allocation = allocations_.find(id);
    if (allocation == nullptr) continue;
    if (AddressRange* range = range_of(allocation->subnet)) range->give_back(allocation->value);
    allocations_.remove(id, now_ms_);
  }
  return out;
}

Result<SupportsAllocationReply> World::apply(const SupportsAllocationRequest& request) {
  if (request.subnet.empty() || range_of(request.subnet) != nullptr) return SupportsAllocationReply{true, {}};
  return SupportsAllocationReply{false, message("there is no subnet {}", request.subnet)};
}

}  // namespace slipway::sim
