// SPDX-License-Identifier: Apache-2.0
// signing.hpp - Ed25519 (RFC 8032) over OpenSSL: who made a plugin. Keys travel as PEM, the form that
// `openssl pkey` reads and writes. Apart from crypto.hpp, because only plugins' packages need it. A failure
// of OpenSSL itself ends the process, as there. Thread rule: immutable values.
#pragma once

#include "base/crypto.hpp"
#include "base/secret.hpp"

#include <slipway/result.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace slipway {

// A key's short name: base64url of the first 16 bytes of the SHA-256 of its 32 bytes, so 22 characters. Long
// enough that nobody finds a second key of one name; people compare it, the whole key verifies.
struct KeyId {
  std::string value;

  // "ed25519:8Q2f...": the form that people and plugin.sig see.
  [[nodiscard]] std::string text() const { return "ed25519:" + value; }
  // Takes it with or without "ed25519:"; invalid if it is not 22 characters of base64url.
  [[nodiscard]] static Result<KeyId> parse(std::string_view text);
  auto operator<=>(const KeyId&) const = default;
};

class PublicKey {
 public:
  static constexpr std::size_t size = 32;

  explicit PublicKey(const std::array<std::uint8_t, size>& bytes) : bytes_(bytes) {}
  // SubjectPublicKeyInfo ("BEGIN PUBLIC KEY"). invalid: not PEM, or another kind of key.
  [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);

  [[nodiscard]] std::string pem() const;
  [[nodiscard]] KeyId id() const;
  // True if the owner of the key signed exactly these bytes.
  [[nodiscard]] bool has_signed(std::string_view bytes, std::string_view signature) const;
  auto operator<=>(const PublicKey&) const = default;

 private:
  std::array<std::uint8_t, size> bytes_;
};

class SigningKey {
 public:
  [[nodiscard]] static SigningKey make(Random& random);
  // PKCS #8 without a passphrase ("BEGIN PRIVATE KEY"). The error does not show any of it.
  [[nodiscard]] static Result<SigningKey> from_pem(std::string_view pem);

  [[nodiscard]] Secret pem() const;
  [[nodiscard]] PublicKey public_key() const;
  // 64 bytes; the same for the same bytes.
  [[nodiscard]] std::string sign(std::string_view bytes) const;

 private:
  explicit SigningKey(Key32 seed) : seed_(std::move(seed)) {}
  Key32 seed_;
};

}  // namespace slipway
