// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include "base/random.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace slipway::text {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t kSeed = 20261130;
constexpr std::array<std::string_view, 5> kWords = {"zones", "tags", "cores", "mem", "root-disk"};

TEST_CASE("the nearest candidate is found within a third of the word's length") {
  CHECK(closest("zone", kWords) == "zones");
  CHECK(closest("zoens", kWords) == "zones");  // a swap is one step
  CHECK(closest("cors", kWords) == "cores");
  CHECK(closest("root_disk", kWords) == "root-disk");
  CHECK(closest("rootdsik", kWords) == "root-disk");
  CHECK(closest("zones", kWords) == "zones");
  CHECK_FALSE(closest("spaces", kWords));
  CHECK_FALSE(closest("", kWords));
  CHECK_FALSE(closest("zone", {}));
}

TEST_CASE("of equally near candidates the first one is suggested") {
  const std::array<std::string_view, 3> words = {"cat", "bat", "at"};
  CHECK(closest("rat", words) == "cat");
  CHECK(closest("bat", words) == "bat");
}

TEST_CASE("a suggestion is ready to stand behind a message") {
  CHECK(did_you_mean("zone", kWords) == " (did you mean \"zones\"?)");
  CHECK(did_you_mean("something", kWords).empty());
}

TEST_CASE("text is split at every separator, joined and trimmed") {
  using Parts = std::vector<std::string_view>;
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split(",a,,", ',') == Parts{"", "a", "", ""});
  CHECK(split("", ',') == Parts{""});
  CHECK(join(std::vector<std::string>{"a", "", "c"}, ", ") == "a, , c");
  CHECK(join(std::vector<std::string>{}, ", ").empty());
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
}

