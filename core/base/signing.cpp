// SPDX-License-Identifier: Apache-2.0
#include "base/signing.hpp"

#include "base/crash.hpp"

#include <slipway/base64.hpp>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>

namespace slipway {
namespace {

constexpr std::size_t kSignatureSize = 64;
constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kIdCharacters = 22;
constexpr std::size_t kPemMaxBytes = 4096;  // a key of this kind takes some 120

struct Free {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Bio = std::unique_ptr<BIO, Free>;

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

Key public_half(const std::array<std::uint8_t, PublicKey::size>& bytes) {
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes.data(), bytes.size()));
}

Key private_half(const Key32& seed) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed.reveal()), Key32::size));
  SLIPWAY_ASSERT(key != nullptr);
  return key;
}

Bio source_of(std::string_view pem) {
  Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  SLIPWAY_ASSERT(bio != nullptr);
  return bio;
}

// What was written into it.
std::string_view content_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// A key with a passphrase is refused instead of asking at the terminal, as OpenSSL would.
int no_passphrase(char*, int, int, void*) { return 0; }

bool is_ed25519(const Key& key) { return key != nullptr && EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519; }

}  // namespace

Result<KeyId> KeyId::parse(std::string_view text) {
  constexpr std::string_view kKind = "ed25519:";
  std::string_view id = text;
  if (id.starts_with(kKind)) id.remove_prefix(kKind.size());
  const bool is_id = id.size() == kIdCharacters && std::all_of(id.begin(), id.end(), [](char c) {
                       return c == '-' || c == '_' || (c != '+' && c != '/' && detail::base64_digit(c) >= 0);
                     });
  if (!is_id) {
    return fail(Code::invalid, "expected the id of a key, ed25519: and {} characters, got \"{}\"",
                kIdCharacters, text.substr(0, 64));
  }
  return KeyId{std::string(id)};
}

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  if (pem.size() > kPemMaxBytes) return fail(Code::invalid, "expected an Ed25519 public key, it is too long");
  const Bio bio = source_of(pem);
  const Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr));
  if (!is_ed25519(key)) {
    return fail(Code::invalid, "expected an Ed25519 public key in PEM (-----BEGIN PUBLIC KEY-----)");
  }
  std::array<std::uint8_t, size> bytes{};
  std::size_t count = bytes.size();
  SLIPWAY_ASSERT(EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &count) == 1 && count == size);
  return PublicKey(bytes);
}

std::string PublicKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  SLIPWAY_ASSERT(bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), public_half(bytes_).get()) == 1);
  return std::string(content_of(bio));
}

KeyId PublicKey::id() const {
  const std::string hash = sha256({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
  std::string id = base64(std::string_view(hash).substr(0, kIdBytes)).substr(0, kIdCharacters);
  std::replace(id.begin(), id.end(), '+', '-');
  std::replace(id.begin(), id.end(), '/', '_');
  return KeyId{std::move(id)};
}

bool PublicKey::has_signed(std::string_view bytes, std::string_view signature) const {
  if (signature.size() != kSignatureSize) return false;
  const Key key = public_half(bytes_);
  if (key == nullptr) return false;
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  SLIPWAY_ASSERT(context != nullptr);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(bytes), bytes.size()) ==
             1;
}

SigningKey SigningKey::make(Random& random) { return SigningKey(Key32::make(random)); }

Result<SigningKey> SigningKey::from_pem(std::string_view pem) {
  const Bio bio = source_of(pem.substr(0, kPemMaxBytes));
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!is_ed25519(key)) {
    return fail(Code::invalid,
                "expected an Ed25519 private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)");
  }
  std::string bytes(Key32::size, '\0');
  std::size_t count = bytes.size();
  SLIPWAY_ASSERT(
      EVP_PKEY_get_raw_private_key(key.get(), reinterpret_cast<std::uint8_t*>(bytes.data()), &count) == 1);
  auto seed = Key32::from_bytes(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  SLIPWAY_TRY(Key32 wiped, std::move(seed));
  return SigningKey(std::move(wiped));
}

Secret SigningKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  SLIPWAY_ASSERT(bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio.get(), private_half(seed_).get(),
                                                                 nullptr, nullptr, 0, nullptr, nullptr) == 1);
  const std::string_view content = content_of(bio);
  Secret pem{std::string(content)};
  OPENSSL_cleanse(const_cast<char*>(content.data()), content.size());
  return pem;
}

PublicKey SigningKey::public_key() const {
  std::array<std::uint8_t, PublicKey::size> bytes{};
  std::size_t count = bytes.size();
  SLIPWAY_ASSERT(EVP_PKEY_get_raw_public_key(private_half(seed_).get(), bytes.data(), &count) == 1);
  return PublicKey(bytes);
}

std::string SigningKey::sign(std::string_view bytes) const {
  const Key key = private_half(seed_);
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::string signature(kSignatureSize, '\0');
  std::size_t count = signature.size();
  SLIPWAY_ASSERT(context != nullptr &&
                 EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                 EVP_DigestSign(context.get(), reinterpret_cast<std::uint8_t*>(signature.data()), &count,
                                octets(bytes), bytes.size()) == 1 &&
                 count == kSignatureSize);
  return signature;
}

}  // namespace slipway
