// SPDX-License-Identifier: Apache-2.0
// endpoint.hpp - where a plugin's requests may go (SECURITY 6). A plugin takes URLs from a cloud's catalogue,
// which is untrusted: without a rule a cloud could make the host ask its own loopback or its neighbours.
// Addresses are judged as they are connected to, never as a name resolved some time before.
// Thread rule: values and immutable policies; thread-safe.
#pragma once

#include <slipway/result.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace slipway::plugin {

// The environment's settings that a refusal names.
inline constexpr std::string_view kEndpointHttpSetting = "endpoint-http";
inline constexpr std::string_view kEndpointNetworksSetting = "endpoint-networks";

// IPv4 is kept as IPv4-mapped IPv6 (::ffff:a.b.c.d), so that both spellings are one address.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] bool is_v4() const;
  // The IPv4 address that a packet to this one ends at: its own, or that within NAT64 (RFC 6052), 6to4
  // (RFC 3056) or the old IPv4-compatible form.
  [[nodiscard]] std::optional<IpAddress> embedded_v4() const;
  [[nodiscard]] std::string text() const;
  auto operator<=>(const IpAddress&) const = default;

  [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);  // no brackets, no zone
  [[nodiscard]] static std::optional<IpAddress> of(const sockaddr& address);   // neither family: nothing
};

// What the registries (RFC 6890) say of an address. `other` are ranges that are not for the public net
// (carrier NAT, documentation, benchmarks, future use); `never` cannot be a server's: unspecified, multicast,
// broadcast.
enum class AddressKind { global, loopback, link_local, private_use, other, never };
BOOST_DESCRIBE_ENUM(AddressKind, global, loopback, link_local, private_use, other, never)
[[nodiscard]] AddressKind kind_of(const IpAddress& address);

// "10.0.0.0/8", "fd00::/8", "192.0.2.7".
class Network {
 public:
  // invalid: not that, or bits set behind the prefix.
  [[nodiscard]] static Result<Network> parse(std::string_view cidr);
  [[nodiscard]] bool contains(const IpAddress& address) const;

 private:
  IpAddress first_;
  unsigned bits_ = 128;
};

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

// The rule of one environment. Global addresses always. Loopback, link-local, private and other ranges only
// when listed in networks, with one exception: what the settings name (the endpoints: base URLs, the auth URL
// among them) may be at a private address, and then the private range (10/8, 172.16/12, 192.168/16, fc00::/7)
// in which it was found is allowed to all requests, as a private cloud's services are neighbours of its auth
// URL. Thread-safe.
class EndpointPolicy {
 public:
  // invalid: an endpoint or a network that cannot be read, by its field.
  [[nodiscard]] static Result<EndpointPolicy> make(const std::vector<std::string>& endpoints,
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

  [[nodiscard]] bool is_http_allowed() const { return is_http_allowed_; }
  [[nodiscard]] const std::vector<Url>& endpoints() const { return endpoints_; }

 private:
  EndpointPolicy() = default;
  std::vector<Url> endpoints_;
  std::vector<Network> networks_;
  bool is_http_allowed_ = false;
  // A bit for each private range in which an endpoint of the settings was found: only ever set.
  mutable std::atomic<unsigned> own_ranges_{0};
};

}  // namespace slipway::plugin
