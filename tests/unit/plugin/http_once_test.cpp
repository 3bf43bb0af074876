// SPDX-License-Identifier: Apache-2.0
// http_once_test.cpp - what is marked once reaches the server once. The server's own count is the judge.
#include "http_service_fixture.hpp"
#include "plugin/http_transfer.hpp"

#include <array>

namespace slipway::plugin {
namespace {

using testing::answer;
using testing::HttpServer;
using testing::ServedAnswer;
using testing::ServedRequest;

struct Drop {
  const char* name;
  const char* bytes;
};
constexpr std::array kDrops = std::to_array<Drop>({
    {"before the answer", ""},
    {"within the status line", "HTTP/1.1 20"},
    {"after the status line", "HTTP/1.1 201 Created\r\n"},
    {"within the headers", "HTTP/1.1 201 Created\r\nContent-Type: text/pl"},
    {"in the middle of the answer", "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\":"},
    {"in the middle of a chunked answer",
     "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n"},
});

struct Kind {
  const char* verb;
  const char* body;
};
constexpr std::array kKinds = std::to_array<Kind>({{"POST", "{\"name\":\"x\"}"},
                                                   {"POST", ""},
                                                   {"PUT", "{}"},
                                                   {"PUT", ""},
                                                   {"PATCH", "{}"},
                                                   {"DELETE", ""},
                                                   {"DELETE", "{}"}});

TEST_CASE_METHOD(HttpFixture, "a request marked once is sent once, whenever its connection drops") {
  const bool has_tls = GENERATE(false, true);
  for (const Drop& drop : kDrops) {
    HttpServer server(
        [&](const ServedRequest& r) {
          return r.verb() == "GET" ? answer(200, "{}") : ServedAnswer{drop.bytes, true, {}};
        },
        has_tls);
    const auto own = scope(open_settings());
    for (const Kind& kind : kKinds) {
      CAPTURE(has_tls, drop.name, kind.verb, kind.body);
      const unsigned before = server.count(kind.verb);
      REQUIRE(good(request("GET", server.url("/prime")), own).status == 200);  // leaves a connection to reuse
      auto once = request(kind.verb, server.url("/servers"), kind.body);
      once.once = true;
      const Error error = bad(once, own);
      CHECK(error.code == Code::unavailable);
      CHECK(error.outcome == Outcome::unknown);
      CHECK(server.count(kind.verb) == before + 1);
      const ServedRequest last = server.requests().back();
      CHECK(last.body == kind.body);
      // Reused if there is a body, which libcurl cannot rewind; else fresh, as it would repeat.
      CHECK((last.nth > 1) == (*kind.body != '\0'));
    }
  }
}

TEST_CASE_METHOD(HttpFixture,
                 "a request that is not marked is repeated by libcurl when a reused connection drops") {
  // Shows that the servers of the other cases would see a second sending.
  const bool has_tls = GENERATE(false, true);
  const std::string verb = GENERATE("GET", "POST");
  HttpServer server(
      [](const ServedRequest& r) {
        return r.target() != "/prime" && r.nth > 1 ? ServedAnswer{"", true, {}} : answer(200, "again");
      },
      has_tls);
  const auto own = scope(open_settings());
  CAPTURE(has_tls, verb);
  REQUIRE(good(request("GET", server.url("/prime")), own).status == 200);
  const auto reply = good(request(verb, server.url("/x"), verb == "POST" ? "body" : ""), own);
  CHECK(reply.body == "again");
  const auto all = server.requests();
  REQUIRE(all.size() == 3);
  CHECK(all[1].target() == "/x");
  CHECK(all[2].target() == "/x");
  CHECK(all[2].body == all[1].body);
}

TEST_CASE_METHOD(HttpFixture, "a request marked once is not begun again when its body could not be sent") {
  const bool has_tls = GENERATE(false, true);
  const auto size = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  HttpServer server([](const ServedRequest&) { return answer(200, "{}"); }, has_tls,
                    [](const ServedRequest& r) { return r.verb() == "POST"; });
  const auto own = scope(open_settings());
  CAPTURE(has_tls, size);
  REQUIRE(good(request("GET", server.url("/prime")), own).status == 200);
  auto once = request("POST", server.url("/servers"), std::string(size, 'x'));
  once.once = true;
  CHECK(bad(once, own).outcome == Outcome::unknown);
  CHECK(server.count("POST") == 1);
}

TEST_CASE_METHOD(HttpFixture, "no answer makes a request marked once go out again") {
  // Interim answers, redirects, and statuses that clients like to repeat after.
  const auto status = GENERATE(301U, 302U, 307U, 401U, 407U, 408U, 417U, 421U, 425U, 429U, 503U);
  HttpServer server(
      [&](const ServedRequest& r) {
        if (r.verb() == "GET") return answer(200, "{}");
        return answer(status, "no",
                      "Location: /other\r\nWWW-Authenticate: Basic realm=\"x\"\r\nProxy-Authenticate: "
                      "Basic\r\nRetry-After: 0\r\nAlt-Svc: h2=\":443\"\r\n");
      },
      false);
  const auto own = scope(open_settings());
  REQUIRE(good(request("GET", server.url()), own).status == 200);
  auto once = request("POST", server.url("/servers"), std::string(1'500'000, 'x'));
  once.once = true;
  CHECK(good(once, own).status == status);
  CHECK(server.count("POST") == 1);
  CHECK(server.requests().back().header("expect") == "");
}

TEST_CASE_METHOD(HttpFixture, "a connection that the server had closed before is not taken for a create") {
  HttpServer server(
      [](const ServedRequest& r) {
        auto out = answer(201, "{}");
        out.drops = r.verb() == "GET";  // says nothing of it: the client finds the connection dead
        return out;
      },
      false);
  const auto own = scope(open_settings());
  for (int i = 0; i < 5; ++i) {
    REQUIRE(good(request("GET", server.url()), own).status == 201);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // for the FIN to arrive
    auto once = request("POST", server.url("/servers"), "{}");
    once.once = true;
    CHECK(good(once, own).status == 201);
  }
  CHECK(server.count("POST") == 5);
}

TEST_CASE_METHOD(HttpFixture, "what did not go out is rejected, with proof") {
  HttpServer server([](const ServedRequest&) { return answer(200, "{}"); }, GENERATE(false, true));
  const auto own = scope(open_settings());
  auto once = request("POST", server.url("/servers"), "{}");
  once.once = true;

  SECTION("its time was over") {
    once.not_after_ns = clock.monotonic_ns() - 1;
    const Error late = bad(once, own);
    CHECK(late.code == Code::unavailable);
    CHECK(late.outcome == Outcome::rejected);
    CHECK_FALSE(server.connections());
    once.not_after_ns = clock.monotonic_ns() + 10'000'000'000;
    CHECK(good(once, own).status == 200);
  }
  SECTION("nobody listens") {
    std::string url;
    {
      url = HttpServer([](const ServedRequest&) { return answer(200, ""); }, false).url();
    }
    once.url = url;
    CHECK(bad(once, own).code == Code::unavailable);
    CHECK(bad(once, own).outcome == Outcome::rejected);
  }
  SECTION("the call's time was over") {
    const Error late = bad(once, own, 0, Deadline::after(clock, std::chrono::milliseconds(-1)));
    CHECK(late.outcome == Outcome::rejected);
    CHECK(server.count("POST") == 0);
  }
}

TEST_CASE_METHOD(HttpFixture, "a connection that never stands has sent nothing") {
  // A plain listener never answers a TLS greeting, so the connection never stands.
  HttpServer mute([](const ServedRequest&) { return answer(200, ""); }, false);
  const auto own = scope(open_settings());
  auto once = request("POST", "https" + mute.url().substr(4), "{}");
  once.once = true;
  once.connect_timeout_ms = 60;
  const Error error = bad(once, own);
  CHECK(error.code == Code::unavailable);
  CHECK(error.outcome == Outcome::rejected);
  CHECK(mute.requests().empty());
}

// A transfer by itself, so that a test can take one of its guards away.
struct TransferFixture : HttpFixture {
  CURLM* multi = curl_multi_init();
  TransferFixture() = default;
  TransferFixture(const TransferFixture&) = delete;
  TransferFixture& operator=(const TransferFixture&) = delete;
  ~TransferFixture() { curl_multi_cleanup(multi); }

