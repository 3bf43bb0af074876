// SPDX-License-Identifier: Apache-2.0
// interfaces.hpp - interfaces/1: network ports, where the cloud has them apart from machines. Thread rule:
// values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// `parent` is the instance that it is attached to.
struct Interface : Item {
  std::string subnet;
  std::string mac;
  std::vector<Address> addresses;
};
BOOST_DESCRIBE_STRUCT(Interface, (Item), (subnet, mac, addresses))

struct InterfaceCreateRequest : MakeRequest {
  std::string machine;
  std::string subnet;                        // id
  std::vector<std::string> fixed_addresses;  // empty: the cloud chooses
  std::vector<std::string> firewall_groups;  // ids

  static constexpr std::array required{std::string_view("subnet")};
  static constexpr std::string_view method = "interfaces.create/1";
  using Reply = struct InterfaceCreateReply;
};
BOOST_DESCRIBE_STRUCT(InterfaceCreateRequest, (MakeRequest),
                      (machine, subnet, fixed_addresses, firewall_groups))

struct InterfaceCreateReply {
  Interface interface;

  static constexpr std::array required{std::string_view("interface")};
};
BOOST_DESCRIBE_STRUCT(InterfaceCreateReply, (), (interface))

struct InterfaceDeleteRequest : DeleteRequest {
  static constexpr std::string_view method = "interfaces.delete/1";
  using Reply = struct InterfaceDeleteReply;
};
BOOST_DESCRIBE_STRUCT(InterfaceDeleteRequest, (DeleteRequest), ())

struct InterfaceDeleteReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(InterfaceDeleteReply, (DeleteReply), ())

struct InterfaceListRequest : ListingRequest {
  static constexpr std::string_view method = "interfaces.list/1";
  using Reply = struct InterfaceListReply;
};
BOOST_DESCRIBE_STRUCT(InterfaceListRequest, (ListingRequest), ())

struct InterfaceListReply {
  std::vector<Interface> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(InterfaceListReply, (), (items, next_page, complete))

}  // namespace slipway
