// SPDX-License-Identifier: Apache-2.0
// addresses.hpp - addresses/1: public addresses that are claimed for one machine. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// `parent` is the instance that it leads to.
struct PublicAddress : Item {
  std::string value;
  std::string interface;  // id
};
BOOST_DESCRIBE_STRUCT(PublicAddress, (Item), (value, interface))

// Claims an address and lets it lead to the instance, when one is given.
struct AddressClaimRequest : MakeRequest {
  std::string machine;
  std::string instance_id;
  std::string interface;   // id
  std::string network;     // where it is claimed; empty: the plugin's setting
  std::string address_id;  // one that is there already, claimed by the operator

  static constexpr std::string_view method = "addresses.claim/1";
  using Reply = struct AddressClaimReply;
};
BOOST_DESCRIBE_STRUCT(AddressClaimRequest, (MakeRequest),
                      (machine, instance_id, interface, network, address_id))

struct AddressClaimReply {
  PublicAddress address;

  static constexpr std::array required{std::string_view("address")};
};
BOOST_DESCRIBE_STRUCT(AddressClaimReply, (), (address))

struct AddressReleaseRequest : DeleteRequest {
  static constexpr std::string_view method = "addresses.release/1";
  using Reply = struct AddressReleaseReply;
};
BOOST_DESCRIBE_STRUCT(AddressReleaseRequest, (DeleteRequest), ())

struct AddressReleaseReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(AddressReleaseReply, (DeleteReply), ())

struct AddressListRequest : ListingRequest {
  static constexpr std::string_view method = "addresses.list/1";
  using Reply = struct AddressListReply;
};
BOOST_DESCRIBE_STRUCT(AddressListRequest, (ListingRequest), ())

struct AddressListReply {
  std::vector<PublicAddress> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(AddressListReply, (), (items, next_page, complete))

}  // namespace slipway
