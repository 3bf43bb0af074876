// SPDX-License-Identifier: Apache-2.0
// subnets.hpp - subnets/1: the networks of a cloud, and addresses in them for containers. Thread rule:
// values.
#pragma once

#include <slipway/messages/common.hpp>
#include <slipway/messages/interfaces.hpp>

namespace slipway {

struct Subnet {
  std::string id;
  std::string name;
  std::string cidr;
  std::string network;  // id of the network that it is part of
  std::uint32_t vlan = 0;
  std::vector<std::string> zones;  // empty: in all
  std::string space;               // where the cloud has such a word
  bool is_public = false;          // its addresses are reached from outside

  static constexpr std::array required{std::string_view("id"), std::string_view("cidr")};
};
BOOST_DESCRIBE_STRUCT(Subnet, (), (id, name, cidr, network, vlan, zones, space, is_public))

// Empty: all.
struct SubnetsRequest {
  std::vector<std::string> ids;
  std::string page;

  static constexpr std::string_view method = "subnets.list/1";
  using Reply = struct SubnetsReply;
};
BOOST_DESCRIBE_STRUCT(SubnetsRequest, (), (ids, page))

struct SubnetsReply {
  std::vector<Subnet> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(SubnetsReply, (), (items, next_page, complete))

// The interfaces of an instance, as its operating system sees them.
struct SubnetInterfacesRequest {
  std::string instance_id;

  static constexpr std::array required{std::string_view("instance_id")};
  static constexpr std::string_view method = "subnets.interfaces/1";
  using Reply = struct SubnetInterfacesReply;
};
BOOST_DESCRIBE_STRUCT(SubnetInterfacesRequest, (), (instance_id))

struct SubnetInterfacesReply {
  std::vector<Interface> interfaces;
};
BOOST_DESCRIBE_STRUCT(SubnetInterfacesReply, (), (interfaces))

// An address in the subnet for a container on the instance. Its item's id is what release takes.
struct AddressAllocateRequest : MakeRequest {
  std::string subnet;       // id
  std::string instance_id;  // the host machine's
  std::string mac;          // the container's
  std::string address;      // wanted; empty: the cloud chooses

  static constexpr std::array required{std::string_view("subnet"), std::string_view("instance_id")};
  static constexpr std::string_view method = "subnets.allocate/1";
  using Reply = struct AddressAllocateReply;
};
BOOST_DESCRIBE_STRUCT(AddressAllocateRequest, (MakeRequest), (subnet, instance_id, mac, address))

struct AllocatedAddress : Item {
  std::string value;
};
BOOST_DESCRIBE_STRUCT(AllocatedAddress, (Item), (value))

struct AddressAllocateReply {
  AllocatedAddress address;

  static constexpr std::array required{std::string_view("address")};
};
BOOST_DESCRIBE_STRUCT(AddressAllocateReply, (), (address))

struct AddressFreeRequest : DeleteRequest {
  static constexpr std::string_view method = "subnets.release/1";
  using Reply = struct AddressFreeReply;
};
BOOST_DESCRIBE_STRUCT(AddressFreeRequest, (DeleteRequest), ())

struct AddressFreeReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(AddressFreeReply, (DeleteReply), ())

struct SupportsAllocationRequest {
  std::string subnet;

  static constexpr std::string_view method = "subnets.supports_allocation/1";
  using Reply = struct SupportsAllocationReply;
};
BOOST_DESCRIBE_STRUCT(SupportsAllocationRequest, (), (subnet))

struct SupportsAllocationReply {
  bool supported = false;
  std::string reason;  // why not
};
BOOST_DESCRIBE_STRUCT(SupportsAllocationReply, (), (supported, reason))

}  // namespace slipway
