// SPDX-License-Identifier: Apache-2.0
// endpoint.hpp - where a plugin's requests may go (SECURITY 6). A plugin takes URLs from a cloud's catalogue,
// which is untrusted: without a rule a cloud could make the host ask its own loopback or its neighbours.
// Addresses are judged as they are connected to, never as a name resolved some time before.
// Thread rule: values and immutable policies; thread-safe.
#pragma once

#include "plugin/ip_address.hpp"

#include <slipway/result.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

// The environment's settings that a refusal names.
inline constexpr std::string_view kEndpointHttpSetting = "endpoint-http";
inline constexpr std::string_view kEndpointNetworksSetting = "endpoint-networks";

// A URL as libcurl itself reads it (one parser for the rule and for the request: nothing to play off against
// each other): http or https, no user, no fragment, host in lower case.
struct Url {
  std::string text;    // what is sent for
  std::string scheme;  // "http", "https"
  std::string host;    // a name without a last dot, or an address without brackets
  std::uint16_t port = 0;
  std::string path;  // dot segments resolved; percent-encoding as it came
  bool has_query = false;

  [[nodiscard]] bool is_same_origin(const Url& other) const;
  // For logs and errors: without the query, which may hold what nobody should read.
  [[nodiscard]] std::string shown() const;
};
// invalid: names `field` and what is wrong with it.
[[nodiscard]] Result<Url> parse_url(std::string_view field, std::string_view text);

// A base URL out of an instance's settings, with the setting's name for messages.
struct EndpointSetting {
  std::string setting;
  std::string url;
};

// The rule of one environment. Global addresses always. Loopback, link-local, private and other ranges only
// when listed in networks, with one exception: what the settings name (the endpoints: base URLs, the auth URL
// among them) may be at a private address, and then the private range (10/8, 172.16/12, 192.168/16, fc00::/7)
// in which it was found is allowed to all requests, as a private cloud's services are neighbours of its auth
// URL. Thread-safe.
class EndpointPolicy {
 public:
  // invalid: an endpoint or a network that cannot be read, denied: an endpoint that is against the rule; both
  // name the setting.
  [[nodiscard]] static Result<EndpointPolicy> make(const std::vector<EndpointSetting>& endpoints,
                                                   bool is_http_allowed,
                                                   const std::vector<std::string>& networks);
  EndpointPolicy(EndpointPolicy&& other) noexcept;

  // denied, rejected: plain http, or an address written into the URL that may not be connected to.
  [[nodiscard]] Status check_url(const Url& url) const;
  // At every connect, and again before each request on a connection that is open: denied, rejected.
  [[nodiscard]] Status check_address(const Url& url, const IpAddress& address) const;
  // True if one of the endpoints has the same scheme, host and port, and a path that the URL's path begins
  // with, at the end of a segment.
  [[nodiscard]] bool may_bear_secrets(const Url& url) const;
  // "endpoint=https://api.example/v2, auth_url=…", for messages.
  [[nodiscard]] std::string shown_endpoints() const;

  [[nodiscard]] bool is_http_allowed() const { return is_http_allowed_; }
  [[nodiscard]] const std::vector<Url>& endpoints() const { return endpoints_; }

 private:
  EndpointPolicy() = default;
  std::vector<std::string> settings_;  // by endpoint
  std::vector<Url> endpoints_;
  std::vector<Network> networks_;
  bool is_http_allowed_ = false;
  // A bit for each private range in which an endpoint of the settings was found: only ever set.
  mutable std::atomic<unsigned> own_ranges_{0};
};

}  // namespace slipway::plugin