TEST_CASE("sizes are read in binary units, fractions rounded up") {
  CHECK(parse_mib("512M").value() == 512);
  CHECK(parse_mib("8G").value() == 8192);
  CHECK(parse_mib("1.5T").value() == 1'572'864);
  CHECK(parse_mib("2P").value() == 2ULL << 30U);
  CHECK(parse_mib("512").value() == 512);
  CHECK(parse_mib("0").value() == 0);
  CHECK(parse_mib("0.5").value() == 1);
  CHECK(parse_mib("0.0001G").value() == 1);
  CHECK(parse_mib("1.0G").value() == 1024);
  CHECK(parse_mib("0.000000001P").value() == 2);
  CHECK(parse_mib("17179869183P").value() == 17'179'869'183ULL << 30U);
  CHECK(parse_mib("18446744073709551615").value() == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("what is no size or does not fit is refused with the value") {
  for (const std::string& text : {""s,
                                  "G"s,
                                  "8g"s,
                                  "8GB"s,
                                  "8 G"s,
                                  " 8G"s,
                                  "-1"s,
                                  "+1"s,
                                  "1."s,
                                  ".5G"s,
                                  "1.5.5G"s,
                                  "1e3"s,
                                  "0x10"s,
                                  "1,5G"s,
                                  "18446744073709551616"s,
                                  "17179869184P"s,
                                  "1.0000000001G"s,
                                  "18446744073709551615.5"s,
                                  "8G\0"s,
                                  "1.-5G"s}) {
    const auto size = parse_mib(text);
    INFO(text);
    REQUIRE_FALSE(size.has_value());
    CHECK(size.error().code == Code::invalid);
    CHECK(size.error().message.find("\"" + text + "\"") != std::string::npos);
  }
}

TEST_CASE("every size is written in a form that reads back as the same") {
  CHECK(format_mib(8192) == "8G");
  CHECK(format_mib(1536) == "1536M");
  CHECK(format_mib(0) == "0M");
  CHECK(format_mib(1ULL << 20U) == "1T");
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t mib = random.u64() >> random.below(64) << random.below(31);
    INFO(mib);
    REQUIRE(parse_mib(format_mib(mib)).value() == mib);
  }
}

TEST_CASE("durations are a whole number and a unit, and read back") {
  CHECK(parse_duration_ms("500ms").value() == 500);
  CHECK(parse_duration_ms("30s").value() == 30'000);
  CHECK(parse_duration_ms("10m").value() == 600'000);
  CHECK(parse_duration_ms("2h").value() == 7'200'000);
  CHECK(parse_duration_ms("90d").value() == 7'776'000'000);
  CHECK(parse_duration_ms("0s").value() == 0);
  for (const char* text : {"", "30", "s", "1.5s", "-1s", "1 s", "1h30m", "30S", "30sec",
                           "99999999999999999999s", "9223372036854775807s"}) {
    INFO(text);
    const auto duration = parse_duration_ms(text);
    CHECK((!duration && duration.error().code == Code::invalid));
  }
  CHECK(format_duration_ms(90'000) == "90s");
  CHECK(format_duration_ms(86'400'000) == "1d");
  CHECK(format_duration_ms(0) == "0ms");
  CHECK(format_duration_ms(-1500) == "-1500ms");
  CHECK(format_utc_ms(1'800'000'000'999) == "2027-01-15T08:00:00Z");
  CHECK(format_utc_ms(0) == "1970-01-01T00:00:00Z");
  CHECK(format_utc_ms(-1) == "1969-12-31T23:59:59Z");
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const auto ms = static_cast<std::int64_t>(random.u64() >> (1 + random.below(63)));
    REQUIRE(parse_duration_ms(format_duration_ms(ms)).value() == ms);
  }
}

TEST_CASE("plain text is valid UTF-8 without controls of any kind") {
  for (const char* text :
       {"", "web-1", "größe", "日本", "\U0001F600", "a b~", "\u00a0", "\uffff", "\U0010ffff"}) {
    INFO(text);
    CHECK(is_plain(text));
    CHECK(escaped(text) == text);
  }
  const std::pair<std::string, const char*> cases[] = {
      {"a\nb", "a\\x0ab"},
      {"\t", "\\x09"},
      {"\0"s, "\\x00"},
      {"\x1b[31m", "\\x1b[31m"},
      {"\x7f", "\\x7f"},
      {"\xc2\x85", "\\u{0085}"},  // C1
      {"\u202e", "\\u{202e}"},    // turns the direction around
      {"\u2066x\u2069", "\\u{2066}x\\u{2069}"},
      {"\u200f", "\\u{200f}"},
      {"\u061c", "\\u{061c}"},
      {"\x80", "\\x80"},           // a stray byte
      {"\xc3", "\\xc3"},           // cut off
      {"\xc0\xaf", "\\xc0\\xaf"},  // longer than needed
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond U+10FFFF
      {"\xff", "\\xff"}};
  for (const auto& [text, wanted] : cases) {
    INFO(wanted);
    CHECK_FALSE(is_plain(text));
    CHECK(escaped(text) == wanted);
  }
}

TEST_CASE("escaped text is plain, and escaping it again changes nothing") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 3000; ++i) {
    std::string text(random.below(24), '\0');
    // Mostly bytes from which UTF-8 is made.
    for (char& c : text)
      c = static_cast<char>(random.below(3) == 0 ? random.below(128) : 0x80 + random.below(128));
    const std::string once = escaped(text);
    REQUIRE(is_plain(once));
    REQUIRE(escaped(once) == once);
    REQUIRE(is_plain(text) == (once == text));
  }
}

TEST_CASE("a name has its characters and length, and the error names the field") {
  CHECK(check_name("pool", "a").has_value());
  CHECK(check_name("pool", "0-a-").has_value());
  CHECK(check_name("pool", std::string(63, 'a')).has_value());
  CHECK(check_name("environment", std::string(20, 'a'), 20).has_value());
  for (const std::string& name :
       {""s, "-a"s, "A"s, "a_b"s, "a.b"s, "a b"s, "ä"s, std::string(64, 'a'), "a\0"s}) {
    const auto status = check_name("pool", name);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == Code::invalid);
    CHECK(status.error().message.starts_with("pool: "));
  }
  CHECK_FALSE(check_name("environment", std::string(21, 'a'), 20).has_value());
}

}  // namespace
}  // namespace slipway::text
