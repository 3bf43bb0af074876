// SPDX-License-Identifier: Apache-2.0
#include "base/crypto.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace slipway {
namespace {

constexpr std::uint64_t kSeed = 20261130;

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(bytes.data()), size});
  return bytes;
}

Key32 key_of(char byte) { return Key32::from_bytes(std::string(Key32::size, byte)).value(); }

TEST_CASE("SHA-256 gives the vectors of FIPS 180, at once and in pieces") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  for (int round = 0; round < 2; ++round) {  // finish() starts again
    hash.update("a");
    hash.update("");
    hash.update("bc");
    CHECK(hash.finish() == sha256("abc"));
  }
}

TEST_CASE("HMAC-SHA256 gives the vectors of RFC 4231") {
  CHECK(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(
      hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hex(hmac_sha256("", "")) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE("HKDF-SHA256 gives the vectors of RFC 5869") {
  const std::string key(22, '\x0b');
  CHECK(hex(hkdf_sha256(key, from_hex("f0f1f2f3f4f5f6f7f8f9"), 42, from_hex("000102030405060708090a0b0c"))
                .reveal()) ==
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  CHECK(hex(hkdf_sha256(key, "", 42).reveal()) ==
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
  std::string long_key;
  std::string long_salt;
  std::string long_label;
  for (int i = 0; i < 80; ++i) {
    long_key += static_cast<char>(i);
    long_salt += static_cast<char>(0x60 + i);
    long_label += static_cast<char>(0xb0 + i);
  }
  CHECK(hex(hkdf_sha256(long_key, long_label, 82, long_salt).reveal()) ==
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da32"
        "75600c"
        "2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
}

TEST_CASE("a derived key differs by its label and is what HKDF gives") {
  const Key32 root = key_of('r');
  CHECK(root.derive("seal").reveal() == hkdf_sha256(root.reveal(), "seal", 32).reveal());
  CHECK(root.derive("seal").reveal() == root.derive("seal").reveal());
  CHECK(root.derive("seal").reveal() != root.derive("row").reveal());
}

TEST_CASE("bytes compare equal only when all of them are") {
  CHECK(constant_time_equal("", ""));
  CHECK(constant_time_equal(std::string_view("a\0b", 3), std::string_view("a\0b", 3)));
  CHECK_FALSE(constant_time_equal(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
  CHECK_FALSE(constant_time_equal("a", "ab"));
}

TEST_CASE("a key has 32 bytes, moves whole and leaves nothing behind") {
  for (const std::size_t size : {0U, 31U, 33U}) {
    const auto key = Key32::from_bytes(std::string(size, 'k'));
    CHECK((!key && key.error().code == Code::invalid));
    CHECK((key || key.error().message.find("kk") == std::string::npos));
  }
  Key32 key = key_of('k');
  Key32 moved = std::move(key);
  CHECK(moved.reveal() == std::string(32, 'k'));
  CHECK(key.reveal() == std::string(32, '\0'));  // NOLINT(bugprone-use-after-move)
  key = std::move(moved);
  CHECK(key.reveal() == std::string(32, 'k'));
  CHECK(moved.reveal() == std::string(32, '\0'));  // NOLINT(bugprone-use-after-move)
  CHECK(key.copy().reveal() == key.reveal());
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Key32>);
  SeededRandom random(kSeed);
  CHECK(Key32::make(random).reveal() != Key32::make(random).reveal());
}

TEST_CASE("a sealed value opens with its key in its place, and says what is wrong otherwise") {
  SeededRandom random(kSeed);
  const AeadKey key(key_of('k'));
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1000U}) {
    const std::string plain = random_bytes(random, size);
    const std::string sealed = key.seal(plain, "credential/3", random);
    CHECK(sealed.size() == size + AeadKey::overhead);
    CHECK(key.open(sealed, "credential/3").value().equals(plain));
    CHECK((size < 4 || sealed.find(plain) == std::string::npos));
    const auto elsewhere = key.open(sealed, "credential/4");
    CHECK((!elsewhere && elsewhere.error().code == Code::invalid));
    CHECK_FALSE(AeadKey(key_of('l')).open(sealed, "credential/3"));
    CHECK_FALSE(key.open(sealed, ""));
  }
}

TEST_CASE("a sealed value with any one bit flipped, cut or longer is refused") {
  SeededRandom random(kSeed);
  const AeadKey key(key_of('k'));
  const std::string sealed = key.seal("canary-5f1d", "row", random);
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = sealed;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
      const auto opened = key.open(flipped, "row");
      REQUIRE_FALSE(opened.has_value());
      CHECK(opened.error().message.find("canary") == std::string::npos);
    }
    CHECK_FALSE(key.open(sealed.substr(0, at), "row"));
  }
  CHECK_FALSE(key.open(sealed + '\0', "row"));
}

TEST_CASE("the same text sealed twice looks different") {
  SystemRandom random;
  const AeadKey key(key_of('k'));
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(key.seal("same", "", random));
  CHECK(all.size() == 100);
}

TEST_CASE("AES-256-GCM gives the vector of the GCM specification (test case 14)") {
  class ZeroRandom final : public Random {
    void fill(std::span<std::uint8_t> bytes) override {
      std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
    }
  } zeros;
  const std::string sealed = AeadKey(key_of('\0')).seal(std::string(16, '\0'), "", zeros);
  CHECK(hex(sealed) == "01" + std::string(24, '0') +
                           "cea7403d4d606b6e074ec5d3baf39d18"
                           "d0d1c8a799996bf0265b98b5d48ab919");
}

TEST_CASE("scrypt gives the vectors of RFC 7914 and refuses impossible costs") {
  CHECK(hex(scrypt_key(Secret(std::string("password")), "NaCl", {1024, 8, 16}).value().reveal()) ==
        "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162");
  CHECK(hex(scrypt_key(Secret(), "", {16, 1, 1}).value().reveal()) ==
        "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442");
  const ScryptCost too_much{1ULL << 30U, 8, 1};
  for (const ScryptCost cost :
       {ScryptCost{1000, 8, 1}, ScryptCost{0, 8, 1}, ScryptCost{1024, 0, 1}, too_much}) {
    const auto key = scrypt_key(Secret(std::string("p")), "0123456789abcdef", cost);
    CHECK((!key && key.error().code == Code::invalid));
  }
}

TEST_CASE("the default cost of scrypt is possible") {
  const auto key = scrypt_key(Secret(std::string("pass phrase")), "0123456789abcdef");
  REQUIRE(key);
  CHECK(key->reveal() !=
        scrypt_key(Secret(std::string("pass phrase")), "0123456789abcdeF", {1024, 8, 1})->reveal());
}

}  // namespace
}  // namespace slipway
