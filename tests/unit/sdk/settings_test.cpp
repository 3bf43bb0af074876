// SPDX-License-Identifier: Apache-2.0
// settings_test.cpp - what an operator sets, read by a schema, and how the schema describes itself.
#include <slipway/settings.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <limits>

namespace {

using namespace slipway;

struct Config {
  std::string endpoint = "https://api.example";
  std::string region;
  SecretRef token;
  std::uint16_t port = 443;
  std::int64_t offset = -1;
  double factor = 1.5;
  bool verify = true;
  std::vector<std::string> zones = {"a"};
  std::map<std::string, std::string> labels;
  std::optional<std::uint32_t> retries;
  std::optional<std::string> proxy;
  std::string mode = "fast";
};

Schema<Config> schema() {
  return {
      field("endpoint", &Config::endpoint).doc("base URL"),
      field("region", &Config::region).required().immutable().example("eu-1"),
      secret("token", &Config::token).required().env("CLOUD_TOKEN"),
      field("port", &Config::port).min(1),
      field("offset", &Config::offset).min(-5).max(5),
      field("factor", &Config::factor).max(2),
      field("verify", &Config::verify),
      field("zones", &Config::zones).choices({"a", "b", "c"}),
      field("labels", &Config::labels),
      field("retries", &Config::retries).max(9),
      field("proxy", &Config::proxy),
      field("mode", &Config::mode).choices({"fast", "safe"}),
  };
}

std::string problem(const json::value& settings) {
  json::object all{{"region", "r"}, {"token", "t"}};
  for (const auto& [key, value] : settings.as_object()) all[key] = value;
  const auto config = schema().read(all);
  return config ? "none" : config.error().message;
}

}  // namespace

TEST_CASE("settings are read with their types, from JSON and from text", "[sdk]") {
  const auto typed = schema().read({{"region", "eu"},
                                    {"token", "name"},
                                    {"port", 8443},
                                    {"offset", -5},
                                    {"factor", 2},
                                    {"verify", false},
                                    {"zones", {"b", "c"}},
                                    {"labels", {{"k", "v"}, {"x", ""}}},
                                    {"retries", 3}});
  const auto text = schema().read({{"region", "eu"},
                                   {"token", "name"},
                                   {"port", "8443"},
                                   {"offset", "-5"},
                                   {"factor", "2"},
                                   {"verify", "false"},
                                   {"zones", "b,c"},
                                   {"labels", "k=v,x="},
                                   {"retries", "3"},
                                   {"proxy", ""}});
  for (const auto* config : {&typed, &text}) {
    REQUIRE(*config);
    const Config& c = **config;
    CHECK(c.endpoint == "https://api.example");
    CHECK(c.region == "eu");
    CHECK(c.token.value == "name");
    CHECK(c.port == 8443);
    CHECK(c.offset == -5);
    CHECK(c.factor == 2);
    CHECK_FALSE(c.verify);
    CHECK(c.zones == std::vector<std::string>{"b", "c"});
    CHECK(c.labels == std::map<std::string, std::string>{{"k", "v"}, {"x", ""}});
    CHECK(c.retries == 3U);
    CHECK_FALSE(c.proxy.has_value());
  }
}

TEST_CASE("every problem of the settings is told at once, by name", "[sdk]") {
  const auto config = schema().read({{"regoin", "eu"}, {"port", "x"}, {"verify", 1}, {"mode", "safe"}});
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::invalid);
  CHECK(config.error().outcome == Outcome::rejected);
  CHECK(config.error().message ==
        "region: is required; token: is required (setting token, or CLOUD_TOKEN); port: expected an unsigned "
        "integer, got a string; verify: expected a boolean, got an integer; regoin: unknown setting (did you "
        "mean \"region\"?)");
}

TEST_CASE("a setting that does not fit says what was expected and what came", "[sdk]") {
  CHECK(problem({{"port", 0}}) == "port: expected at least 1, got 0");
  CHECK(problem({{"port", 65536}}) == "port: is out of range");
  CHECK(problem({{"port", "65536"}}) == "port: is out of range");
  CHECK(problem({{"port", -1}}) == "port: is out of range");
  CHECK(problem({{"offset", 6}}) == "offset: expected at most 5, got 6");
  CHECK(problem({{"factor", "2.5"}}) == "factor: expected at most 2, got 2.5");
  CHECK(problem({{"factor", "2x"}}) == "factor: expected a number, got a string");
  CHECK(problem({{"factor", "inf"}}) == "factor: is out of range");
  CHECK(problem({{"verify", "yes"}}) == "verify: expected a boolean, got a string");
  CHECK(problem({{"zones", {"a", "d"}}}) ==
        "zones: expected one of a, b, c, got \"d\" (did you mean \"a\"?)");
  CHECK(problem({{"zones", {1}}}) == "zones[0]: expected a string, got an integer");
  CHECK(problem({{"labels", "novalue"}}) == "labels: expected an object, got a string");
  CHECK(problem({{"labels", {{"a", 1}}}}) == "labels.a: expected a string, got an integer");
  CHECK(problem({{"retries", 10}}) == "retries: expected at most 9, got 10");
  CHECK(problem({{"mode", "sfae"}}) ==
        "mode: expected one of fast, safe, got \"sfae\" (did you mean \"safe\"?)");
  CHECK(problem({{"region", ""}}) == "region: is required");
  CHECK(problem({{"region", nullptr}}) == "region: is required");
  CHECK(problem({{"port", nullptr}}) == "none");
  CHECK(schema().read(json::array()).error().message == "settings: expected an object, got an array");
}

TEST_CASE("a schema describes its settings with their defaults", "[sdk]") {
  const auto infos = schema().infos();
  REQUIRE(infos.size() == 12);
  CHECK(infos[0].default_value == json::value("https://api.example"));
  CHECK(infos[0].doc == "base URL");
  CHECK(infos[1].required);
  CHECK(infos[1].immutable);
  CHECK(infos[1].example == "eu-1");
  CHECK(infos[1].default_value.is_null());
  CHECK(infos[2].secret);
  CHECK(infos[2].env == "CLOUD_TOKEN");
  CHECK(infos[2].type == SettingType::text);
  CHECK(infos[3].type == SettingType::integer);
  CHECK(infos[3].min == 1);
  CHECK(infos[5].type == SettingType::number);
  CHECK(infos[6].default_value == json::value(true));
  CHECK(infos[7].type == SettingType::list);
  CHECK(infos[7].choices.size() == 3);
  CHECK(infos[8].type == SettingType::map);
  CHECK(infos[8].default_value.is_null());
  CHECK(infos[9].type == SettingType::integer);
  CHECK(infos[9].default_value.is_null());
}