  std::unique_ptr<HttpTransfer> transfer(HttpCallRequest asked) { return transfer(std::move(asked), clock); }
  std::unique_ptr<HttpTransfer> transfer(HttpCallRequest asked, const Clock& by) {
    const auto own = scope(open_settings());
    auto prepared = prepare(std::move(asked), *own);
    if (!prepared) FAIL(prepared.error().message);
    return std::make_unique<HttpTransfer>(*std::move(prepared), own, by, Deadline::never());
  }
  Result<RawHttpReply> run(HttpTransfer& transfer) {
    curl_multi_add_handle(multi, transfer.handle());
    for (int running = 1; running != 0;) {
      curl_multi_perform(multi, &running);
      if (running != 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    int left = 0;
    const CURLMsg* end = curl_multi_info_read(multi, &left);
    REQUIRE(end != nullptr);
    const CURLcode code = end->data.result;
    curl_multi_remove_handle(multi, transfer.handle());
    return transfer.finish(code);
  }
};

TEST_CASE_METHOD(TransferFixture, "the callback before a sending alone stops a second one") {
  HttpServer server(
      [](const ServedRequest& r) {
        return r.verb() == "GET" ? answer(200, "{}") : ServedAnswer{"", true, {}};
      },
      GENERATE(false, true));
  const auto prime = transfer(request("GET", server.url("/prime")));
  REQUIRE(run(*prime));
  auto once = request("DELETE", server.url("/servers/1"));
  once.once = true;
  const auto sent = transfer(once);
  curl_easy_setopt(sent->handle(), CURLOPT_FRESH_CONNECT, 0L);  // libcurl will want to repeat it
  const auto end = run(*sent);
  REQUIRE_FALSE(end);
  CHECK(end.error().outcome == Outcome::unknown);
  CHECK_THAT(end.error().message, Catch::Contains("it is not sent again"));
  CHECK(server.count("DELETE") == 1);
  CHECK(server.requests().back().nth == 2);
}

TEST_CASE_METHOD(TransferFixture, "not_after_ns is looked at when the connection stands, not before") {
  HttpServer server([](const ServedRequest&) { return answer(201, "{}"); }, GENERATE(false, true));
  auto once = request("POST", server.url("/servers"), "{}");
  once.once = true;
  FakeClock fake;
  once.not_after_ns = fake.monotonic_ns();
  const auto late = transfer(once, fake);
  fake.advance(std::chrono::milliseconds(1));
  const auto end = run(*late);
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::rejected);
  CHECK_THAT(end.error().message, Catch::Contains("not_after_ns"));
  // The client may be done with a connection before the server's thread has taken it.
  CHECK(server.has_accepted(1, std::chrono::seconds(10)));
  CHECK(server.count("POST") == 0);
}

}  // namespace
}  // namespace slipway::plugin
