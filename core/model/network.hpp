// SPDX-License-Identifier: Apache-2.0
// network.hpp - spaces and the subnets in them. Values.
#pragma once

#include "model/ids.hpp"

#include <boost/describe/class.hpp>
#include <boost/mp11/list.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace slipway::model {

// A set of subnets between which traffic may flow; what `spaces=` names.
struct Space {
  EnvironmentId environment;
  std::string name;
  std::string provider_id;  // empty: known here only
  Revision revision;

  using Indexes = boost::mp11::mp_list<>;
  using Key = std::tuple<EnvironmentId, std::string>;
  [[nodiscard]] Key key() const { return {environment, name}; }
};
BOOST_DESCRIBE_STRUCT(Space, (), (environment, name, provider_id, revision))

struct Subnet {
  EnvironmentId environment;
  std::string cidr;
  std::string space;        // empty: in none
  std::string provider_id;  // empty: cannot be given to a start (row A41)
  std::string network;
  std::vector<std::string> zones;
  std::int32_t vlan = 0;
  bool is_public = false;
  Revision revision;

  using Indexes = boost::mp11::mp_list<>;
  using Key = std::tuple<EnvironmentId, std::string>;
  [[nodiscard]] Key key() const { return {environment, cidr}; }
};
BOOST_DESCRIBE_STRUCT(Subnet, (),
                      (environment, cidr, space, provider_id, network, zones, vlan, is_public, revision))

}  // namespace slipway::model
