// SPDX-License-Identifier: Apache-2.0
// zones.hpp - zones/1: the parts of a region that fail apart. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>
#include <slipway/messages/volumes.hpp>

namespace slipway {

struct ZonesRequest {
  static constexpr std::string_view method = "zones.list/1";
  using Reply = struct ZonesReply;
};
BOOST_DESCRIBE_STRUCT(ZonesRequest, (), ())

struct ZonesReply {
  std::vector<Zone> zones;
};
BOOST_DESCRIBE_STRUCT(ZonesReply, (), (zones))

// In which zones a machine with this placement and these volumes can be at all; a zone that is not there is
// invalid. Empty: in any.
struct DeriveZonesRequest {
  Placement placement;
  std::vector<std::string> volume_ids;
  std::vector<std::string> subnets;

  static constexpr std::string_view method = "zones.derive/1";
  using Reply = struct DeriveZonesReply;
};
BOOST_DESCRIBE_STRUCT(DeriveZonesRequest, (), (placement, volume_ids, subnets))

struct DeriveZonesReply {
  std::vector<std::string> zones;
};
BOOST_DESCRIBE_STRUCT(DeriveZonesReply, (), (zones))

}  // namespace slipway
