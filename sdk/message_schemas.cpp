// SPDX-License-Identifier: Apache-2.0
#include "message_schemas.hpp"

#include <slipway/messages.hpp>
#include <slipway/schema.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>

namespace slipway::sdk {

std::map<std::string, json::object> message_schemas() {
  std::map<std::string, json::object> out;
  using Requests = boost::mp11::mp_append<PluginRequests, HostRequests>;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Requests>>(
      [&]<class R>(boost::mp11::mp_identity<R>) {
        std::string name(R::method);
        std::replace(name.begin(), name.end(), '/', '.');
        out[name + ".request.json"] = schema_of<R>();
        out[name + ".reply.json"] = schema_of<typename R::Reply>();
      });
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, HostNotes>>(
      [&]<class N>(boost::mp11::mp_identity<N>) { out[message("note.{}.json", N::topic)] = schema_of<N>(); });
  out["manifest.json"] = schema_of<Manifest>();
  out["create.json"] = schema_of<CreateMessage>();
  out["error.json"] = schema_of<Error>();
  return out;
}

}  // namespace slipway::sdk
