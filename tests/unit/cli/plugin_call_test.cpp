// SPDX-License-Identifier: Apache-2.0
// plugin_call_test.cpp - `slipway plugin call` on a plugin that runs, and the config file that it reads.
#include "desk.hpp"
#include "plugin/standalone.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>

namespace slipway::cli {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using plugin::PluginConfig;
using plugin::read_plugin_config;
using slipway::testing::tiny_manifest;
using slipway::testing::write_text;
using testing::Desk;
using testing::Ended;

// `slipway plugin call PROBE METHOD --body BODY MORE`.
Ended called(Desk& desk, const std::string& method, const std::string& body = "{}",
             const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"plugin", "call", SLIPWAY_PROBE_PLUGIN, method, "--body", body};
  words.insert(words.end(), more.begin(), more.end());
  return desk.slipway(words);
}

// What the cloud's plugin of these cases can be told.
Manifest cloud_manifest() {
  Manifest manifest = tiny_manifest();
  manifest.settings.front().env = "CLOUD_ENDPOINT";
  const auto add = [&](const char* name, SettingType type, bool is_secret = false) {
    SettingInfo& setting = manifest.settings.emplace_back();
    setting.name = name;
    setting.type = type;
    setting.secret = is_secret;
  };
  add("api_token", SettingType::text, true);
  manifest.settings.back().env = "CLOUD_TOKEN";
  add("zones", SettingType::list);
  add("labels", SettingType::map);
  add("catalogue_url", SettingType::text);
  manifest.settings.back().default_value = "https://catalogue.test";
  return manifest;
}

Result<PluginConfig> read(std::string_view text, const std::map<std::string, std::string>& variables = {}) {
  return read_plugin_config(text, cloud_manifest(),
                            [&](const std::string& name) -> std::optional<std::string> {
                              const auto found = variables.find(name);
                              return found == variables.end() ? std::nullopt : std::optional(found->second);
                            });
}

std::string refusal(std::string_view text) {
  const auto config = read(text);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::invalid);
  return config.error().message;
}

}  // namespace

TEST_CASE("a method is called in a process of its own, and its reply printed") {
  Desk desk;
  const Ended echoed = called(desk, "test.echo/1", R"({"text":"hi"})");
  INFO(echoed.err);
  CHECK(echoed.code == 0);
  CHECK_THAT(echoed.out, StartsWith("test.echo/1: {") && Contains("\"text\": \"hi\""));
  CHECK_THAT(echoed.err,
             StartsWith("note: " SLIPWAY_PROBE_PLUGIN " is run at your own risk: nothing about its owner "
                        "or signature was checked\n"));
  CHECK_THAT(echoed.err, Contains("\n  0 requests, ") && Contains(" ms, process "));

  write_text("body.json", R"({"text":"from a file"})");
  CHECK(called(desk, "echo", "@body.json", {"-o", "json"}).out == "{\"text\":\"from a file\"}\n");
  CHECK_THAT(called(desk, "tell", R"({"text":"a\u001bb"})").err, Contains("\n  log: a\\x1bb\n"));
}

TEST_CASE("a method's failure is told with all that the core would go by, and ends with 1") {
  Desk desk;
  const Ended refused = called(desk, "die", R"({"how":"gently"})");
  CHECK(refused.code == 1);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err,
             Contains("\nerror: how: unknown value gently\n  code invalid, scope request, outcome "));
  const Ended late = called(desk, "nap", R"({"ms":60000})", {"--timeout", "0"});
  CHECK(late.code == 1);
  CHECK_THAT(late.err, Contains("  code deadline, scope request, outcome "));
}

TEST_CASE("a plugin that crashes is one failed call, and this process lives") {
  Desk desk;
  const Ended died = called(desk, "die", R"({"how":"abort"})");
  CHECK(died.code == 1);
  CHECK_THAT(died.err, Contains("\nerror: ") && Contains("outcome unknown"));
}

TEST_CASE("settings come from the config file, and a plugin that refuses them says why") {
  Desk desk;
  write_text("dev.conf", "# where\nregion = nowhere\n");
  const Ended refused = called(desk, "echo", "{}", {"--config", "dev.conf"});
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Contains("no such region: nowhere"));
  write_text("dev.conf", "# where\n\nregon = eu-1\n");
  const Ended unknown = called(desk, "echo", "{}", {"--config", "dev.conf"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err ==
        "error: dev.conf: line 3: probe has no setting regon (did you mean \"region\"?)\n"
        "see: slipway plugin call --help\n");
  CHECK(called(desk, "echo", "{}", {"--config", "none.conf"}).code == 4);
}

