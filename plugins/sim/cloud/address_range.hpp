// SPDX-License-Identifier: Apache-2.0
// address_range.hpp - the IPv4 addresses of a subnet, given out one by one: the next free one after the last,
// so that an address is not used again at once. Thread rule: one thread.
#pragma once

#include <slipway/result.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace slipway::sim {

class AddressRange {
 public:
  // "10.20.0.0/16", a prefix of 8 to 30 bits. The first and the last address are never given out, nor is the
  // one after the first, which is the router's.
  static Result<AddressRange> parse(std::string_view cidr);

  // exhausted: none is free.
  Result<std::string> take();
  // invalid: not of this range; conflict: taken.
  Status take(const std::string& address);
  void give_back(const std::string& address);

 private:
  AddressRange(std::uint32_t first, std::uint32_t last, std::string cidr)
      : first_(first), last_(last), next_(first), cidr_(std::move(cidr)) {}

  std::uint32_t first_;  // host byte order; inclusive
  std::uint32_t last_;
  std::uint32_t next_;
  std::string cidr_;
  std::set<std::uint32_t> taken_;
};

}  // namespace slipway::sim
