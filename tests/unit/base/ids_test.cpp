// SPDX-License-Identifier: Apache-2.0
// Random numbers, UUIDs, nonces, secrets.
#include "base/ids.hpp"

#include "base/random.hpp"
#include "base/secret.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace slipway {
namespace {

constexpr std::uint64_t kSeed = 20261130;

TEST_CASE("the same seed gives the same numbers, another seed others") {
  SeededRandom one(kSeed);
  SeededRandom same(kSeed);
  SeededRandom other(kSeed + 1);
  bool all_equal_to_other = true;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = one.u64();
    CHECK(number == same.u64());
    all_equal_to_other = all_equal_to_other && number == other.u64();
  }
  CHECK_FALSE(all_equal_to_other);
}

TEST_CASE("numbers below a bound reach every value evenly and never the bound") {
  SeededRandom random(kSeed);
  std::array<int, 7> count{};
  for (int i = 0; i < 7000; ++i) ++count.at(random.below(7));
  for (const int times : count) CHECK((times > 850 && times < 1150));
  CHECK(random.below(1) == 0);
  for (int i = 0; i < 1000; ++i) {
    const double unit = random.unit();
    REQUIRE((unit >= 0.0 && unit < 1.0));
  }
}

TEST_CASE("the system's generator fills every byte") {
  SystemRandom random;
  std::array<std::uint8_t, 33> all{};
  for (int i = 0; i < 64; ++i) {
    std::array<std::uint8_t, 33> bytes{};
    random.fill(bytes);
    for (std::size_t j = 0; j < bytes.size(); ++j)
      all.at(j) = static_cast<std::uint8_t>(all.at(j) | bytes.at(j));
  }
  for (const std::uint8_t byte : all) CHECK(byte != 0);
}

TEST_CASE("a UUID is of version 4, reads back and is unique") {
  SeededRandom random(kSeed);
  std::set<Uuid> all;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::make(random);
    CHECK(uuid.value.size() == 36);
    CHECK(uuid.value[14] == '4');
    CHECK(std::string("89ab").find(uuid.value[19]) != std::string::npos);
    CHECK(Uuid::parse(uuid.value).value() == uuid);
    all.insert(uuid);
  }
  CHECK(all.size() == 1000);
}

TEST_CASE("a UUID is folded to lower case and refused in any other form") {
  CHECK(Uuid::parse("0B5C9A6E-91F4-4E47-8d0c-7C2B7D1F0A11").value().value ==
        "0b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a11");
  CHECK(Uuid::parse("0b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a11").value().short_form() == "0b5c9a6e");
  for (const char* text :
       {"", "0b5c9a6e", "0b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a1", "0b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a111",
        "0b5c9a6e091f4-4e47-8d0c-7c2b7d1f0a11", "0b5c9a6g-91f4-4e47-8d0c-7c2b7d1f0a11",
        "{b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a1}", "0b5c9a6e-91f4-4e47-8d0c-7c2b7d1f0a1-"}) {
    const auto uuid = Uuid::parse(text);
    CHECK((!uuid && uuid.error().code == Code::invalid));
  }
}

TEST_CASE("base32 gives the vectors of RFC 4648 in lower case and without padding") {
  CHECK(base32("").empty());
  CHECK(base32("f") == "my");
  CHECK(base32("fo") == "mzxq");
  CHECK(base32("foo") == "mzxw6");
  CHECK(base32("foob") == "mzxw6yq");
  CHECK(base32("fooba") == "mzxw6ytb");
  CHECK(base32("foobar") == "mzxw6ytboi");
}

TEST_CASE("a nonce has one text of 26 characters that reads back") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  std::unordered_set<Nonce> all;
  for (int i = 0; i < 1000; ++i) {
    const Nonce nonce = Nonce::make(random);
    const std::string text = nonce.text();
    CHECK(text.size() == 26);
    REQUIRE(Nonce::parse(text).value() == nonce);
    all.insert(nonce);
    // Any other text is another nonce or none.
    std::string changed = text;
    const std::size_t at = random.below(26);
    changed[at] = changed[at] == 'a' ? 'b' : 'a';
    const auto other = Nonce::parse(changed);
    CHECK((!other || other->text() == changed));
  }
  CHECK(all.size() == 1000);
}

TEST_CASE("what is no nonce is refused") {
  const std::string good(26, 'a');
  REQUIRE(Nonce::parse(good));
  for (const std::string& text :
       {std::string(), good.substr(1), good + "a", "A" + good.substr(1), "1" + good.substr(1),
        good.substr(1) + "b", good.substr(1) + "=", " " + good.substr(1)}) {
    const auto nonce = Nonce::parse(text);
    CHECK((!nonce && nonce.error().code == Code::invalid));
  }
  CHECK(Nonce::parse(good.substr(1) + "e"));  // the two unused bits are 0
}

TEST_CASE("a secret prints as three stars and turns into no text by itself") {
  const Secret secret(std::string("canary-5f1d"));
  std::ostringstream out;
  out << secret;
  CHECK(out.str() == "***");
  CHECK(secret.reveal() == "canary-5f1d");
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Secret, std::string_view>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Secret, std::string>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Secret>);
}

TEST_CASE("a secret compares by content") {
  const Secret secret(std::string("canary"));
  CHECK(secret.equals("canary"));
  CHECK_FALSE(secret.equals("canarY"));
  CHECK_FALSE(secret.equals("canary "));
  CHECK(Secret().equals(""));
  CHECK(Secret().is_empty());
  CHECK(secret.copy().equals("canary"));
}

// The object's own bytes, with those of a short string inside it.
class Storage {
 public:
  Secret* make(std::string text) { return new (bytes_.data()) Secret(std::move(text)); }
  [[nodiscard]] bool holds(std::string_view text) const {
    return std::string_view(bytes_.data(), bytes_.size()).find(text) != std::string_view::npos;
  }

 private:
  alignas(Secret) std::array<char, sizeof(Secret)> bytes_{};
};

TEST_CASE("a short secret leaves nothing behind when it moves or goes") {
  Storage from;
  Secret* secret = from.make("canary-7");
  REQUIRE(from.holds("canary-7"));

  Secret moved(std::move(*secret));
  CHECK(moved.equals("canary-7"));
  CHECK_FALSE(from.holds("anary-7"));

  *secret = std::move(moved);
  CHECK(from.holds("canary-7"));
  CHECK(moved.is_empty());  // NOLINT(bugprone-use-after-move)
  secret->~Secret();
  CHECK_FALSE(from.holds("anary-7"));
}

TEST_CASE("a long secret moves whole") {
  Secret secret(std::string(1000, 'x'));
  Secret target(std::string("before"));
  target = std::move(secret);
  CHECK(target.equals(std::string(1000, 'x')));
  CHECK(secret.is_empty());  // NOLINT(bugprone-use-after-move)
  Secret& itself = target;
  target = std::move(itself);
  CHECK(target.equals(std::string(1000, 'x')));
}

}  // namespace
}  // namespace slipway
