// SPDX-License-Identifier: Apache-2.0
#include "sim_fixture.hpp"

#include <slipway/testing.hpp>

namespace slipway::sim {
namespace {

using testing::FakeHost;
using testing::Plugin;

constexpr const char* kEndpoint = "http://127.0.0.1:9";

std::int64_t now_ms(const FakeHost& host) { return host.now_ns() / 1'000'000; }

}  // namespace

TEST_CASE("the plugin says what it is and offers every method of the messages") {
  FakeHost host;
  const Plugin plugin(host, json::object{});
  const Manifest manifest = plugin.manifest().value();
  CHECK(manifest.name == "sim");
  CHECK(manifest.kinds == std::vector<Kind>{Kind::provider, Kind::network, Kind::storage});
  CHECK_FALSE(manifest.start_is_idempotent);
  CHECK(manifest.methods.size() == boost::mp11::mp_size<PluginRequests>::value);
}

TEST_CASE("a cloud in the plugin lives by the host's clock") {
  FakeHost host;
  Plugin plugin(host,
                {{"script", R"({"boot_ms": 5000})"}, {"latency_ms", 250}, {"zones", {"north", "south"}}});
  const std::int64_t begin = now_ms(host);
  const Instance made = plugin.call(start_request("n1", "south")).value().instance;
  CHECK(now_ms(host) == begin + 250);
  host.advance(std::chrono::seconds(5));
  GetRequest get;
  get.ids = {made.id};
  CHECK(plugin.call(get).value().results.at(0).item->state == State::running);
  CHECK(plugin.call(ZonesRequest{}).value().zones.at(0).name == "north");
  CHECK(host.problems().empty());
}

TEST_CASE("a start whose time has passed is not begun") {
  FakeHost host;
  Plugin plugin(host, json::object{});
  StartRequest request = start_request("n1");
  request.not_after_ns = host.now_ns() - 1;
  const auto late = plugin.call(request);
  REQUIRE_FALSE(late);
  CHECK(late.error().outcome == Outcome::rejected);
  CHECK(plugin.call(ListRequest{}).value().items.empty());
  request.not_after_ns = host.now_ns();
  CHECK(plugin.call(request));
}

TEST_CASE("a call that is given up while the cloud is slow leaves its outcome unknown, and its server") {
  FakeHost host;
  Plugin plugin(host, {{"latency_ms", 1'000}});
  const auto given_up = plugin.call(start_request("n1"), {.deadline = std::chrono::milliseconds(300)});
  REQUIRE_FALSE(given_up);
  CHECK(given_up.error().code == Code::deadline);
  CHECK(given_up.error().outcome == Outcome::unknown);
  CHECK(plugin.call(ListRequest{}).value().items.size() == 1);
}

TEST_CASE("settings that make no cloud are refused by their name, at once and by config.validate") {
  const std::pair<json::value, const char*> rows[] = {
      {{{"script", "{"}}, "script: "},
      {{{"script", R"({"zone": 1})"}}, "script: zone: unknown field"},
      {{{"zones", {"a", "a"}}}, "zones: a is there twice"},
      {{{"endpoint", kEndpoint}, {"script", "{}"}}, "script: is the endpoint's own"},
      {{{"endpoint", kEndpoint}, {"region", "r"}}, "region: is the endpoint's own"}};
  FakeHost host;
  Plugin good(host, json::object{});
  for (const auto& [settings, message] : rows) {
    const Plugin plugin(host, settings);
    INFO(json::serialize(settings));
    REQUIRE(plugin.error());
    CHECK_THAT(plugin.error()->message, Catch::StartsWith(message));
    ConfigValidateRequest request;
    request.new_settings = settings;
    CHECK(good.call(request).value().problems.size() == 1);
  }
  ConfigValidateRequest request;
  request.new_settings = json::object{{"endpoint", kEndpoint}};
  CHECK(good.call(request).value().problems.empty());
}

TEST_CASE("settings are imported from the environment") {
  FakeHost host;
  Plugin plugin(host, json::object{});
  ConfigImportRequest request;
  request.variables = {{"SLIPWAY_SIM_ENDPOINT", kEndpoint}, {"SLIPWAY_SIM_SPEED", "9"}, {"HOME", "/"}};
  const auto reply = plugin.call(request).value();
  REQUIRE(reply.settings.size() == 1);
  CHECK(reply.settings[0].name == "endpoint");
  CHECK(reply.settings[0].value == kEndpoint);
  CHECK(reply.settings[0].source == "SLIPWAY_SIM_ENDPOINT");
  CHECK(reply.notes.size() == 1);
}

TEST_CASE("with an endpoint a call goes there, what makes something at most once") {
  FakeHost host;
  Plugin plugin(host, {{"endpoint", kEndpoint}, {"token", "sim-token"}});
  host.expect("POST", "/v1/instances.start/1")
      .json_has("/nonce", "n1")
      .reply(200, {{"instance", {{"id", "srv-1"}}}});
  StartRequest request = start_request("n1");
  request.not_after_ns = host.now_ns() + 5;
  CHECK(plugin.call(request).value().instance.id == "srv-1");
  host.expect("POST", "/v1/instances.list/1").reply(200, {{"items", json::array{}}, {"complete", false}});
  CHECK_FALSE(plugin.call(ListRequest{}).value().complete);
  const auto sent = host.requests();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].once);
  CHECK(sent[0].not_after_ns == request.not_after_ns);
  CHECK(sent[0].auth.bearer.value == "sim-token");
  CHECK_FALSE(sent[1].once);
  CHECK(host.problems().empty());
}

TEST_CASE("what the endpoint says of a refusal arrives whole, and what is no refusal goes by its status") {
  FakeHost host;
  Plugin plugin(host, {{"endpoint", kEndpoint}});
  const Error full =
      fail(Code::exhausted, "quota of instances").scope(Scope::account).quota("instances", 5, 5).rejected();
  host.expect("POST", "/v1/instances.start/1").reply(409, {{"error", to_json(full)}});
  Error got = plugin.call(start_request("n1")).error();
  CHECK(got.code == Code::exhausted);
  CHECK(got.scope == Scope::account);
  CHECK(got.quota == full.quota);
  CHECK(got.outcome == Outcome::rejected);
  CHECK_THAT(got.message, Catch::StartsWith("http 409 from POST") && Catch::EndsWith("quota of instances"));
  host.expect("POST", "/v1/instances.start/1").reply(502, "bad gateway");
  got = plugin.call(start_request("n1")).error();
  CHECK(got.code == Code::unavailable);
  CHECK(got.outcome == Outcome::unknown);
  host.expect("POST", "/v1/instances.start/1").reply(200, json::object{});  // accepted, and no id
  got = plugin.call(start_request("n1")).error();
  CHECK(got.code == Code::unavailable);
  CHECK(got.outcome == Outcome::unknown);
}

}  // namespace slipway::sim
