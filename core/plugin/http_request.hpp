// SPDX-License-Identifier: Apache-2.0
// http_request.hpp - from what a plugin asks for to what may be sent: checked, secrets put in. Nothing in it
// can end a line of the request early or add one. Pure but for the look-up of secrets; thread-safe.
#pragma once

#include "base/secret.hpp"
#include "plugin/http_scope.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace slipway::plugin {

// Everything that may hold a secret is one, so it is wiped when the request goes.
struct PreparedRequest {
  std::string verb;
  Url url;
  std::vector<Secret> header_lines;  // "Name: value"
  Secret body;
  bool has_body = false;  // an empty one counts for POST, PUT and PATCH
  std::int64_t timeout_ms = 0;
  std::int64_t connect_timeout_ms = 0;
  std::uint64_t max_reply_bytes = 0;
  bool is_once = false;
  std::int64_t not_after_ns = 0;  // 0: no bound
};

// The largest reply that a plugin gets: in base64 it fits a message of 16 MiB.
inline constexpr std::uint64_t kMaxHttpReplyBytes = std::uint64_t{11} << 20U;

// Rejected, all of them. invalid: a member that cannot be sent, or a secret that is not there, by its name.
// denied: the URL is against the scope's policy, or a secret would leave the endpoints; with the setting to
// change.
[[nodiscard]] Result<PreparedRequest> prepare(HttpCallRequest request, const HttpScope& scope);

}  // namespace slipway::plugin
