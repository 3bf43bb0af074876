// SPDX-License-Identifier: Apache-2.0
// plugin_note.hpp - what a plugin wants to remember for an environment (kv/1 of its host services). A value.
#pragma once

#include "model/ids.hpp"

#include <boost/describe/class.hpp>
#include <boost/mp11/list.hpp>

#include <string>
#include <tuple>

namespace slipway::model {

struct PluginNote {
  EnvironmentId environment;
  std::string plugin;
  std::string name;   // the plugin's key
  std::string value;  // base64
  Revision revision;

  using Indexes = boost::mp11::mp_list<>;
  using Key = std::tuple<EnvironmentId, std::string, std::string>;
  [[nodiscard]] Key key() const { return {environment, plugin, name}; }
};
BOOST_DESCRIBE_STRUCT(PluginNote, (), (environment, plugin, name, value, revision))

}  // namespace slipway::model
