// SPDX-License-Identifier: Apache-2.0
// http_test.cpp - requests as the host gets them, what their ends prove, pages; and that the scripted cloud
// of testing.hpp tells what did not come as expected.
#include "unit/sdk/script.hpp"

#include <slipway/http.hpp>

#include <catch2/catch.hpp>

namespace {

using namespace slipway;
using testing::client;
using testing::FakeHost;
using testing::in_method;

HttpReply reply_of(std::uint32_t status, std::string body = {}) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  reply.request = "POST https://x.example/servers";
  return reply;
}

struct Server {
  std::string id;
  static constexpr std::array required{std::string_view("id")};
};
BOOST_DESCRIBE_STRUCT(Server, (), (id))

}  // namespace

TEST_CASE("a request reaches the host as it was built", "[sdk]") {
  FakeHost host;
  in_method(
      host,
      [&](Call& call, Host& services) {
        const HttpClient http = services.http({.base_url = "https://cloud.example/v2/",
                                               .user = "me",
                                               .password = {"pw"},
                                               .headers = {{"X-All", "1"}},
                                               .timeout = 7s,
                                               .connect_timeout = 500ms});
        host.expect("PATCH", "https://cloud.example/v2/servers/a%2Fb?q=a%20%26%C3%A4&n=7&deep=true");
        const auto sent = http.patch("/servers/" + segment("a/b"))
                              .query("q", "a &\u00e4")
                              .query("n", 7)
                              .query("deep", true)
                              .query("empty", "")
                              .query("absent", std::optional<int>())
                              .header("X-One", "2")
                              .json({{"name", "web"}, {"count", 2}})
                              .once()
                              .send(call);
        REQUIRE(sent);
        host.expect("PUT", "/raw");
        REQUIRE(http.put("raw")
                    .bytes(std::string("\0\xff", 2), "application/x")
                    .timeout(1s)
                    .not_after_ns(5)
                    .send(call)
                    .has_value() == false);
      },
      {}, 3'600'000'000'001);
  const auto requests = host.requests();
  REQUIRE(requests.size() == 2);
  const HttpCallRequest& first = requests[0];
  CHECK(first.auth.user == "me");
  CHECK(first.auth.password.value == "pw");
  CHECK(first.timeout_ms == 7000);
  CHECK(first.connect_timeout_ms == 500);
  CHECK(first.body == R"({"name":"web","count":2})");
  CHECK(first.once);
  CHECK(first.not_after_ns == 3'600'000'000'001);  // the method's own
  REQUIRE(first.headers.size() == 3);
  CHECK(first.headers[0].name == "X-All");
  CHECK(first.headers[2].value == "application/json");
  const HttpCallRequest& second = requests[1];
  CHECK(second.body_base64->data == std::string("\0\xff", 2));
  CHECK(second.timeout_ms == 1000);
  CHECK_FALSE(second.once);
  CHECK(second.not_after_ns == 5);
  CHECK(host.problems() == "expected and did not come: PUT /raw\n");  // it was too late to be sent
}

TEST_CASE("an error says whether the cloud may have got the request", "[sdk]") {
  FakeHost host;
  host.expect("POST", "/servers").drop_after_request();
  host.expect("POST", "/servers").drop_before_request();
  host.expect("POST", "/servers").delay(11s);
  in_method(host, [&](Call& call, Host& services) {
    const auto post = [&] { return client(services).post("servers").once().send(call).error(); };
    CHECK(post().outcome == Outcome::unknown);
    CHECK(post().outcome == Outcome::rejected);
    const Error late = post();
    CHECK(late.message == "no reply within 10000 ms");
    CHECK(late.outcome == Outcome::unknown);
    CHECK(host.now_ns() == 3'610'000'000'000);
  });
  in_method(host,
            [&](Call& call, Host& services) {
              host.expect("POST", "/servers").cancel_call();
              const Error error = client(services).post("servers").once().send(call).error();
              CHECK(error.code == Code::cancelled);
              CHECK(error.outcome == Outcome::unknown);
              CHECK(call.cancelled());
            },
            {});
  CHECK(host.problems().empty());
}

