// SPDX-License-Identifier: Apache-2.0
// base64.hpp - RFC 4648, section 4: bytes as text, with padding. Here and not over OpenSSL, because plugins
// need it too. Thread rule: pure.
#pragma once

#include <slipway/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace slipway {

// Any bytes, as a member of a message: base64 in JSON, where text must be UTF-8.
struct Bytes {
  std::string data;

  bool operator==(const Bytes&) const = default;
};

namespace detail {

inline constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// -1: no digit.
constexpr int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace detail

[[nodiscard]] inline std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? detail::kBase64Digits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

[[nodiscard]] inline std::string base64(const Bytes& bytes) { return base64(std::string_view(bytes.data)); }

// Takes exactly what base64() gives: padding, no white space, unused bits 0. Everything else is invalid.
[[nodiscard]] inline Result<std::string> parse_base64(std::string_view text) {
  const auto refusal = [] {
    return fail(Code::invalid, "expected base64 with padding and without white space (RFC 4648)");
  };
  if (text.size() % 4 != 0) return refusal();
  std::string_view digits = text;
  while (digits.ends_with('=') && text.size() - digits.size() < 2) digits.remove_suffix(1);
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;  // read and not yet written: the lowest `have`
  unsigned have = 0;
  for (const char c : digits) {
    const int digit = detail::base64_digit(c);
    if (digit < 0) return refusal();
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xffU);
  }
  if ((bits & ((1U << have) - 1U)) != 0) return refusal();
  return out;
}

}  // namespace slipway
