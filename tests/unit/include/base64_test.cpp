// SPDX-License-Identifier: Apache-2.0
#include <slipway/base64.hpp>

#include <catch2/catch.hpp>

#include <random>

using namespace slipway;  // NOLINT(google-build-using-namespace): a test

TEST_CASE("base64 gives the vectors of RFC 4648 and takes back exactly what it gave") {
  for (const auto& [bytes, text] : {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
                                    std::pair("foo", "Zm9v"), std::pair("foobar", "Zm9vYmFy")}) {
    CHECK(base64(bytes) == text);
    CHECK(parse_base64(text).value() == bytes);
  }
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random() % 100, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    REQUIRE(parse_base64(base64(bytes)).value() == bytes);
    // Whatever else it takes, it takes only in the one form.
    std::string changed = base64(bytes);
    if (changed.empty()) continue;
    changed[random() % changed.size()] = static_cast<char>(random());
    const auto parsed = parse_base64(changed);
    CHECK((!parsed || base64(*parsed) == changed));
  }
}

TEST_CASE("base64 with white space, without padding or with unused bits set is refused") {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Zh==", " Zg==", "Zg==\n", "Zm9v\n", "Z", "====", "=",
                           "Zm=v", "Zm9_", "Zg==Zg==", "Zm9vZ"}) {
    const auto parsed = parse_base64(text);
    INFO(text);
    CHECK((!parsed && parsed.error().code == Code::invalid));
  }
  CHECK_FALSE(parse_base64(std::string_view("Zm9\0", 4)));
}