TEST_CASE("an unreadable success of once() leaves open what was made", "[sdk]") {
  HttpReply reply = reply_of(201, "<html>");
  reply.is_once = true;
  const Error error = reply.decode<Server>().error();
  CHECK(error.code == Code::unavailable);
  CHECK(error.outcome == Outcome::unknown);
  CHECK(error.message.find(
            "POST https://x.example/servers was answered with 201 and a body that cannot be read, "
            "so it is unknown what was made: document: not JSON") == 0);
  reply.body = R"({"name":"x"})";
  CHECK(reply.decode<Server>().error().message.find("what was made: id: is required") != std::string::npos);
  reply.is_once = false;
  CHECK(reply.decode<Server>().error().message.find("what was made") == std::string::npos);
  CHECK(reply.decode_or<Server>({"none"}).id == "none");
  reply.body = R"({"id":"a","more":1})";
  CHECK(reply.decode<Server>()->id == "a");
  CHECK(reply.json()->at("more") == json::value(1));
}

TEST_CASE("a status becomes the code that the core acts on, and rejected only with proof", "[sdk]") {
  struct Row {
    std::uint32_t status;
    std::optional<std::chrono::milliseconds> retry_after;
    Code code;
    Outcome outcome;
  };
  const auto row = GENERATE(values<Row>({
      {400, {}, Code::invalid, Outcome::rejected},
      {401, {}, Code::unauthenticated, Outcome::rejected},
      {403, {}, Code::denied, Outcome::rejected},
      {404, {}, Code::not_found, Outcome::rejected},
      {408, {}, Code::unavailable, Outcome::unknown},
      {409, {}, Code::conflict, Outcome::rejected},
      {413, {}, Code::invalid, Outcome::rejected},
      {418, {}, Code::invalid, Outcome::rejected},
      {422, {}, Code::invalid, Outcome::rejected},
      {429, {}, Code::unavailable, Outcome::rejected},
      {429, 3s, Code::unavailable, Outcome::rejected},
      {500, {}, Code::unavailable, Outcome::unknown},
      {502, 1s, Code::unavailable, Outcome::unknown},
      {503, {}, Code::unavailable, Outcome::unknown},
      {503, 2s, Code::unavailable, Outcome::rejected},
      {301, {}, Code::invalid, Outcome::unknown},
      {202, {}, Code::internal, Outcome::unknown},
  }));
  HttpReply reply = reply_of(row.status);
  reply.retry_after = row.retry_after;
  const Error error = http_error(reply, "its words");
  CAPTURE(row.status);
  CHECK(error.code == row.code);
  CHECK(error.outcome == row.outcome);
  CHECK(error.retry_after_ms.has_value() == row.retry_after.has_value());
}

TEST_CASE("an error of a status quotes the cloud", "[sdk]") {
  CHECK(http_error(reply_of(403), "quota").message == "http 403 from POST https://x.example/servers: quota");
  CHECK(http_error(reply_of(500, "oops\n")).message == "http 500 from POST https://x.example/servers: oops?");
  CHECK(http_error(reply_of(500)).message == "http 500 from POST https://x.example/servers");
  HttpReply moved = reply_of(308);
  moved.headers = {{"location", "https://y.example"}};
  CHECK(http_error(moved).message ==
        "http 308 from POST https://x.example/servers: redirects to https://y.example");
}

