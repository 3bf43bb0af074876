// SPDX-License-Identifier: Apache-2.0
// ip_address.hpp - addresses as a rule judges them: of which kind they are, and in which networks. All
// spellings of one address are one value. Pure; thread-safe.
#pragma once

#include <slipway/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sockaddr;

namespace slipway::plugin {

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

}  // namespace slipway::plugin