TEST_CASE("a method that is not said clearly is not called") {
  Desk desk;
  Manifest manifest = tiny_manifest();
  manifest.methods = {"addresses.list/1", "addresses.release/1", "instances.list/1", "subnets.release/1"};
  desk.write_tiny(manifest);
  const Ended either = desk.slipway("plugin call tiny/tiny.so release");
  CHECK(either.code == 2);
  CHECK_THAT(either.err,
             StartsWith("error: METHOD: release may be addresses.release/1, subnets.release/1\n"));
  const Ended unknown = desk.slipway("plugin call tiny/tiny.so instances.lisst");
  CHECK(unknown.code == 2);
  CHECK(unknown.err ==
        "error: METHOD: tiny has no method instances.lisst (did you mean \"instances.list\"?)\n"
        "see: slipway plugin show tiny\n");
  CHECK(desk.slipway("plugin call tiny/none.so probe").code == 4);
  CHECK_FALSE(desk.was_code_run());
}

TEST_CASE("a config file gives settings by type, secrets apart, and endpoints") {
  Desk desk;
  write_text("token", "s3cret\n");
  const auto config = read(
      "  endpoint = https://api.test/v2  \r\n"
      "api-token=@token\n"
      "zones = [\"a\", \"b\"]\n"
      "labels = {\"k\": \"v = w\"}\n");
  REQUIRE(config);
  CHECK(config->settings.at("endpoint") == "https://api.test/v2");
  CHECK(config->settings.at("api_token") == "api_token");
  CHECK(config->settings.at("zones").as_array().size() == 2);
  CHECK(config->settings.at("labels").at("k") == "v = w");
  CHECK_FALSE(config->settings.contains("catalogue_url"));
  CHECK(config->secrets == std::map<std::string, std::string>{{"api_token", "s3cret"}});
  REQUIRE(config->http.endpoints.size() == 2);
  CHECK(config->http.endpoints[0].setting == "endpoint");
  CHECK(config->http.endpoints[0].url == "https://api.test/v2");
  CHECK(config->http.endpoints[1].url == "https://catalogue.test");
  CHECK_FALSE(config->http.is_http_allowed);
  CHECK(config->http.networks.empty());
}

TEST_CASE("an environment variable stands in for what a config file does not say") {
  const std::map<std::string, std::string> variables{{"CLOUD_ENDPOINT", "https://env.test"},
                                                     {"CLOUD_TOKEN", "from-env"}};
  const auto config = read("endpoint = https://file.test\n", variables);
  REQUIRE(config);
  CHECK(config->settings.at("endpoint") == "https://file.test");
  CHECK(config->secrets.at("api_token") == "from-env");
  CHECK(read("", variables)->settings.at("endpoint") == "https://env.test");
  CHECK(read("")->settings.empty());
}

TEST_CASE("a config file says where plain http and private networks are allowed") {
  const auto config = read(
      "endpoint-http = allow\nendpoint-networks = 127.0.0.0/8, fd00::/8\n"
      "endpoint-ca = ca.pem\nendpoint-proxy = http://proxy.test:3128\n");
  REQUIRE(config);
  CHECK(config->http.is_http_allowed);
  CHECK(config->http.networks == std::vector<std::string>{"127.0.0.0/8", "fd00::/8"});
  CHECK(config->http.ca_file == "ca.pem");
  CHECK(config->http.proxy == "http://proxy.test:3128");
  CHECK(config->http.endpoints.size() == 1);  // the catalogue's: none of these is a setting of the plugin
  CHECK_FALSE(read("endpoint_http = refuse\n")->http.is_http_allowed);
  CHECK(refusal("endpoint-http = yes\n") == "line 1: endpoint-http: expected allow or refuse, got yes");
}

TEST_CASE("a config file that cannot be right is refused with the line") {
  Desk desk;
  CHECK(refusal("endpoint\n") == "line 1: expected NAME = VALUE, got endpoint");
  CHECK(refusal("\n= x\n") == "line 2: expected NAME = VALUE, got = x");
  CHECK(refusal("api-token = a\n# b\napi_token = c") == "line 3: api_token stands twice");
  CHECK(refusal("zones = a, b") == "line 1: zones: expected a list as JSON, got a, b");
  CHECK(refusal("\nlabels = []") == "line 2: labels: expected a map as JSON, got []");
  CHECK(refusal("zzz = 1\nendpont = 2\n") == "line 1: tiny has no setting zzz");
  CHECK(refusal("endpont = 2") == "line 1: tiny has no setting endpont (did you mean \"endpoint\"?)");
  const auto missing = read("\napi-token = @token\n");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK_THAT(missing.error().message, StartsWith("line 2: api_token: ") && Contains("token"));
}

}  // namespace slipway::cli
