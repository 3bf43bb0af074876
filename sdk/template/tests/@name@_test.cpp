// SPDX-License-Identifier: Apache-2.0
// @name@_test.cpp - the provider without host and network: each test says which requests
// it expects, and what the cloud answers.
#include <slipway/testing.hpp>

#include <catch2/catch.hpp>

using namespace slipway;

namespace {

const json::value kSettings = {{"region", "eu-1"}, {"token", "@name@-token"}};

StartRequest start_request() {
  StartRequest request;
  request.nonce = "n1";
  request.name = "web-0";
  request.marker = {{"slipway-owner", "o1"}};
  request.type = "s1";
  request.image = "img-debian-12";
  request.zone = "eu-1a";
  request.user_data = {"#cloud-config"};
  return request;
}

}  // namespace

TEST_CASE("settings that are missing are named") {
  testing::FakeHost host;
  testing::Plugin plugin(host, {{"region", ""}});
  REQUIRE(plugin.error());
  CHECK(plugin.error()->code == Code::invalid);
  CHECK(plugin.error()->message.find("region: is required; token: is required") == 0);
}

TEST_CASE("a probe says whose account it is and how much is left") {
  testing::FakeHost host;
  host.expect("GET", "/account")
      .bearer("@name@-token")
      .reply(200, {{"name", "dev"}, {"server_limit", 20}, {"servers", 2}, {"zones", {"eu-1a", "eu-1b"}}});
  testing::Plugin plugin(host, kSettings);
  const auto probed = plugin.call(ProbeRequest{});
  REQUIRE(probed);
  CHECK(probed->account == "dev");
  CHECK(probed->quotas == std::vector<Quota>{{"servers", 20, 2}});
  CHECK(host.problems() == "");
}

TEST_CASE("a start is one request that bears the nonce and the marker") {
  testing::FakeHost host;
  host.expect("POST", "/servers")
      .once()
      .header("Idempotency-Key", "n1")
      .json_has("/name", "web-0")
      .json_has("/labels/slipway-owner", "o1")
      .json_has("/user_data", "I2Nsb3VkLWNvbmZpZw==")
      .reply(201, {{"id", "srv-1"}, {"name", "web-0"}, {"status", "creating"}});
  testing::Plugin plugin(host, kSettings);
  const auto started = plugin.call(start_request());
  REQUIRE(started);
  CHECK(started->instance.id == "srv-1");
  CHECK(started->instance.state == State::building);
  CHECK(host.problems() == "");
}

TEST_CASE("a refusal says how far it reaches and that nothing was made") {
  testing::FakeHost host;
  testing::Plugin plugin(host, kSettings);
  host.expect("POST", "/servers")
      .reply(403, {{"code", "quota_exceeded"},
                   {"message", "no more servers"},
                   {"resource", "servers"},
                   {"limit", 20},
                   {"used", 20}});
  const Error quota = plugin.call(start_request()).error();
  CHECK(quota.code == Code::exhausted);
  CHECK(quota.scope == Scope::account);
  CHECK(quota.quota == Quota{"servers", 20, 20});
  CHECK(quota.outcome == Outcome::rejected);
  host.expect("POST", "/servers").reply(409, {{"code", "no_capacity"}, {"message", "eu-1a is full"}});
  CHECK(plugin.call(start_request()).error().scope == Scope::zone);
  host.expect("POST", "/servers").status(429).retry_after(7s);
  CHECK(plugin.call(start_request()).error().retry_after_ms == 7000);
}

TEST_CASE("without an answer it is unknown whether there is a server") {
  testing::FakeHost host;
  testing::Plugin plugin(host, kSettings);
  host.expect("POST", "/servers").drop_after_request();
  CHECK(plugin.call(start_request()).error().outcome == Outcome::unknown);
  host.expect("POST", "/servers").reply_text(201, "<html>");
  CHECK(plugin.call(start_request()).error().outcome == Outcome::unknown);
  host.expect("POST", "/servers").delay(20s);
  CHECK(plugin.call(start_request(), {.deadline = 5s}).error().outcome == Outcome::unknown);
}

TEST_CASE("a list is by owner and one page") {
  testing::FakeHost host;
  host.expect("GET", "/servers")
      .query("label.slipway-owner", "o1")
      .query("after", "srv-0")
      .reply(200, {{"servers", {{{"id", "srv-1"}, {"status", "active"}, {"public_ip", "192.0.2.1"}}}},
                   {"next", "srv-1"}});
  testing::Plugin plugin(host, kSettings);
  ListRequest request;
  request.owner = {{"slipway-owner", "o1"}};
  request.page = "srv-0";
  const auto page = plugin.call(request);
  REQUIRE(page);
  REQUIRE(page->items.size() == 1);
  CHECK(page->items[0].state == State::running);
  CHECK(page->items[0].addresses[0].value == "192.0.2.1");
  CHECK(page->next_page == "srv-1");
  CHECK(host.problems() == "");
}

TEST_CASE("a stop counts what is gone as stopped, each id by itself") {
  testing::FakeHost host;
  host.expect("DELETE", "/servers/srv-1").status(204);
  host.expect("DELETE", "/servers/srv-2").status(404);
  host.expect("DELETE", "/servers/srv-3").reply(409, {{"code", "locked"}, {"message", "srv-3 is locked"}});
  testing::Plugin plugin(host, kSettings);
  StopRequest request;
  request.ids = {"srv-1", "srv-2", "srv-3"};
  const auto stopped = plugin.call(request);
  REQUIRE(stopped);
  REQUIRE(stopped->results.size() == 3);
  CHECK_FALSE(stopped->results[0].error);
  CHECK_FALSE(stopped->results[1].error);
  CHECK(stopped->results[2].error->code == Code::conflict);
  CHECK(host.problems() == "");
}
