// SPDX-License-Identifier: Apache-2.0
#include "base/crypto.hpp"

#include "base/crash.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <limits>
#include <span>

namespace slipway {
namespace {

constexpr std::size_t kHashSize = 32;
constexpr std::size_t kNonceSize = 12;
constexpr std::size_t kTagSize = 16;
constexpr char kSealVersion = 1;
constexpr std::uint64_t kScryptMaxBytes = 256ULL << 20U;

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}
std::uint8_t* octets(std::string& bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

// EVP takes sizes as int. What we hash or seal is far below 2 GiB.
int int_size(std::size_t size) {
  SLIPWAY_ASSERT(size <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  return static_cast<int>(size);
}

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const noexcept { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const noexcept { EVP_KDF_CTX_free(context); }
};

// HKDF into `out`, which wipes itself.
void hkdf(std::string_view key, std::string_view label, std::string_view salt, std::span<std::uint8_t> out) {
  SLIPWAY_ASSERT(out.size() <= 255 * kHashSize);
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr));
  SLIPWAY_ASSERT(kdf != nullptr);
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
  SLIPWAY_ASSERT(context != nullptr);
  // OSSL_PARAM has no const form; nothing of these is written to.
  const auto parameter = [](const char* name, std::string_view bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
  };
  std::string digest = "SHA256";
  std::array<OSSL_PARAM, 5> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      parameter(OSSL_KDF_PARAM_KEY, key), parameter(OSSL_KDF_PARAM_INFO, label), OSSL_PARAM_construct_end(),
      OSSL_PARAM_construct_end()};
  if (!salt.empty()) parameters[3] = parameter(OSSL_KDF_PARAM_SALT, salt);
  SLIPWAY_ASSERT(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1);
}

}  // namespace

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string sha256(std::string_view bytes) {
  std::string out(kHashSize, '\0');
  SLIPWAY_ASSERT(EVP_Digest(bytes.data(), bytes.size(), octets(out), nullptr, EVP_sha256(), nullptr) == 1);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string out(kHashSize, '\0');
  // A null key would mean "the key of the last call".
  const char* key_data = key.empty() ? "" : key.data();
  SLIPWAY_ASSERT(HMAC(EVP_sha256(), key_data, int_size(key.size()), octets(bytes), bytes.size(), octets(out),
                      nullptr) != nullptr);
  return out;
}

