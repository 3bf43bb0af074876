// SPDX-License-Identifier: Apache-2.0
// crypto.hpp - the few primitives that Slipway uses, over OpenSSL 3 (EVP), so that no other module calls it
// for these. Bytes are std::string and may hold anything. A failure of OpenSSL itself (out of memory, a
// missing algorithm) ends the process: going on without is never right. Thread rule: free functions and
// immutable keys are thread-safe; a Sha256 has one user.
#pragma once

#include "base/random.hpp"
#include "base/secret.hpp"

#include <slipway/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace slipway {

// Lower-case hexadecimal, two digits a byte.
[[nodiscard]] std::string hex(std::string_view bytes);
// True if both are the same; the time depends on the lengths only.
[[nodiscard]] bool constant_time_equal(std::string_view a, std::string_view b);

// 32 bytes.
[[nodiscard]] std::string sha256(std::string_view bytes);
// RFC 2104; 32 bytes.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view bytes);
// RFC 5869, extract and expand; the label is its "info". `length` at most 255 * 32 bytes.
[[nodiscard]] Secret hkdf_sha256(std::string_view key, std::string_view label, std::size_t length,
                                 std::string_view salt = {});

// SHA-256 of what comes in pieces.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  // The 32 bytes; the object is then at its start again.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// A 256-bit key: wiped when it goes, copied only on purpose.
class Key32 {
 public:
  static constexpr std::size_t size = 32;

  [[nodiscard]] static Key32 make(Random& random);
  // invalid unless there are 32 bytes; the error does not show them.
  [[nodiscard]] static Result<Key32> from_bytes(std::string_view bytes);

  Key32(const Key32&) = delete;
  Key32& operator=(const Key32&) = delete;
  Key32(Key32&& other) noexcept;
  Key32& operator=(Key32&& other) noexcept;
  ~Key32();

  [[nodiscard]] Key32 copy() const;
  // Another key made of this one by HKDF: one label for each purpose.
  [[nodiscard]] Key32 derive(std::string_view label) const;
  // The key itself. Every call is a place to look at in a review.
  [[nodiscard]] std::string_view reveal() const;

 private:
  Key32() = default;
  void wipe() noexcept;
  std::array<std::uint8_t, size> bytes_{};
};

// What scrypt costs (RFC 7914). The default takes 32 MiB and about 0.1 s: enough against guessing, small
// enough for a 1 GiB machine. Kept beside what the key seals, so that it can be raised later.
struct ScryptCost {
  std::uint64_t n = 1U << 15U;  // a power of 2
  std::uint64_t r = 8;
  std::uint64_t p = 1;

  bool operator==(const ScryptCost&) const = default;
};
// A key from a passphrase; `salt` is random, at least 16 bytes, and not secret. invalid: a cost that is not
// possible or needs more than 256 MiB, as it may come out of a damaged file.
[[nodiscard]] Result<Key32> scrypt_key(const Secret& passphrase, std::string_view salt, ScryptCost cost = {});

// AES-256-GCM. A sealed value is: 1 byte of format version (1), 12 bytes of random nonce, the ciphertext, 16
// bytes of tag. Random nonces are good for 2^32 seals by one key (NIST SP 800-38D, 8.3).
class AeadKey {
 public:
  static constexpr std::size_t overhead = 1 + 12 + 16;  // bytes of a sealed value beside the plaintext

  explicit AeadKey(Key32 key) : key_(std::move(key)) {}

  // `associated_data` is not in the sealed value; open() must be given the same. It binds a value to its
  // place.
  [[nodiscard]] std::string seal(std::string_view plaintext, std::string_view associated_data,
                                 Random& random) const;
  // invalid: not a sealed value, another key, another place, or changed since.
  [[nodiscard]] Result<Secret> open(std::string_view sealed, std::string_view associated_data) const;

 private:
  Key32 key_;
};

}  // namespace slipway