TEST_CASE("URLs are put together and resolved", "[sdk]") {
  CHECK(detail::join_url("https://x/v2", "a") == "https://x/v2/a");
  CHECK(detail::join_url("https://x/v2//", "//a") == "https://x/v2/a");
  CHECK(detail::join_url("https://x/v2", "") == "https://x/v2");
  CHECK(detail::join_url("https://x/v2", "?a=1") == "https://x/v2?a=1");
  CHECK(detail::join_url("https://x/v2", "https://y/b") == "https://y/b");
  CHECK(detail::resolve_url("https://x/v2/a?b=c", "https://y/z") == "https://y/z");
  CHECK(detail::resolve_url("https://x/v2/a?b=c", "/v3/q?r") == "https://x/v3/q?r");
  CHECK(detail::resolve_url("https://x/v2/a?b=c", "?page=2") == "https://x/v2/a?page=2");
  CHECK(detail::resolve_url("https://x/v2/a?b=c", "b?x") == "https://x/v2/b?x");
  CHECK(detail::resolve_url("https://x", "b") == "https://x/b");
  CHECK(detail::resolve_url("https://x/a", "//y/b") == "https://y/b");
  CHECK(segment("a b/\u00e9~.-_") == "a%20b%2F%C3%A9~.-_");
  CHECK(segment("..") == "%2E%2E");
  const std::string_view links =
      R"(<https://x/?p=1>; rel="prev", <https://x/?p=3>; title="a"; rel="next last")";
  CHECK(detail::link_with_relation(links, "next") == "https://x/?p=3");
  CHECK(detail::link_with_relation(links, "prev") == "https://x/?p=1");
  CHECK(detail::link_with_relation(links, "first").empty());
  CHECK(detail::link_with_relation("<https://x>; rel=next", "next") == "https://x");
  CHECK(detail::link_with_relation("<https://x", "next").empty());
}

TEST_CASE("pages are read until there is no next one", "[sdk]") {
  FakeHost host;
  in_method(host, [&](Call& call, Host& services) {
    const HttpClient http = client(services);
    std::string all;
    const auto by_link = [&](const HttpReply& reply) -> Result<std::string> {
      all += reply.body;
      return reply.next_link();
    };
    host.expect("GET", "/v2/list?limit=2")
        .bearer("token")
        .reply_text(200, "a")
        .reply_header("link", "</v2/list?p=2>; rel=\"next\"");
    host.expect("GET", "https://cloud.example/v2/list?p=2").bearer("token").reply_text(200, "b");
    CHECK(pages(call, http.get("list").query("limit", 2), by_link));
    CHECK(all == "ab");

    const auto by_token = [&](const HttpReply& reply) -> Result<std::string> { return reply.body; };
    host.expect("GET", "/tokens?limit=2").reply_text(200, "t 2");
    host.expect("GET", "/tokens?limit=2&after=t%202").reply_text(200, "");
    CHECK(pages(call, http.get("tokens").query("limit", 2), "after", by_token));

    host.expect("GET", "/loop").reply_text(200, "same").times(2);
    CHECK(pages(call, http.get("loop"), "after", by_token).error().message ==
          "GET https://cloud.example/v2/loop: names the same next page again and again");

    host.expect("GET", "/stop");
    const auto refuse = [&](const HttpReply& reply) -> Result<std::string> { return http_error(reply); };
    CHECK(pages(call, http.get("stop"), refuse).error().code == Code::internal);

    host.cancel_call(call.id());
    CHECK(pages(call, http.get("stop"), refuse).error().code == Code::cancelled);
  });
  CHECK(host.problems().empty());
}

TEST_CASE("the scripted cloud tells what came and what did not", "[sdk]") {
  FakeHost host;
  host.expect("POST", "/servers")
      .header("X-Key", "1")
      .query("zone", "a")
      .bearer("other")
      .json_has("/name", "web")
      .json_has("/deep/x", 1)
      .body_has("needle")
      .once()
      .reply(201, {{"id", "s"}});
  host.expect("GET", "/never");
  in_method(host, [&](Call& call, Host& services) {
    const auto made = client(services).post("servers").json({{"name", "db"}}).send(call);
    REQUIRE(made);
    CHECK(made->status == 201);
    CHECK(made->header("Content-Type") == "application/json");
    CHECK(client(services).del("servers").send(call).error().code == Code::internal);
  });
  const std::string url = "POST https://cloud.example/v2/servers: ";
  CHECK(host.problems() ==
        url + "header X-Key: expected \"1\", got none\n" +                    //
            url + "query: expected zone=a, which it has not\n" +              //
            url + "bearer: expected the secret \"other\", got \"token\"\n" +  //
            url + "expected it to be marked once()\n" +                       //
            url + "body: expected \"needle\" in it, got \"{\"name\":\"db\"}\"\n" + url +
            "body: /name: expected \"web\", got \"db\"\n" +  //
            url + "body: /deep/x: expected 1, got nothing\n" +
            "came and was not expected: DELETE https://cloud.example/v2/servers (expected: GET /never)\n"
            "expected and did not come: GET /never\n");
}
