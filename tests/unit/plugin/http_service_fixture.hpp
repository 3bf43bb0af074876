// SPDX-License-Identifier: Apache-2.0
// http_service_fixture.hpp - an HttpService, scopes that may go to loopback, and calls that wait for their
// end. One test.
#pragma once

#include "plugin/http_service.hpp"
#include "support/http_server.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace slipway::plugin {

class FixedSecrets final : public SecretSource {
 public:
  Result<Secret> secret(std::string_view name) override {
    const auto found = values.find(std::string(name));
    if (found == values.end()) return fail(Code::not_found, "no secret {}", name);
    return Secret(found->second);
  }
  std::map<std::string, std::string> values = {{"token", "s3cr3t-t0ken"}};
};

struct HttpFixture {
  testing::TempDir directory;
  SystemClock clock;
  Metrics metrics;
  FixedSecrets secrets;
  std::unique_ptr<HttpService> service = start();

  std::unique_ptr<HttpService> start(TokenBucket::Budget budget = {100'000, 10'000}) {
    auto started = HttpService::start(clock, metrics, budget);
    if (!started) FAIL(started.error().message);
    return *std::move(started);
  }

  // What reaches the test servers: plain http, loopback, and their certificate.
  HttpScopeSettings open_settings(const std::string& endpoint = "") {
    HttpScopeSettings settings;
    settings.instance = "test:sim";
    settings.credential = "c";
    settings.is_http_allowed = true;
    settings.networks = {"127.0.0.0/8"};
    settings.ca_file = directory.path() + "/ca.pem";
    std::ofstream(settings.ca_file) << testing::tls_identity().certificate_pem;
    if (!endpoint.empty()) settings.endpoints = {{"endpoint", endpoint}};
    return settings;
  }
  std::shared_ptr<const HttpScope> scope(HttpScopeSettings settings) {
    auto made = HttpScope::make(std::move(settings), secrets);
    if (!made) FAIL(made.error().message);
    return *made;
  }

  static HttpCallRequest request(std::string verb, std::string url, std::string body = "") {
    HttpCallRequest out;
    out.verb = std::move(verb);
    out.url = std::move(url);
    out.body = std::move(body);
    return out;
  }

  using End = std::shared_ptr<std::promise<Result<HttpCallReply>>>;
  static Done<HttpCallReply> into(const End& end) {
    return [end](Result<HttpCallReply> result) { end->set_value(std::move(result)); };
  }
  static Result<HttpCallReply> wait(const End& end) {
    auto future = end->get_future();
    if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) FAIL("no completion");
    return future.get();
  }
  Result<HttpCallReply> call(HttpCallRequest request, std::shared_ptr<const HttpScope> scope,
                             std::uint64_t parent = 0, Deadline deadline = Deadline::never()) {
    const auto end = std::make_shared<std::promise<Result<HttpCallReply>>>();
    service->request(std::move(request), std::move(scope), parent, deadline, into(end));
    return wait(end);
  }
  HttpCallReply good(HttpCallRequest request, std::shared_ptr<const HttpScope> scope) {
    auto result = call(std::move(request), std::move(scope));
    if (!result) FAIL(result.error().message);
    return *std::move(result);
  }
  Error bad(HttpCallRequest request, std::shared_ptr<const HttpScope> scope, std::uint64_t parent = 0,
            Deadline deadline = Deadline::never()) {
    auto result = call(std::move(request), std::move(scope), parent, deadline);
    if (result) FAIL("answered with " << result->status);
    INFO(result.error().message);
    return std::move(result).error();
  }
};

}  // namespace slipway::plugin
