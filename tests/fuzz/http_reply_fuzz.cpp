// SPDX-License-Identifier: Apache-2.0
// http_reply_fuzz.cpp - whatever a server sends becomes a message that the codec can write and read again,
// and what a cloud names as a URL is read the same way twice. The input: headers, a 0 byte, the body.
#include "plugin/endpoint.hpp"
#include "plugin/http_reply.hpp"

#include <slipway/codec.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace slipway;
using namespace slipway::plugin;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_reply(std::string_view headers, std::string_view body) {
  constexpr std::int64_t kNow = 1'800'000'000'000;
  const HttpCallReply reply = make_reply({200, std::string(headers), std::string(body)}, kNow, 1);
  require(reply.body_base64 ? reply.body_base64->data == body && reply.body.empty() : reply.body == body);
  if (reply.retry_after_ms)
    require(*reply.retry_after_ms >= 0 && *reply.retry_after_ms <= 365LL * 86'400'000);
  for (const HttpHeader& header : reply.headers) {
    require(!header.name.empty());
    require(header.name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ: \r\n") == std::string::npos);
    require(header.value.find_first_of("\r\n") == std::string::npos && is_utf8(header.value));
  }
  const auto again = decode<HttpCallReply>(encode(reply));
  require(again.has_value());
  require(again->body == reply.body && again->headers.size() == reply.headers.size());
}

void check_url(std::string_view text) {
  const auto url = parse_url("url", text);
  if (!url) return;
  require(url->scheme == "http" || url->scheme == "https");
  require(url->port != 0 && !url->host.empty() && url->path.starts_with('/'));
  // What libcurl will be given means the same to it.
  const auto again = parse_url("url", url->text);
  require(again && again->is_same_origin(*url) && again->path == url->path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  check_reply(input.substr(0, end), end == std::string_view::npos ? "" : input.substr(end + 1));
  check_url(input.substr(0, end));
  (void)parse_retry_after_ms(input, 1'800'000'000'000);
  return 0;
}
