// SPDX-License-Identifier: Apache-2.0
// sim_fixture.hpp - a simulated cloud with a time that the test moves, and requests that it takes. Thread
// rule: one thread.
#pragma once

#include "sim/cloud/cloud.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

namespace slipway::sim {

inline Script script_of(const std::string& text) {
  auto script = parse_script(text);
  if (!script) FAIL(script.error().message);
  return *std::move(script);
}

inline StartRequest start_request(const std::string& nonce, const std::string& zone = {}) {
  StartRequest r;
  r.nonce = nonce;
  r.name = "slipway-" + nonce;
  r.marker = {{"controller", "c1"}, {"environment", "e1"}, {"nonce", nonce}};
  r.machine = "0";
  r.type = "small";
  r.image = "img-debian-12-amd64";
  if (!zone.empty()) r.zone = zone;
  return r;
}

struct SimFixture {
  explicit SimFixture(const std::string& script = "{}", std::uint64_t seed = 1)
      : cloud(script_of(script), seed, now_ms) {}

  std::int64_t now_ms = 1'700'000'000'000;
  Cloud cloud;

  template <Request R>
  Result<typename R::Reply> ask(const R& request) {
    return cloud.call(request, now_ms).result;
  }
  // What must go well.
  template <Request R>
  typename R::Reply get(const R& request) {
    auto reply = ask(request);
    if (!reply) FAIL(R::method << ": " << reply.error().message);
    return *std::move(reply);
  }
  Instance start(const std::string& nonce, const std::string& zone = {}) {
    return get(start_request(nonce, zone)).instance;
  }
  Instance start_and_boot(const std::string& nonce, const std::string& zone = {}) {
    const Instance made = start(nonce, zone);
    now_ms += 2'000;
    return *look(made.id).item;
  }
  GetResult look(const std::string& id) {
    GetRequest request;
    request.ids = {id};
    return get(request).results.at(0);
  }
  template <class R>
  auto remove(const std::string& id) {
    R request;
    request.ids = {id};
    return get(request).results.at(0);
  }
  ListReply list(const Marker& owner = {}) {
    ListRequest request;
    request.owner = owner;
    return get(request);
  }
  template <class R>
  R make(const std::string& nonce) {
    R request;
    request.nonce = nonce;
    request.name = nonce;
    request.marker = {{"environment", "e1"}, {"nonce", nonce}};
    return request;
  }
  Audit audit() { return cloud.audit(now_ms); }
};

}  // namespace slipway::sim
