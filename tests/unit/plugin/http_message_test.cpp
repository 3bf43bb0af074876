// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_budget.hpp"
#include "plugin/http_reply.hpp"
#include "plugin/http_request.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace slipway::plugin {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class Secrets final : public SecretSource {
 public:
  Result<Secret> secret(std::string_view name) override {
    const auto found = values.find(std::string(name));
    if (found == values.end()) return fail(Code::not_found, "no secret {}", name);
    return Secret(found->second);
  }
  std::map<std::string, std::string> values = {{"token", "s3cr3t-t0ken"},
                                               {"password", "pa\"ss\\wd\n\x01\xC3\xA9"},
                                               {"from_file", "value\n"},
                                               {"binary", "\xFF\xFE"},
                                               {"plain", "pass word"}};
};

struct Fixture {
  Secrets secrets;
  std::shared_ptr<const HttpScope> scope = make();

  std::shared_ptr<const HttpScope> make() {
    HttpScopeSettings settings;
    settings.endpoints = {{"endpoint", "https://api.example/v2"}};
    auto made = HttpScope::make(settings, secrets);
    if (!made) FAIL(made.error().message);
    return *made;
  }
  static HttpCallRequest get(std::string path = "/v2/servers") {
    HttpCallRequest request;
    request.url = "https://api.example" + path;
    return request;
  }
  PreparedRequest good(const HttpCallRequest& request) const {
    auto prepared = prepare(request, *scope);
    if (!prepared) FAIL(prepared.error().message);
    return *std::move(prepared);
  }
  Error bad(const HttpCallRequest& request) const {
    auto prepared = prepare(request, *scope);
    if (prepared) FAIL("it was taken");
    CHECK(prepared.error().outcome == Outcome::rejected);
    for (const auto& [name, value] : secrets.values)
      CHECK(prepared.error().message.find(value) == std::string::npos);
    return prepared.error();
  }
};

std::vector<std::string> lines(const PreparedRequest& request) {
  std::vector<std::string> out;
  for (const Secret& line : request.header_lines) out.emplace_back(line.reveal());
  return out;
}

TEST_CASE_METHOD(Fixture, "secrets are put in where a request names them") {
  auto request = get();
  request.auth.bearer = {"token"};
  request.headers = {
      {"X-Plain", "  a b "}, {"X-Key", "key=${secret:token};${secret:plain}!"}, {"X-Empty", ""}};
  request.secrets = {{"token"}, {"plain"}};
  CHECK(lines(good(request)) == std::vector<std::string>{"X-Plain: a b", "X-Key: key=s3cr3t-t0ken;pass word!",
                                                         "X-Empty;", "Authorization: Bearer s3cr3t-t0ken"});

  request = get();
  request.auth.user = "demo";
  request.auth.password = {"plain"};
  CHECK(lines(good(request)) == std::vector<std::string>{"Authorization: Basic ZGVtbzpwYXNzIHdvcmQ="});

  request = get();
  request.verb = "POST";
  request.secrets = {{"token"}, {"password"}};
  request.body = R"({"password":"${secret:password}","again":"${secret:token}","cost":"$5 {secret:x}"})";
  CHECK(good(request).body.reveal() ==
        "{\"password\":\"pa\\\"ss\\\\wd\\u000a\\u0001\xC3\xA9\",\"again\":\"s3cr3t-t0ken\","
        "\"cost\":\"$5 {secret:x}\"}");

  request.body.clear();
  request.body_base64 = Bytes{std::string("${secret:token}\0\xFF", 17)};
  CHECK(good(request).body.reveal() ==
        std::string_view("${secret:token}\0\xFF", 17));  // bytes stay as they are
}

