// SPDX-License-Identifier: Apache-2.0
// script.hpp - a plugin whose one method runs what the test says, for tests of what a method can do. Thread
// rule: one test at a time.
#pragma once

#include <slipway/provider.hpp>
#include <slipway/testing.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <utility>

namespace slipway::testing {

class Script {
 public:
  struct Config {};
  static PluginInfo info() {
    PluginInfo info;
    info.name = "script";
    info.version = "1.0.0";
    info.kinds = {Kind::storage};
    return info;
  }
  static Schema<Config> schema() { return {}; }

  Script(Host& host, const Config&) : host_(host) {}

  Result<VolumeCreateReply> run(Call& call, const VolumeCreateRequest&) {
    body(call, host_);
    VolumeCreateReply reply;
    reply.volume.id = "done";
    return reply;
  }

  static inline std::function<void(Call&, Host&)> body;

 private:
  Host& host_;
};

// Runs `body` as a method that makes something; in time until not_after_ns.
inline void in_method(FakeHost& host, std::function<void(Call&, Host&)> body, CallOptions options = {},
                      std::int64_t not_after_ns = 0) {
  Script::body = std::move(body);
  Plugin plugin(host, json::object(), &detail::Glue<Script, &Script::run>::entry);
  REQUIRE_FALSE(plugin.error());
  VolumeCreateRequest request;
  request.nonce = "n1";
  request.name = "disk";
  request.not_after_ns = not_after_ns;
  const auto reply = plugin.call(request, options);
  INFO(host.problems());
  CHECK(reply.has_value());
}

// The client that tests of HTTP use.
inline HttpClient client(const Host& host) {
  return host.http({.base_url = "https://cloud.example/v2/", .bearer = {"token"}, .timeout = 10s});
}

}  // namespace slipway::testing
