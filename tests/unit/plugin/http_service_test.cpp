// SPDX-License-Identifier: Apache-2.0
#include "http_service_fixture.hpp"
#include "support/log_capture.hpp"

#include <stdlib.h>  // setenv

#include <atomic>
#include <thread>
#include <vector>

namespace slipway::plugin {
namespace {

using testing::answer;
using testing::HttpServer;
using testing::ServedAnswer;
using testing::ServedRequest;

ServedAnswer hello(const ServedRequest&) { return answer(200, "{\"hello\":1}", "X-One: 1\r\n"); }

TEST_CASE_METHOD(HttpFixture, "requests go out as asked, answers come back, and the connection is kept") {
  const bool has_tls = GENERATE(false, true);
  HttpServer server(hello, has_tls);
  const auto own = scope(open_settings(server.url("/v2")));
  auto post = request("POST", server.url("/v2/servers?limit=1"), "{\"key\":\"${secret:token}\"}");
  post.auth.bearer = {"token"};
  post.secrets = {{"token"}};
  post.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  const auto reply = good(post, own);
  CHECK(reply.status == 200);
  CHECK(reply.body == "{\"hello\":1}");
  REQUIRE(reply.headers.size() == 2);
  CHECK(reply.headers[0].name == "x-one");
  CHECK(good(request("GET", server.url("/a/../b")), own).status == 200);
  CHECK(good(request("HEAD", server.url("/h")), own).status == 200);
  CHECK(good(request("DELETE", server.url("/d")), own).status == 200);
  CHECK(good(request("PUT", server.url("/p")), own).status == 200);
  CHECK(server.connections() == 1);

  const auto seen = server.requests();
  REQUIRE(seen.size() == 5);
  CHECK(seen[0].head.starts_with("POST /v2/servers?limit=1 HTTP/1.1\r\n"));
  CHECK(seen[0].body == "{\"key\":\"s3cr3t-t0ken\"}");
  CHECK(seen[0].header("authorization") == "Bearer s3cr3t-t0ken");
  CHECK(seen[0].header("content-type") == "application/json");
  CHECK(seen[0].header("user-agent") == "slipway");
  CHECK(seen[0].head.find("X-Empty:\r\n") != std::string::npos);
  CHECK(seen[1].target() == "/b");
  CHECK(seen[1].header("authorization") == "");
  CHECK(seen[1].header("content-length") == "");
  CHECK(seen[3].verb() == "DELETE");
  CHECK(seen[4].header("content-length") == "0");
}

TEST_CASE_METHOD(HttpFixture, "no secret and no query is in logs, errors or metrics") {
  const testing::LogCapture log(LogLevel::debug);
  HttpServer server(
      [](const ServedRequest& r) {
        return r.target() == "/drop" ? ServedAnswer{"", true, {}} : hello(r);
      },
      false);
  const auto own = scope(open_settings(server.url()));
  auto with_secret = request("POST", server.url("/ok?sig=queryword"), "${secret:token}");
  with_secret.auth.bearer = {"token"};
  with_secret.secrets = {{"token"}};
  CHECK(good(with_secret, own).status == 200);
  with_secret.url = server.url("/drop");
  with_secret.once = true;
  const Error error = bad(with_secret, own);
  CHECK(error.message.find("s3cr3t") == std::string::npos);
  CHECK(log.contains("request answered"));
  CHECK(log.contains("/ok?..."));
  CHECK(log.contains("request failed"));
  CHECK_FALSE(log.contains("s3cr3t"));
  CHECK_FALSE(log.contains("queryword"));
  const std::string text = metrics.text();
  CHECK_THAT(text, Catch::Contains("slipway_http_requests_total{end=\"2xx\",host=\"127.0.0.1\"} 1"));
  CHECK_THAT(text, Catch::Contains("slipway_http_requests_total{end=\"no_answer\",host=\"127.0.0.1\"} 1"));
  CHECK_THAT(text, Catch::Contains("slipway_http_request_seconds_count{host=\"127.0.0.1\"} 1"));
}

TEST_CASE_METHOD(HttpFixture, "addresses are judged when a connection is made, and again when it is used") {
  HttpServer server(hello, false);
  auto settings = open_settings();
  const auto open = scope(settings);
  settings.networks.clear();
  const auto strict = scope(settings);
  const std::string port = ":" + std::to_string(server.port());
  for (const char* host : {"localhost", "LOCALHOST", "api.localhost", "127.0.0.1."}) {
    CAPTURE(host);
    const Error refused = bad(request("GET", "http://" + (host + port)), strict);
    CHECK(refused.code == Code::denied);
    CHECK(refused.outcome == Outcome::rejected);
    CHECK_THAT(refused.message, Catch::Contains("endpoint-networks"));
  }
  CHECK(server.connections() == 0);
  // A connection of a scope that may does not carry a request of one that may not.
  REQUIRE(good(request("GET", "http://localhost" + port), open).status == 200);
  const Error refused = bad(request("GET", "http://localhost" + port), strict);
  CHECK(refused.code == Code::denied);
  CHECK(refused.outcome == Outcome::rejected);
  CHECK(server.count("GET") == 1);
}

TEST_CASE_METHOD(HttpFixture, "redirects are answers, and proxies of the environment are not used") {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("all_proxy", "http://127.0.0.1:1", 1);
  HttpServer server([](const ServedRequest&) { return answer(302, "", "Location: http://127.0.0.1:1/\r\n"); },
                    false);
  CHECK(good(request("GET", server.url()), scope(open_settings())).status == 302);
  CHECK(server.count("GET") == 1);

  setenv("no_proxy", "*", 1);
  auto settings = open_settings();
  settings.networks.clear();  // a proxy of the settings may be anywhere
  settings.proxy = server.url();
  const auto proxied = scope(settings);
  CHECK(good(request("GET", "http://api.example/x"), proxied).status == 302);
  CHECK(server.requests().back().target() == "http://api.example/x");
  CHECK(bad(request("GET", "http://10.0.0.1/"), proxied).code == Code::denied);
  for (const char* name : {"http_proxy", "all_proxy", "no_proxy"}) unsetenv(name);
  settings.proxy = "socks5://127.0.0.1:1";
  CHECK_THAT(HttpScope::make(settings, secrets).error().message, Catch::StartsWith("endpoint-proxy: "));
}

TEST_CASE_METHOD(HttpFixture, "a certificate must be signed by a trusted CA and name the host") {
  HttpServer server(hello, true);
  auto settings = open_settings();
  CHECK(good(request("GET", server.url()), scope(settings)).status == 200);
  const std::string port = ":" + std::to_string(server.port());
  CHECK(good(request("GET", "https://localhost" + port), scope(settings)).status == 200);
  const Error other = bad(request("GET", "https://other.localhost" + port), scope(settings));
  CHECK(other.code == Code::denied);
  CHECK(other.outcome == Outcome::rejected);

  settings.ca_file.clear();
  const Error untrusted = bad(request("GET", server.url()), scope(settings));
  CHECK(untrusted.code == Code::denied);
  CHECK(untrusted.outcome == Outcome::rejected);
  CHECK_THAT(untrusted.message, Catch::Contains("endpoint-ca"));
  CHECK(server.count("GET") == 2);

  settings.ca_file = directory.path() + "/nothing.pem";
  const Error missing = bad(request("GET", server.url()), scope(settings));
  CHECK(missing.code == Code::invalid);
  CHECK_THAT(missing.message, Catch::Contains("nothing.pem") && Catch::Contains("endpoint-ca"));
}

TEST_CASE_METHOD(HttpFixture,
                 "a reply that is too large, late or no HTTP is an error, and the request may have acted") {
  const auto head = std::string("HTTP/1.1 200 OK\r\n");
  HttpServer server(
      [&](const ServedRequest& r) -> ServedAnswer {
        const std::string target = r.target();
        if (target == "/large") return answer(200, std::string(5000, 'x'));
        if (target == "/fits") return answer(200, std::string(1000, 'x'));
        if (target == "/endless") {
          std::string bytes = head + "Transfer-Encoding: chunked\r\n\r\n";
          for (int i = 0; i < 1000; ++i) bytes += "400\r\n" + std::string(1024, 'x') + "\r\n";
          return {bytes, true, {}};
        }
        if (target == "/headers") {
          std::string bytes = head;
          for (int i = 0; i < 5000; ++i)
            bytes += "X-" + std::to_string(i) + ": " + std::string(80, 'y') + "\r\n";
          return {bytes + "\r\n", true, {}};
        }
        if (target == "/garbage") return {std::string("\x16\x03\x01 no http \0\r\n\r\n", 17), true, {}};
        if (target == "/old") return {"plain words", true, {}};
        if (target == "/late") return {answer(200, "").bytes, false, std::chrono::milliseconds(5000)};
        if (target == "/interim")
          return {"HTTP/1.1 100 Continue\r\nX-Not: 1\r\n\r\n" + answer(200, "x").bytes, false, {}};
        if (target == "/trailer") {
          return {head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Late: 1\r\n\r\n", false, {}};
        }
        return answer(200, "\xFF\xFE");
      },
      false);
  const auto own = scope(open_settings());
  for (const char* target : {"/large", "/endless", "/headers", "/garbage", "/old", "/late"}) {
    CAPTURE(target);
    auto small = request("GET", server.url(target));
    small.max_reply_bytes = 1000;
    small.timeout_ms = 100;
    const Error error = bad(small, own);
    CHECK(error.code == Code::unavailable);
    CHECK(error.outcome == Outcome::unknown);
    CHECK_THAT(error.message, Catch::Contains(target));
    if (std::string_view(target) == "/headers") {
      CHECK_THAT(error.message, Catch::Contains("headers of the reply are larger than 262144 bytes"));
    }
  }
  auto small = request("GET", server.url("/fits"));
  small.max_reply_bytes = 1000;
  CHECK(good(small, own).body.size() == 1000);
  const auto interim = good(request("GET", server.url("/interim")), own);
  CHECK(interim.status == 200);
  CHECK(interim.headers.size() == 1);
  const auto trailed = good(request("GET", server.url("/trailer")), own);
  CHECK(trailed.body == "x");
  CHECK(trailed.headers.size() == 1);  // what comes behind a body is no header
  CHECK(good(request("GET", server.url("/bytes")), own).body_base64->data == "\xFF\xFE");
  const Error over =
      bad(request("GET", server.url("/late")), own, 0, Deadline::after(clock, std::chrono::milliseconds(40)));
  CHECK(over.code == Code::deadline);
  CHECK(over.outcome == Outcome::unknown);
}

TEST_CASE_METHOD(HttpFixture, "a request is cancelled while it runs and while it waits") {
  HttpServer server(
      [](const ServedRequest&) {
        return ServedAnswer{"", true, std::chrono::milliseconds(5000)};
      },
      false);
  service = start({1, 1});
  const auto own = scope(open_settings());
  const auto running = std::make_shared<std::promise<Result<HttpCallReply>>>();
  const auto waiting = std::make_shared<std::promise<Result<HttpCallReply>>>();
  const auto first = service->request(request("GET", server.url()), own, 0, Deadline::never(), into(running));
  const auto second =
      service->request(request("GET", server.url()), own, 0, Deadline::never(), into(waiting));
  CHECK(first != second);
  while (server.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  service->cancel(second);
  service->cancel(first);
  service->cancel(12345);
  const auto sent = wait(running);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == Code::cancelled);
  CHECK(sent.error().outcome == Outcome::unknown);
  const auto unsent = wait(waiting);
  REQUIRE_FALSE(unsent);
  CHECK(unsent.error().code == Code::cancelled);
  CHECK(unsent.error().outcome == Outcome::rejected);

  const auto last = std::make_shared<std::promise<Result<HttpCallReply>>>();
  service->request(request("GET", server.url()), own, 0, Deadline::never(), into(last));
  service.reset();
  const auto ended = wait(last);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::cancelled);
}

TEST_CASE_METHOD(HttpFixture, "requests wait for the budget that environments with one credential share") {
  HttpServer server(hello, false);
  service = start({50, 1});
  const auto one = scope(open_settings());
  auto settings = open_settings();
  const auto two = scope(settings);
  settings.credential = "d";
  const auto other = scope(settings);
  const std::int64_t before_ns = clock.monotonic_ns();
  CHECK(good(request("GET", server.url()), one).status == 200);
  CHECK(good(request("GET", server.url()), two).status == 200);
  CHECK(good(request("GET", server.url()), one).status == 200);
  CHECK(clock.monotonic_ns() - before_ns >= 39'000'000);  // the second and the third waited 20 ms each

  const Error late =
      bad(request("GET", server.url()), two, 0, Deadline::after(clock, std::chrono::milliseconds(2)));
  CHECK(late.code == Code::unavailable);
  CHECK(late.outcome == Outcome::rejected);
  CHECK(late.retry_after_ms.value_or(-1) >= 0);
  CHECK(good(request("GET", server.url()), other).status == 200);
  CHECK(server.count("GET") == 4);
}

TEST_CASE_METHOD(HttpFixture, "after Retry-After nothing goes out on that budget, also what is paid") {
  HttpServer server([](const ServedRequest&) { return answer(429, "slow down", "Retry-After: 30\r\n"); },
                    false);
  const auto own = scope(open_settings(server.url()));
  auto settings = open_settings();
  settings.credential = "d";
  auto paid = service->try_acquire_for_create(own);
  REQUIRE(paid);
  paid->for_call(7);
  const auto reply = good(request("GET", server.url()), own);
  CHECK(reply.status == 429);
  CHECK(reply.retry_after_ms == 30'000);

  const Error waits =
      bad(request("GET", server.url()), own, 0, Deadline::after(clock, std::chrono::seconds(10)));
  CHECK(waits.code == Code::unavailable);
  CHECK(waits.outcome == Outcome::rejected);
  CHECK(waits.retry_after_ms.value_or(0) > 29'000);
  auto once = request("POST", server.url(), "{}");
  once.once = true;
  const Error create = bad(once, own, 7);
  CHECK(create.outcome == Outcome::rejected);
  CHECK(create.retry_after_ms.value_or(0) > 29'000);
  const auto none = service->try_acquire_for_create(own);
  REQUIRE_FALSE(none);
  CHECK(none.error().retry_after_ms.value_or(0) > 29'000);
  CHECK(server.requests().size() == 1);
  CHECK(good(request("GET", server.url()), scope(settings)).status == 429);
}

TEST_CASE_METHOD(HttpFixture,
                 "the token taken before a commit is spent by the create's request, which does not wait") {
  HttpServer server(hello, false);
  service = start({1, 1});
  const auto own = scope(open_settings(server.url()));
  const auto soon = [&] { return Deadline::after(clock, std::chrono::milliseconds(20)); };
  auto once = request("POST", server.url("/servers"), "{}");
  once.once = true;

  auto token = service->try_acquire_for_create(own);
  REQUIRE(token);
  const auto none = service->try_acquire_for_create(own);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::unavailable);
  CHECK(none.error().retry_after_ms.value_or(0) > 0);
  token->for_call(5);
  CHECK(bad(once, own, 6, soon()).outcome == Outcome::rejected);                          // another call's
  CHECK(bad(request("GET", server.url()), own, 5, soon()).outcome == Outcome::rejected);  // not marked
  CHECK(call(once, own, 5, soon()));
  CHECK(bad(once, own, 5, soon()).outcome == Outcome::rejected);  // spent
  CHECK(server.requests().size() == 1);

  CHECK(service->try_acquire_for_create(scope(open_settings())));  // no endpoint: nothing to pay
  CHECK(own->create_host() == "127.0.0.1");
}

TEST_CASE_METHOD(HttpFixture, "a token that was given up pays nothing") {
  HttpServer server(hello, false);
  service = start({1, 1});
  const auto own = scope(open_settings(server.url()));
  auto once = request("POST", server.url("/servers"), "{}");
  once.once = true;
  {
    auto token = service->try_acquire_for_create(own);
    REQUIRE(token);
    CreateToken moved = *std::move(token);
    moved.for_call(5);
  }
  CHECK(bad(once, own, 5, Deadline::after(clock, std::chrono::milliseconds(5))).outcome == Outcome::rejected);
  CHECK(server.requests().empty());
}

TEST_CASE_METHOD(HttpFixture, "every request of many threads is completed once") {
  HttpServer server([](const ServedRequest& r) { return answer(200, r.target()); }, false);
  const auto own = scope(open_settings());
  constexpr unsigned kThreads = 4;
  constexpr unsigned kEach = 50;
  std::atomic<unsigned> right{0};
  std::atomic<unsigned> ended{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kEach; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        const auto id = service->request(request("GET", server.url(path)), own, 0, Deadline::never(),
                                         [&, path](Result<HttpCallReply> result) {
                                           if (result && result->body == path) ++right;
                                           if (!result && result.error().code == Code::cancelled) ++right;
                                           ++ended;
                                         });
        if (i % 5 == 0) service->cancel(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (ended < kThreads * kEach) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  service.reset();
  CHECK(ended == kThreads * kEach);
  CHECK(right == kThreads * kEach);
}

}  // namespace
}  // namespace slipway::plugin