TEST_CASE_METHOD(Fixture, "text that somebody else wrote into a request draws no secret in") {
  auto request = get();
  request.verb = "POST";
  request.secrets = {{"password"}};
  const std::string user_data = R"({"user_data":"${secret:token} ${secret: ${secret:}","p":")";
  request.body = user_data + R"(${secret:password}"})";
  request.headers = {{"X-Name", "${secret:token}"}};
  const auto prepared = good(request);
  CHECK(prepared.body.reveal().starts_with(user_data));
  CHECK(prepared.body.reveal().find("password") == std::string::npos);
  CHECK(lines(prepared) == std::vector<std::string>{"X-Name: ${secret:token}"});
}

TEST_CASE_METHOD(Fixture, "a secret that is missing or may not go there is refused by its name") {
  auto request = get();
  request.auth.bearer = {"tokne"};
  CHECK(bad(request).code == Code::invalid);
  CHECK_THAT(bad(request).message, Catch::Contains("auth.bearer") && Catch::Contains("\"tokne\""));

  request = get();
  request.verb = "POST";
  request.secrets = {{"nope"}, {"binary"}};
  request.body = "${secret:nope}";
  CHECK(bad(request).code == Code::invalid);
  request.body = "${secret:binary}";
  CHECK_THAT(bad(request).message, Catch::Contains("not UTF-8"));

  for (const char* elsewhere :
       {"https://evil.example/v2", "https://api.example/v1", "https://api.example:8443/v2"}) {
    CAPTURE(elsewhere);
    request = get();
    request.url = elsewhere;
    CHECK(good(request).url.host != "");  // without a secret it may go there
    for (int way = 0; way < 4; ++way) {
      request = get();
      request.url = elsewhere;
      request.verb = "POST";
      request.secrets = {{"token"}};
      if (way == 0) request.auth.bearer = {"token"};
      if (way == 1) request.headers = {{"x", "${secret:token}"}};
      if (way == 2) request.body = "${secret:token}";
      if (way == 3) request.auth = {{}, "u", {"plain"}};
      const Error refused = bad(request);
      CHECK(refused.code == Code::denied);
      CHECK_THAT(refused.message, Catch::Contains("endpoint=https://api.example/v2"));
    }
  }
}

TEST_CASE_METHOD(Fixture, "nothing in a request can end a line or add one") {
  for (const char* value : {"a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x01", "\x7F"}) {
    CAPTURE(value);
    auto request = get();
    request.headers = {{"X-A", value}};
    CHECK_THAT(bad(request).message, Catch::Contains("headers[0].value"));
  }
  for (const char* name : {"", "X A", "X:A", "X\r\nY", "X\xC3\xA9", "Host", "content-length",
                           "Transfer-Encoding", "EXPECT", "Connection"}) {
    CAPTURE(name);
    auto request = get();
    request.headers = {{"ok", "1"}, {name, "1"}};
    CHECK_THAT(bad(request).message, Catch::Contains("headers[1].name"));
  }
  for (const char* verb :
       {"", "get", "GET /x HTTP/1.1\r\n", "G T", "CONNECT", "TRACE", "AVERYLONGVERBINDEED"}) {
    CAPTURE(verb);
    auto request = get();
    request.verb = verb;
    CHECK_THAT(bad(request).message, Catch::Contains("verb"));
  }
  auto request = get();
  request.auth.bearer = {"from_file"};
  CHECK_THAT(bad(request).message, Catch::Contains("control character") && Catch::Contains("from_file"));
  request = get();
  request.secrets = {{"from_file"}};
  request.headers = {{"x", "${secret:from_file}"}};
  CHECK(bad(request).code == Code::invalid);
  request = get();
  request.auth = {{}, "a:b", {"plain"}};
  CHECK_THAT(bad(request).message, Catch::Contains("auth.user"));
}

