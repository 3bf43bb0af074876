// SPDX-License-Identifier: Apache-2.0
// common.hpp - what all messages share: the law of the messages as structs. What makes something derives from
// MakeRequest, what is listed from Item, so that a host holds every group to the law by the
// same code. A request names its method and its reply:
//   static constexpr std::string_view method = "instances.start/1";
//   using Reply = StartReply;
// How messages grow: include/README.md. Thread rule: values.
#pragma once

#include <slipway/base64.hpp>
#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <boost/describe/class.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

namespace json = boost::json;

// Whose a resource is, as it stands on the resource in the cloud (tags, labels, metadata, by the manifest's
// marker form). The plugin writes it unchanged and gives it back unchanged; only the core reads it.
using Marker = std::map<std::string, std::string>;

// (a) of the law: one call makes one resource, and answers as soon as the cloud accepted it.
struct MakeRequest {
  std::string nonce;  // this try's identity: a second call with it is the same try
  std::string name;   // for people, within the manifest's limits, unique to the try
  Marker marker;
  std::int64_t not_after_ns = 0;  // on the host's clock; no request may go out later. 0: no bound

  static constexpr std::array required{std::string_view("nonce"), std::string_view("name")};
};
BOOST_DESCRIBE_STRUCT(MakeRequest, (), (nonce, name, marker, not_after_ns))

// (b) of the law: what a cloud has, of whatever kind.
struct Item {
  std::string id;  // the cloud's
  std::string name;
  Marker marker;
  std::string parent;           // id of what it belongs to: a port's server; empty when it stands alone
  std::int64_t created_ms = 0;  // UTC; 0: the cloud does not say
  InstanceState state = InstanceState::unknown;
  std::string message;  // the cloud's words about the state

  static constexpr std::array required{std::string_view("id")};
};
BOOST_DESCRIBE_STRUCT(Item, (), (id, name, marker, parent, created_ms, state, message))

// Lists by owner: what bears at least these entries of a marker. Empty: everything in the account that the
// plugin can see.
struct ListingRequest {
  Marker owner;
  std::string page;               // the last reply's next_page; empty: the first
  std::uint32_t page_size = 500;  // items wanted at most; a hint

  bool operator==(const ListingRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(ListingRequest, (), (owner, page, page_size))

// Deletes by id; what is not there counts as deleted.
struct DeleteRequest {
  std::vector<std::string> ids;

  static constexpr std::array required{std::string_view("ids")};
};
BOOST_DESCRIBE_STRUCT(DeleteRequest, (), (ids))

// One of a batch. Without an error it went well.
struct IdResult {
  std::string id;
  std::optional<Error> error;
};
BOOST_DESCRIBE_STRUCT(IdResult, (), (id, error))

// In the order of the request's ids.
struct DeleteReply {
  std::vector<IdResult> results;
};
BOOST_DESCRIBE_STRUCT(DeleteReply, (), (results))

}  // namespace slipway
