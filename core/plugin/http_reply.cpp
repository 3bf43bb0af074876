// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_reply.hpp"

#include "base/text.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr std::int64_t kYearMs = 365LL * 86'400'000;

bool is_name_character(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

std::string as_text(std::string_view bytes) {
  const bool is_latin1 = !is_utf8(bytes);
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += ' ';
    } else if (byte >= 0x80 && is_latin1) {
      out += static_cast<char>(0xC0U | byte >> 6U);
      out += static_cast<char>(0x80U | (byte & 0x3FU));
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<HttpHeader> parse_headers(std::string_view lines) {
  std::vector<HttpHeader> headers;
  for (std::string_view line : text::split(lines, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    // A folded line (obsolete, RFC 9112, 5.2) goes on with the one before.
    if ((line.starts_with(' ') || line.starts_with('\t')) && !headers.empty()) {
      const std::string more = as_text(text::trim(line));
      if (!more.empty()) headers.back().value.append(" ").append(more);
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    std::string name(line.substr(0, colon));
    if (!std::all_of(name.begin(), name.end(), is_name_character)) continue;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
    headers.push_back({std::move(name), as_text(text::trim(line.substr(colon + 1)))});
  }
  return headers;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : static_cast<unsigned char>(0);
  };
  const auto is_tail = [](unsigned b) { return (b & 0xC0U) == 0x80; };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    // The first byte says the length; the second has a narrower range where a form would be overlong, a
    // surrogate or too large.
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first < 0xC2 || first > 0xF4) return false;
    const unsigned second = byte(at + 1);
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) return false;
    for (std::size_t i = 2; i < length; ++i)
      if (!is_tail(byte(at + i))) return false;
    at += length;
  }
  return true;
}

std::optional<std::int64_t> parse_retry_after_ms(std::string_view value, std::int64_t utc_ms) {
  value = text::trim(value);
  if (value.empty() || value.size() > 64) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error != std::errc()) return kYearMs;  // digits only: too large
    return std::min(seconds, kYearMs / 1000) * 1000;
  }
  // libcurl reads more forms than HTTP has; those of HTTP begin with a weekday and hold a time.
  const bool is_date =
      value.front() >= 'A' && value.front() <= 'Z' && value.find(':') != std::string_view::npos;
  if (!is_date) return std::nullopt;
  const time_t seconds = curl_getdate(std::string(value).c_str(), nullptr);
  if (seconds == -1) return std::nullopt;
  // Between two numbers of 64 bits from outside: in seconds, where the difference fits.
  const std::int64_t wait_s = std::clamp<std::int64_t>(seconds, 0, 1LL << 40U) - utc_ms / 1000;
  return std::clamp<std::int64_t>(wait_s * 1000 - utc_ms % 1000, 0, kYearMs);
}

HttpCallReply make_reply(RawHttpReply raw, std::int64_t utc_ms, std::int64_t elapsed_ms) {
  HttpCallReply reply;
  reply.status = raw.status;
  reply.headers = parse_headers(raw.headers);
  for (const HttpHeader& header : reply.headers) {
    if (header.name != "retry-after") continue;
    const auto wait_ms = parse_retry_after_ms(header.value, utc_ms);
    if (wait_ms) reply.retry_after_ms = std::max(*wait_ms, reply.retry_after_ms.value_or(0));
  }
  if (is_utf8(raw.body)) {
    reply.body = std::move(raw.body);
  } else {
    reply.body_base64 = Bytes{std::move(raw.body)};
  }
  reply.elapsed_ms = elapsed_ms;
  return reply;
}

}  // namespace slipway::plugin
