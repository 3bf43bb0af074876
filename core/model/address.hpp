// SPDX-License-Identifier: Apache-2.0
// address.hpp - what an address is good for, which one of a machine is shown, and subnets as CIDRs. Pure.
#pragma once

#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace slipway::model {

// A network: an IPv4 or IPv6 address whose bits behind the prefix are 0. Thread rule: value.
class Cidr {
 public:
  // "10.0.0.0/24", "fd00::/8". invalid: no prefix length, one out of range, and bits behind the prefix (the
  // error says what was probably meant).
  [[nodiscard]] static Result<Cidr> parse(std::string_view text);

  // The address alone: "10.0.0.7" as 10.0.0.7/32. Nothing if it is none.
  [[nodiscard]] static std::optional<Cidr> host(std::string_view address);

  [[nodiscard]] bool is_ipv6() const { return is_ipv6_; }
  [[nodiscard]] unsigned prefix() const { return prefix_; }
  // One spelling for each network (RFC 5952 for IPv6).
  [[nodiscard]] std::string text() const;

  // False for one of the other family.
  [[nodiscard]] bool contains(const Cidr& inner) const;
  [[nodiscard]] bool overlaps(const Cidr& other) const { return contains(other) || other.contains(*this); }

  bool operator==(const Cidr&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};  // the first 4 for IPv4
  std::uint8_t prefix_ = 0;
  bool is_ipv6_ = false;
};

// Kind and scope of what the text says, the rest empty. An IPv6 address inside of which is an IPv4 one
// (::ffff:0:0/96) has its scope. A host name has no scope but "localhost"; what is neither is of unknown
// kind. Of no use as a target, and so of unknown scope: 0.0.0.0/8, multicast, and 240.0.0.0/4.
[[nodiscard]] Address classify(std::string_view text);

// The address to show and to connect to: public before cloud-local before unknown, IPv4 before IPv6 before
// names, else the cloud's order. Null if there is none: one that is good only inside the machine or on its
// link is not an address that anybody waits for.
[[nodiscard]] const Address* address_to_show(std::span<const Address> addresses);

}  // namespace slipway::model