Secret hkdf_sha256(std::string_view key, std::string_view label, std::size_t length, std::string_view salt) {
  std::string out(length, '\0');
  hkdf(key, label, salt, {octets(out), out.size()});
  return Secret(std::move(out));
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  SLIPWAY_ASSERT(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

void Sha256::update(std::string_view bytes) {
  SLIPWAY_ASSERT(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::string out(kHashSize, '\0');
  SLIPWAY_ASSERT(EVP_DigestFinal_ex(context_.get(), octets(out), nullptr) == 1);
  SLIPWAY_ASSERT(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  return out;
}

Key32 Key32::make(Random& random) {
  Key32 key;
  random.fill(key.bytes_);
  return key;
}

Result<Key32> Key32::from_bytes(std::string_view bytes) {
  if (bytes.size() != size)
    return fail(Code::invalid, "expected a key of {} bytes, got {}", size, bytes.size());
  Key32 key;
  std::copy(bytes.begin(), bytes.end(), key.bytes_.begin());
  return key;
}

Key32::Key32(Key32&& other) noexcept : bytes_(other.bytes_) { other.wipe(); }

Key32& Key32::operator=(Key32&& other) noexcept {
  if (this != &other) {
    bytes_ = other.bytes_;
    other.wipe();
  }
  return *this;
}

Key32::~Key32() { wipe(); }

void Key32::wipe() noexcept { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Key32 Key32::copy() const {
  Key32 key;
  key.bytes_ = bytes_;
  return key;
}

Key32 Key32::derive(std::string_view label) const {
  Key32 key;
  hkdf(reveal(), label, {}, key.bytes_);
  return key;
}

std::string_view Key32::reveal() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

Result<Key32> scrypt_key(const Secret& passphrase, std::string_view salt, ScryptCost cost) {
  std::string bytes(Key32::size, '\0');
  const std::string_view text = passphrase.reveal();
  const int derived = EVP_PBE_scrypt(text.data(), text.size(), octets(salt), salt.size(), cost.n, cost.r,
                                     cost.p, kScryptMaxBytes, octets(bytes), bytes.size());
  if (derived != 1) {
    ERR_clear_error();
    return fail(Code::invalid,
                "scrypt cost n={} r={} p={}: expected n a power of 2 and at most {} MiB of memory", cost.n,
                cost.r, cost.p, kScryptMaxBytes >> 20U);
  }
  const Secret wiped_after(std::move(bytes));
  return Key32::from_bytes(wiped_after.reveal());
}

std::string AeadKey::seal(std::string_view plaintext, std::string_view associated_data,
                          Random& random) const {
  std::string out(overhead + plaintext.size(), '\0');
  out[0] = kSealVersion;
  std::uint8_t* const nonce = octets(out) + 1;
  std::uint8_t* const text = nonce + kNonceSize;
  std::uint8_t* const tag = text + plaintext.size();
  random.fill({nonce, kNonceSize});

  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  SLIPWAY_ASSERT(cipher != nullptr && EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                                                         octets(key_.reveal()), nonce) == 1);
  SLIPWAY_ASSERT(EVP_EncryptUpdate(cipher.get(), nullptr, &written, octets(associated_data),
                                   int_size(associated_data.size())) == 1);
  SLIPWAY_ASSERT(
      EVP_EncryptUpdate(cipher.get(), text, &written, octets(plaintext), int_size(plaintext.size())) == 1);
  // Writes nothing: GCM is a stream mode.
  SLIPWAY_ASSERT(EVP_EncryptFinal_ex(cipher.get(), tag, &written) == 1);
  SLIPWAY_ASSERT(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, int_size(kTagSize), tag) == 1);
  return out;
}

Result<Secret> AeadKey::open(std::string_view sealed, std::string_view associated_data) const {
  if (sealed.size() < overhead) {
    return fail(Code::invalid, "sealed value: expected at least {} bytes, got {}", overhead, sealed.size());
  }
  if (sealed[0] != kSealVersion) {
    return fail(Code::invalid, "sealed value: expected format version {}, got {}", int{kSealVersion},
                int{static_cast<std::uint8_t>(sealed[0])});
  }
  const std::string_view nonce = sealed.substr(1, kNonceSize);
  const std::string_view text = sealed.substr(1 + kNonceSize, sealed.size() - overhead);
  std::string tag(sealed.substr(sealed.size() - kTagSize));  // the call below wants it writable
  std::string plain(text.size(), '\0');

  const Cipher cipher(EVP_CIPHER_CTX_new());
  int written = 0;
  SLIPWAY_ASSERT(cipher != nullptr && EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                                                         octets(key_.reveal()), octets(nonce)) == 1);
  SLIPWAY_ASSERT(EVP_DecryptUpdate(cipher.get(), nullptr, &written, octets(associated_data),
                                   int_size(associated_data.size())) == 1);
  SLIPWAY_ASSERT(
      EVP_DecryptUpdate(cipher.get(), octets(plain), &written, octets(text), int_size(text.size())) == 1);
  Secret secret(std::move(plain));  // wiped on every way out
  SLIPWAY_ASSERT(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, int_size(kTagSize), tag.data()) ==
                 1);
  std::array<std::uint8_t, kTagSize> rest{};
  if (EVP_DecryptFinal_ex(cipher.get(), rest.data(), &written) != 1) {
    ERR_clear_error();
    return fail(Code::invalid,
                "sealed value does not open: made with another key, for another place, or changed since");
  }
  return secret;
}

}  // namespace slipway
