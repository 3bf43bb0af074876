// SPDX-License-Identifier: Apache-2.0
// message_schemas.hpp - the schemas of everything that crosses between host and plugin, by the name of the
// file that keeps each. Thread rule: a free function.
#pragma once

#include <boost/json/object.hpp>

#include <map>
#include <string>

namespace slipway::sdk {

// "instances.start.1.request.json", "instances.start.1.reply.json" for each method of plugins and host,
// "note.log.json" for each notification, and "manifest.json", "create.json", "error.json".
[[nodiscard]] std::map<std::string, boost::json::object> message_schemas();

}  // namespace slipway::sdk