TEST_CASE_METHOD(Fixture, "members that contradict each other or are out of bounds are named") {
  const auto refused = [&](auto change) {
    auto request = get();
    change(request);
    return bad(request).message;
  };
  CHECK_THAT(refused([](auto& r) { r.body = "x", r.body_base64 = Bytes{"y"}; }), Catch::StartsWith("body"));
  CHECK_THAT(refused([](auto& r) { r.verb = "HEAD", r.body = "x"; }), Catch::StartsWith("body"));
  CHECK_THAT(refused([](auto& r) { r.auth = {{"token"}, "u", {}}; }), Catch::StartsWith("auth"));
  CHECK_THAT(refused([](auto& r) {
               r.auth.bearer = {"token"}, r.headers = {{"Authorization", "x"}};
             }),
             Catch::StartsWith("headers[0]"));
  CHECK_THAT(refused([](auto& r) { r.timeout_ms = 0; }), Catch::StartsWith("timeout_ms"));
  CHECK_THAT(refused([](auto& r) { r.connect_timeout_ms = 3'600'001; }),
             Catch::StartsWith("connect_timeout_ms"));
  CHECK_THAT(refused([](auto& r) { r.not_after_ns = -1; }), Catch::StartsWith("not_after_ns"));
  CHECK_THAT(refused([](auto& r) { r.headers.assign(101, {"a", "b"}); }), Catch::StartsWith("headers"));
  CHECK_THAT(refused([](auto& r) {
               r.headers = {{"a", std::string(70'000, 'x')}};
             }),
             Catch::StartsWith("headers"));
  auto request = get();
  request.max_reply_bytes = ~std::uint64_t{0};
  CHECK(good(request).max_reply_bytes == kMaxHttpReplyBytes);
  CHECK_FALSE(good(request).has_body);
  request.verb = "POST";
  CHECK(good(request).has_body);
}

TEST_CASE("a reply's headers come in lower case and in their order, whatever bytes they were") {
  const auto reply =
      make_reply({200,
                  "HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\nSet-Cookie: a\r\nSET-COOKIE: b\r\n"
                  "X-Folded: one\r\n\t two\r\nX-Latin: caf\xE9\r\nX-Utf8: caf\xC3\xA9\r\nX-Ctl: a\x01z\r\n"
                  "no colon\r\n: no name\r\nbad name: x\r\nX-Empty:\r\n\r\n",
                  "b\xC3\xB6"},
                 0, 12);
  std::vector<std::string> seen;
  for (const auto& header : reply.headers) seen.push_back(header.name + "=" + header.value);
  CHECK(seen == std::vector<std::string>{"content-type=text/plain", "set-cookie=a", "set-cookie=b",
                                         "x-folded=one two", "x-latin=caf\xC3\xA9", "x-utf8=caf\xC3\xA9",
                                         "x-ctl=a z", "x-empty="});
  CHECK(reply.body == "b\xC3\xB6");
  CHECK_FALSE(reply.body_base64);
  CHECK(reply.elapsed_ms == 12);
  CHECK(reply.status == 200);
}

TEST_CASE("a body that is not UTF-8 comes as bytes") {
  for (const char* text : {"", "plain", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CAPTURE(text);
    CHECK(is_utf8(text));
  }
  for (const char* text : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF",
                           "\xE0\xA0", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xFE", "\xE2\x82x"}) {
    CAPTURE(text);
    CHECK_FALSE(is_utf8(text));
    const auto reply = make_reply({200, "", text}, 0, 0);
    CHECK(reply.body.empty());
    REQUIRE(reply.body_base64);
    CHECK(reply.body_base64->data == text);
  }
}

TEST_CASE("Retry-After is read in seconds and in the three forms of a date") {
  constexpr std::int64_t kNow = 784'111'777'000;  // Sun, 06 Nov 1994 08:49:37 GMT
  const auto at = [](std::string_view value) { return parse_retry_after_ms(value, kNow); };
  CHECK(at("120") == 120'000);
  CHECK(at(" 0 ") == 0);
  CHECK(at("Sun, 06 Nov 1994 08:50:07 GMT") == 30'000);
  CHECK(at("Sunday, 06-Nov-94 08:50:07 GMT") == 30'000);
  CHECK(at("Sun Nov  6 08:50:07 1994") == 30'000);
  CHECK(parse_retry_after_ms("Sun, 06 Nov 1994 08:50:07 GMT", kNow + 250) == 29'750);
  CHECK(at("Sun, 06 Nov 1994 08:49:00 GMT") == 0);  // in the past
  CHECK(at("99999999999999999999999999") == 365LL * 86'400'000);
  CHECK(at("Fri, 31 Dec 9999 23:59:59 GMT") == 365LL * 86'400'000);
  for (const char* bad :
       {"", "soon", "-1", "+5", "1.5", "5s", "Sun, 99 Nov 1994 99:99:99 GMT", "1994-11-06T08:50:07Z"})
    CHECK_FALSE(at(bad));
  CHECK(make_reply({429, "Retry-After: 1\r\nretry-after: 3\r\nRetry-After: x\r\n", ""}, kNow, 0)
            .retry_after_ms == 3000);
  CHECK_FALSE(make_reply({429, "X: 1\r\n", ""}, kNow, 0).retry_after_ms);
}

TEST_CASE("a budget shuts until the time that the host gave, and is halved") {
  HttpBudget budget({20, 40});
  for (int i = 0; i < 40; ++i) REQUIRE(budget.try_take(kSecond).is_taken);
  CHECK_FALSE(budget.try_take(kSecond).is_taken);
  CHECK(budget.try_take(kSecond).at_ns == kSecond + kSecond / 20);

  budget.on_reply(200, 5000, kSecond);  // of a success it is the plugin's business
  budget.on_reply(503, std::nullopt, kSecond);
  CHECK(budget.not_before_ns() == 0);
  budget.on_reply(429, 3000, kSecond);
  CHECK(budget.not_before_ns() == 4 * kSecond);
  CHECK_FALSE(budget.try_take(4 * kSecond - 1).is_taken);
  CHECK(budget.try_take(4 * kSecond - 1).at_ns == 4 * kSecond);
  CHECK(budget.try_take(4 * kSecond).is_taken);
  budget.on_reply(503, 1000, 4 * kSecond);
  budget.on_reply(429, std::nullopt, 4 * kSecond);
  CHECK(budget.not_before_ns() == 5 * kSecond);
  budget.on_reply(429, 1LL << 60U, 5 * kSecond);  // believed for an hour
  CHECK(budget.not_before_ns() == 3605 * kSecond);
  CHECK_FALSE(budget.is_as_new(3604 * kSecond));
  CHECK(budget.is_as_new(3606 * kSecond));
}

TEST_CASE("after a 429 half the rate is there, and all of it a minute later") {
  const auto taken_in_a_second = [](HttpBudget& budget, std::int64_t from_ns) {
    int taken = 0;
    for (std::int64_t t = from_ns; t < from_ns + kSecond; t += kSecond / 1000)
      taken += budget.try_take(t).is_taken;
    return taken;
  };
  HttpBudget budget({20, 1});
  CHECK(taken_in_a_second(budget, kSecond) == 20);
  budget.on_reply(429, std::nullopt, 2 * kSecond);
  CHECK(taken_in_a_second(budget, 2 * kSecond) <= 10);
  CHECK(taken_in_a_second(budget, 70 * kSecond) >= 20);
}

TEST_CASE(
    "a budget is one for a credential and a host, and those that are as new are forgotten when there are "
    "many") {
  HttpBudgets budgets({20, 40});
  const auto first = budgets.of("c", "h", kSecond);
  CHECK(budgets.of("c", "h", kSecond) == first);
  CHECK(budgets.of("c", "i", kSecond) != first);
  CHECK(budgets.of("d", "h", kSecond) != first);
  budgets.of("c", "shut", kSecond)->on_reply(429, 3'600'000, kSecond);
  for (int i = 0; i < 1000; ++i) (void)budgets.of("c", std::to_string(i), 1000 * kSecond);
  CHECK(budgets.size() <= 300);
  CHECK(budgets.of("c", "h", 1000 * kSecond) == first);  // in use
  CHECK(budgets.of("c", "shut", 1000 * kSecond)->not_before_ns() > 3000 * kSecond);
}

}  // namespace
}  // namespace slipway::plugin
