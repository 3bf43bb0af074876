// SPDX-License-Identifier: Apache-2.0
#include "plugin/trust_check.hpp"

#include <utility>

namespace slipway::plugin {

Error refused_by(TrustCheck check, Error error) {
  error.details["check"] = boost::describe::enum_to_string(check, "?");
  return error;
}

Status unless_off(const DisabledChecks& disabled, TrustCheck check, Status status) {
  if (status || disabled.contains(check)) return ok();
  return refused_by(check, std::move(status).error());
}

}  // namespace slipway::plugin
