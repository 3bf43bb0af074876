// SPDX-License-Identifier: Apache-2.0
// http_scope.hpp - what one instance of a plugin may do over HTTP: where to, with which secrets, on whose
// budget. Made when the instance is, from the environment's settings; the service keeps it while requests are
// open. Thread rule: immutable but for the paid calls, which have a lock; thread-safe.
#pragma once

#include "plugin/endpoint.hpp"
#include "plugin/services.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace slipway::plugin {

// The environment's settings of these names.
inline constexpr std::string_view kEndpointCaSetting = "endpoint-ca";
inline constexpr std::string_view kEndpointProxySetting = "endpoint-proxy";

struct HttpScopeSettings {
  std::string instance;    // shown in logs
  std::string credential;  // environments with the same one share its request budget
  // Base URLs among the instance's settings (auth URL, API endpoint). Secrets by reference go towards these
  // and nowhere else, so a URL out of a cloud's catalogue never gets one; a token that the plugin itself got
  // from the cloud is the plugin's to send.
  std::vector<EndpointSetting> endpoints;
  bool is_http_allowed = false;       // endpoint-http: allow
  std::vector<std::string> networks;  // endpoint-networks
  std::string ca_file;                // PEM; empty: the system's
  // http://… or https://…; empty: none, whatever the process's environment says. With a proxy its own rules
  // hold for names, as it resolves them; addresses written into a URL are judged here all the same.
  std::string proxy;
};

class HttpScope {
 public:
  // `secrets` outlives every call of HttpService::request() with this scope (not the requests). invalid: a
  // setting that cannot be read.
  [[nodiscard]] static Result<std::shared_ptr<const HttpScope>> make(HttpScopeSettings settings,
                                                                     SecretSource& secrets);

  [[nodiscard]] const HttpScopeSettings& settings() const { return settings_; }
  [[nodiscard]] const EndpointPolicy& policy() const { return policy_; }
  [[nodiscard]] SecretSource& secrets() const { return *secrets_; }

  // The host whose budget a create will draw on: the last one that got a request marked once, at first that
  // of the first endpoint; empty without endpoints.
  [[nodiscard]] std::string create_host() const;
  void set_create_host(const std::string& host) const;

 private:
  friend class CreateToken;
  friend class HttpService;
  HttpScope(HttpScopeSettings settings, EndpointPolicy policy, SecretSource& secrets);
  void pay(std::uint64_t call) const;
  void unpay(std::uint64_t call) const;
  // True, once, for a call that was paid.
  [[nodiscard]] bool spend(std::uint64_t call) const;

  HttpScopeSettings settings_;
  EndpointPolicy policy_;
  SecretSource* secrets_;
  mutable std::mutex create_mutex_;  // guards the two below
  mutable std::string create_host_;
  mutable std::set<std::uint64_t> paid_calls_;  // by id: the calls whose token is not spent
};

// A token of the budget, taken before an attempt is committed. for_call() names the call into the plugin that
// creates; the first request marked once that the plugin makes for that call spends it and does not queue.
// Kept until that call has ended; what was not spent is lost (a 20th of a second). Move-only; one owner.
class CreateToken {
 public:
  CreateToken() = default;  // of an instance without HTTP: pays nothing
  explicit CreateToken(std::shared_ptr<const HttpScope> scope) : scope_(std::move(scope)) {}
  CreateToken(CreateToken&& other) noexcept;
  CreateToken& operator=(CreateToken&& other) noexcept;
  ~CreateToken();

  // Before the call goes to the plugin. `call` is not 0. Once.
  void for_call(std::uint64_t call);

 private:
  std::shared_ptr<const HttpScope> scope_;
  std::uint64_t call_ = 0;
};

}  // namespace slipway::plugin
