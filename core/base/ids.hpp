// SPDX-License-Identifier: Apache-2.0
// ids.hpp - identities as types: UUIDs for things of ours, nonces for attempts. Ids of machines and the like
// are in model/. Thread rule: values.
#pragma once

#include "base/random.hpp"

#include <slipway/result.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace slipway {

// RFC 4122 version 4, as lower-case text with hyphens.
struct Uuid {
  std::string value;

  [[nodiscard]] static Uuid make(Random& random);
  // invalid if it is not 36 characters of the form; upper case is folded.
  [[nodiscard]] static Result<Uuid> parse(std::string_view text);
  // The first 8 characters, for names and tables.
  [[nodiscard]] std::string_view short_form() const { return std::string_view(value).substr(0, 8); }
  auto operator<=>(const Uuid&) const = default;
};

// 128 random bits: the identity of one attempt to create one resource (EXACTLY_ONCE, Rows).
// Text form: 26 characters of lower-case base32 (RFC 4648 without padding), fit for labels, names and compact
// markers.
struct Nonce {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] static Nonce make(Random& random);
  [[nodiscard]] static Result<Nonce> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  auto operator<=>(const Nonce&) const = default;
};

// Lower-case base32 of RFC 4648 without padding: 5 bits a character.
[[nodiscard]] std::string base32(std::string_view bytes);

}  // namespace slipway

template <>
struct std::hash<slipway::Nonce> {
  std::size_t operator()(const slipway::Nonce& nonce) const noexcept;
};
