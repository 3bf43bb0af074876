// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_scope.hpp"

#include "base/crash.hpp"

#include <utility>

namespace slipway::plugin {

Result<std::shared_ptr<const HttpScope>> HttpScope::make(HttpScopeSettings settings, SecretSource& secrets) {
  SLIPWAY_TRY(EndpointPolicy policy,
              EndpointPolicy::make(settings.endpoints, settings.is_http_allowed, settings.networks));
  if (!settings.proxy.empty()) {
    SLIPWAY_TRY(const Url proxy, parse_url(kEndpointProxySetting, settings.proxy));
    if (proxy.path != "/" || proxy.has_query)
      return fail(Code::invalid, "{}: \"{}\" has a path; expected http://HOST:PORT", kEndpointProxySetting,
                  proxy.shown());
  }
  return std::shared_ptr<const HttpScope>(new HttpScope(std::move(settings), std::move(policy), secrets));
}

HttpScope::HttpScope(HttpScopeSettings settings, EndpointPolicy policy, SecretSource& secrets)
    : settings_(std::move(settings)), policy_(std::move(policy)), secrets_(&secrets) {
  if (!policy_.endpoints().empty()) create_host_ = policy_.endpoints().front().host;
}

std::string HttpScope::create_host() const {
  const std::lock_guard lock(create_mutex_);
  return create_host_;
}

void HttpScope::set_create_host(const std::string& host) const {
  const std::lock_guard lock(create_mutex_);
  create_host_ = host;
}

void HttpScope::pay(std::uint64_t call) const {
  const std::lock_guard lock(create_mutex_);
  paid_calls_.insert(call);
}

void HttpScope::unpay(std::uint64_t call) const {
  const std::lock_guard lock(create_mutex_);
  paid_calls_.erase(call);
}

bool HttpScope::spend(std::uint64_t call) const {
  const std::lock_guard lock(create_mutex_);
  return paid_calls_.erase(call) == 1;
}

CreateToken::CreateToken(CreateToken&& other) noexcept
    : scope_(std::move(other.scope_)), call_(std::exchange(other.call_, 0)) {}

CreateToken& CreateToken::operator=(CreateToken&& other) noexcept {
  std::swap(scope_, other.scope_);
  std::swap(call_, other.call_);
  return *this;
}

CreateToken::~CreateToken() {
  if (scope_ != nullptr && call_ != 0) scope_->unpay(call_);
}

void CreateToken::for_call(std::uint64_t call) {
  SLIPWAY_ASSERT(call != 0 && call_ == 0);
  call_ = call;
  if (scope_ != nullptr) scope_->pay(call);
}

}  // namespace slipway::plugin
