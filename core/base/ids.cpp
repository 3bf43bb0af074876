// SPDX-License-Identifier: Apache-2.0
#include "base/ids.hpp"

#include "base/crypto.hpp"

#include <algorithm>
#include <cstring>

namespace slipway {
namespace {

constexpr std::string_view kBase32Digits = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::string_view kUuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::size_t kNonceTextSize = 26;

std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Uuid Uuid::make(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random.fill(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0fU) | 0x40U);  // version 4
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3fU) | 0x80U);  // variant of RFC 4122
  std::string text = hex(as_text(bytes));
  for (std::size_t i = 0; i < kUuidForm.size(); ++i) {
    if (kUuidForm[i] == '-') text.insert(i, 1, '-');
  }
  return {std::move(text)};
}

Result<Uuid> Uuid::parse(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  const bool has_form =
      std::equal(folded.begin(), folded.end(), kUuidForm.begin(), kUuidForm.end(), [](char c, char wanted) {
        return wanted == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (!has_form)
    return fail(Code::invalid, "expected a UUID ({}, x is hexadecimal), got \"{}\"", kUuidForm, text);
  return Uuid{std::move(folded)};
}

Nonce Nonce::make(Random& random) {
  Nonce nonce;
  random.fill(nonce.bytes);
  return nonce;
}

Result<Nonce> Nonce::parse(std::string_view text) {
  Nonce nonce;
  std::size_t filled = 0;
  std::uint32_t bits = 0;  // the last `count` bits read and not yet stored
  unsigned count = 0;
  bool is_base32 = text.size() == kNonceTextSize;
  for (std::size_t i = 0; is_base32 && i < text.size(); ++i) {
    const std::size_t digit = kBase32Digits.find(text[i]);
    is_base32 = digit != std::string_view::npos;
    bits = ((bits << 5U) | static_cast<std::uint32_t>(digit)) & 0xfffU;
    count += 5;
    if (count >= 8) {
      count -= 8;
      nonce.bytes[filled++] = static_cast<std::uint8_t>((bits >> count) & 0xffU);
    }
  }
  // 26 characters are 130 bits: the last two must be 0, so that a nonce has one text only.
  if (!is_base32 || (bits & 3U) != 0) {
    return fail(Code::invalid, "expected a nonce ({} characters of a-z, 2-7), got \"{}\"", kNonceTextSize,
                text);
  }
  return nonce;
}

std::string Nonce::text() const { return base32(as_text(bytes)); }

std::string base32(std::string_view bytes) {
  std::string out;
  out.reserve((8 * bytes.size() + 4) / 5);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = ((bits << 8U) | static_cast<std::uint8_t>(c)) & 0xfffU;
    count += 8;
    while (count >= 5) {
      count -= 5;
      out += kBase32Digits[(bits >> count) & 31U];
    }
  }
  if (count > 0) out += kBase32Digits[(bits << (5 - count)) & 31U];
  return out;
}

}  // namespace slipway

// The bytes are random already.
std::size_t std::hash<slipway::Nonce>::operator()(const slipway::Nonce& nonce) const noexcept {
  std::size_t value = 0;
  std::memcpy(&value, nonce.bytes.data(), sizeof value);
  return value;
}
