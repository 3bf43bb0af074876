// SPDX-License-Identifier: Apache-2.0
// http_reply.hpp - from the bytes that a server sent to what a plugin gets. The bytes are an outsider's:
// anything may be in them, and what comes out is always a message that the codec can write. Pure;
// thread-safe.
#pragma once

#include <slipway/messages/host.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::plugin {

struct RawHttpReply {
  std::uint32_t status = 0;
  std::string headers;  // lines as they came; the status line is skipped
  std::string body;
};

// Header names in lower case; what is no header line is left out. Values as UTF-8: those that are not are
// read as Latin-1 (RFC 9110, 5.5), control characters become spaces. `utc_ms`: now, for a Retry-After with a
// date.
[[nodiscard]] HttpCallReply make_reply(RawHttpReply raw, std::int64_t utc_ms, std::int64_t elapsed_ms);

// Seconds, or a date in one of HTTP's three forms, as milliseconds from utc_ms: at least 0, at most a year.
// Nothing for anything else.
[[nodiscard]] std::optional<std::int64_t> parse_retry_after_ms(std::string_view value, std::int64_t utc_ms);

// RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace slipway::plugin
