// SPDX-License-Identifier: Apache-2.0
#include "plugin/ip_address.hpp"

#include "base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

namespace slipway::plugin {
namespace {

constexpr unsigned kV4Bits = 96;  // of the prefix ::ffff:0:0/96

struct Range {
  const char* first;
  unsigned bits;  // as in the text: of 32 or of 128
  AddressKind kind;
};

// The first that fits counts. IPv4, and IPv6 below; whatever is in none of them is global (IPv4), other
// (IPv6, which has given out 2000::/3 only).
constexpr std::array kRanges = std::to_array<Range>({
    {"0.0.0.0", 8, AddressKind::never},  // "this host": Linux connects to loopback
    {"127.0.0.0", 8, AddressKind::loopback},
    {"169.254.0.0", 16, AddressKind::link_local},  // the metadata services of clouds
    {"10.0.0.0", 8, AddressKind::private_use},
    {"172.16.0.0", 12, AddressKind::private_use},
    {"192.168.0.0", 16, AddressKind::private_use},
    {"100.64.0.0", 10, AddressKind::other},  // carrier NAT
    {"192.0.0.0", 24, AddressKind::other},
    {"192.0.2.0", 24, AddressKind::other},
    {"192.88.99.0", 24, AddressKind::other},
    {"198.18.0.0", 15, AddressKind::other},
    {"198.51.100.0", 24, AddressKind::other},
    {"203.0.113.0", 24, AddressKind::other},
    {"224.0.0.0", 4, AddressKind::never},
    {"255.255.255.255", 32, AddressKind::never},
    {"240.0.0.0", 4, AddressKind::other},
    {"0.0.0.0", 0, AddressKind::global},
    {"::", 128, AddressKind::never},
    {"::1", 128, AddressKind::loopback},
    {"ff00::", 8, AddressKind::never},
    {"fe80::", 10, AddressKind::link_local},
    {"fec0::", 10, AddressKind::private_use},  // site-local, deprecated and still routed inside
    {"fc00::", 7, AddressKind::private_use},
    {"2001::", 23, AddressKind::other},  // Teredo, ORCHID and more
    {"2001:db8::", 32, AddressKind::other},
    {"3fff::", 20, AddressKind::other},
    {"2000::", 3, AddressKind::global},
});

bool has_prefix(const IpAddress& address, const IpAddress& first, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  address.bytes.begin()))
    return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (static_cast<unsigned>(first.bytes[whole] ^ address.bytes[whole]) >> (8 - rest)) == 0;
}

IpAddress from_v4(const std::uint8_t* four) {
  IpAddress address;
  address.bytes[10] = address.bytes[11] = 0xFF;
  std::copy(four, four + 4, address.bytes.begin() + 12);
  return address;
}

struct ParsedRange {
  IpAddress first;
  unsigned bits;
  AddressKind kind;
};

const std::vector<ParsedRange>& parsed_ranges() {
  static const std::vector<ParsedRange> ranges = [] {
    std::vector<ParsedRange> out;
    for (const Range& range : kRanges) {
      const IpAddress first = *IpAddress::parse(range.first);
      out.push_back({first, first.is_v4() ? range.bits + kV4Bits : range.bits, range.kind});
    }
    return out;
  }();
  return ranges;
}

}  // namespace

bool IpAddress::is_v4() const {
  static const IpAddress first = [] {
    constexpr std::array<std::uint8_t, 4> zero{};
    return from_v4(zero.data());
  }();
  return has_prefix(*this, first, kV4Bits);
}

std::optional<IpAddress> IpAddress::embedded_v4() const {
  if (is_v4()) return *this;
  static const IpAddress nat64 = *parse("64:ff9b::");
  static const IpAddress six_to_four = *parse("2002::");
  static const IpAddress compatible;
  if (has_prefix(*this, nat64, 96)) return from_v4(&bytes[12]);
  if (has_prefix(*this, six_to_four, 16)) return from_v4(&bytes[2]);
  // "::" and "::1" are addresses of their own.
  const bool is_own = std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t b) { return b == 0; });
  if (has_prefix(*this, compatible, 96) && !is_own) return from_v4(&bytes[12]);
  return std::nullopt;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (is_v4()) {
    inet_ntop(AF_INET, &bytes[12], buffer.data(), buffer.size());
  } else {
    inet_ntop(AF_INET6, bytes.data(), buffer.data(), buffer.size());
  }
  return buffer.data();
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  std::array<std::uint8_t, 4> four{};
  if (inet_pton(AF_INET, terminated.c_str(), four.data()) == 1) return from_v4(four.data());
  IpAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of(const sockaddr& address) {
  IpAddress out;
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 4> four{};
    std::memcpy(four.data(), &in.sin_addr, four.size());
    return from_v4(four.data());
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, &address, sizeof in6);
  std::memcpy(out.bytes.data(), &in6.sin6_addr, out.bytes.size());
  return out;
}

AddressKind kind_of(const IpAddress& address) {
  const IpAddress judged = address.embedded_v4().value_or(address);
  for (const ParsedRange& range : parsed_ranges())
    if (has_prefix(judged, range.first, range.bits)) return range.kind;
  return AddressKind::other;
}

Result<Network> Network::parse(std::string_view cidr) {
  const auto refusal = [&](std::string_view why) {
    return fail(Code::invalid, "expected a network such as 10.0.0.0/8 or fd00::/8, got \"{}\": {}",
                text::escaped(cidr.substr(0, 100)), why);
  };
  const std::size_t slash = cidr.find('/');
  const auto first = IpAddress::parse(cidr.substr(0, slash));
  if (!first) return refusal("no address before the slash");
  Network network;
  network.first_ = *first;
  if (slash == std::string_view::npos) return network;
  const std::string_view digits = cidr.substr(slash + 1);
  const unsigned most = first->is_v4() ? 32 : 128;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > most)
    return refusal("the length of the prefix is no number from 0 to that of the address");
  network.bits_ = first->is_v4() ? bits + kV4Bits : bits;
  IpAddress masked = *first;
  for (std::size_t bit = network.bits_; bit < 128; ++bit)
    masked.bytes[bit / 8] = static_cast<std::uint8_t>(masked.bytes[bit / 8] & ~(0x80U >> (bit % 8)));
  if (masked != *first)
    return refusal(message("bits are set behind the prefix; {} begins it", masked.text()));
  return network;
}

bool Network::contains(const IpAddress& address) const { return has_prefix(address, first_, bits_); }

}  // namespace slipway::plugin
