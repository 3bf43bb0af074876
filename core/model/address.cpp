// SPDX-License-Identifier: Apache-2.0
#include "model/address.hpp"

#include "base/crash.hpp"
#include "base/text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace slipway::model {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

bool is_ipv6_text(std::string_view text) { return text.find(':') != std::string_view::npos; }

// By the C library, which takes no leading zeros, no spaces and no shortened IPv4 forms.
std::optional<Bytes> parse_ip(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  Bytes bytes{};
  const int family = is_ipv6_text(text) ? AF_INET6 : AF_INET;
  return inet_pton(family, std::string(text).c_str(), bytes.data()) == 1 ? std::optional(bytes)
                                                                         : std::nullopt;
}

std::string ip_text(const Bytes& bytes, bool is_ipv6) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const char* text = inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
  SLIPWAY_ASSERT(text != nullptr);  // fails only for another family or a buffer that is too small
  return text;
}

void clear_behind(Bytes& bytes, unsigned prefix) {
  for (unsigned i = 0; i < bytes.size(); ++i) {
    const unsigned kept = prefix <= 8 * i ? 0 : std::min(8U, prefix - 8 * i);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xff00U >> kept));
  }
}

struct KnownNetwork {
  Cidr cidr;
  AddressScope scope;
};

// The IANA registries of special-purpose addresses, as far as machines have them. What is in none is public.
const std::vector<KnownNetwork>& known_networks() {
  static const std::vector<KnownNetwork> networks = [] {
    constexpr std::pair<std::string_view, AddressScope> kNetworks[] = {
        {"127.0.0.0/8", AddressScope::machine_local},  {"::1/128", AddressScope::machine_local},
        {"169.254.0.0/16", AddressScope::link_local},  {"fe80::/10", AddressScope::link_local},
        {"10.0.0.0/8", AddressScope::cloud_local},     {"172.16.0.0/12", AddressScope::cloud_local},
        {"192.168.0.0/16", AddressScope::cloud_local}, {"fc00::/7", AddressScope::cloud_local},
        {"100.64.0.0/10", AddressScope::cloud_local},  // behind a carrier's NAT, RFC 6598
        {"0.0.0.0/8", AddressScope::unknown},          {"::/128", AddressScope::unknown},
        {"224.0.0.0/4", AddressScope::unknown},        {"ff00::/8", AddressScope::unknown},
        {"240.0.0.0/4", AddressScope::unknown},
    };
    std::vector<KnownNetwork> parsed;
    for (const auto& [text, scope] : kNetworks) parsed.push_back({Cidr::parse(text).value(), scope});
    return parsed;
  }();
  return networks;
}

AddressScope scope_of(const Cidr& host) {
  static const Cidr mapped = Cidr::parse("::ffff:0:0/96").value();
  if (mapped.contains(host)) {  // "::ffff:10.0.0.1/128"
    const std::string text = host.text();
    const std::size_t start = text.rfind(':') + 1;
    if (const auto inner = Cidr::host(std::string_view(text).substr(start, text.rfind('/') - start))) {
      return scope_of(*inner);
    }
  }
  for (const auto& [cidr, scope] : known_networks()) {
    if (cidr.contains(host)) return scope;
  }
  return AddressScope::public_;
}

// RFC 1123: labels of at most 63 letters, digits and inner hyphens, 253 in all. All digits would be a broken
// address.
bool is_hostname(std::string_view text) {
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_label = [&](std::string_view label) {
    return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
           std::all_of(label.begin(), label.end(), [&](char c) { return c == '-' || is_alnum(c); });
  };
  const auto labels = text::split(text, '.');
  return text.size() <= 253 && std::all_of(labels.begin(), labels.end(), is_label) &&
         labels.back().find_first_not_of("0123456789") != std::string_view::npos;
}

// The smaller the better; nothing: not to be shown.
std::optional<int> rank(const Address& address) {
  if (address.value.empty()) return std::nullopt;
  int rank = 0;
  switch (address.scope) {
    case AddressScope::public_:
      rank = 0;
      break;
    case AddressScope::cloud_local:
      rank = 10;
      break;
    case AddressScope::unknown:
      rank = 20;
      break;
    case AddressScope::machine_local:
    case AddressScope::link_local:
      return std::nullopt;
  }
  switch (address.kind) {
    case AddressKind::ipv4:
      return rank;
    case AddressKind::ipv6:
      return rank + 1;
    case AddressKind::hostname:
      return rank + 2;
    case AddressKind::unknown:
      break;
  }
  return rank + 3;
}

}  // namespace

Result<Cidr> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto ip = parse_ip(text.substr(0, slash));
  if (!ip)
    return fail(Code::invalid, "expected a network such as 10.0.0.0/24, got \"{}\"", text::escaped(text));
  const bool is_ipv6 = is_ipv6_text(text);
  const unsigned longest = is_ipv6 ? 128 : 32;
  if (slash == std::string_view::npos) {
    return fail(Code::invalid, "\"{}\" has no prefix length; for this address alone write {}/{}", text, text,
                longest);
  }
  const std::string_view digits = text.substr(slash + 1);
  unsigned prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  if (!is_number || prefix > longest || (digits.size() > 1 && digits.front() == '0')) {
    return fail(Code::invalid, "expected a prefix length from 0 to {} behind the /, got \"{}\"", longest,
                text::escaped(text));
  }
  Cidr cidr;
  cidr.bytes_ = *ip;
  cidr.prefix_ = static_cast<std::uint8_t>(prefix);
  cidr.is_ipv6_ = is_ipv6;
  clear_behind(cidr.bytes_, prefix);
  if (cidr.bytes_ != *ip) {
    return fail(Code::invalid, "\"{}\" has bits behind its prefix (did you mean \"{}\"?)", text, cidr.text());
  }
  return cidr;
}

std::string Cidr::text() const { return message("{}/{}", ip_text(bytes_, is_ipv6_), prefix()); }

std::optional<Cidr> Cidr::host(std::string_view address) {
  const auto ip = parse_ip(address);
  if (!ip) return std::nullopt;
  Cidr cidr;
  cidr.bytes_ = *ip;
  cidr.is_ipv6_ = is_ipv6_text(address);
  cidr.prefix_ = cidr.is_ipv6_ ? 128 : 32;
  return cidr;
}

bool Cidr::contains(const Cidr& inner) const {
  if (inner.is_ipv6_ != is_ipv6_ || inner.prefix_ < prefix_) return false;
  auto bytes = inner.bytes_;
  clear_behind(bytes, prefix_);
  return bytes == bytes_;
}

Address classify(std::string_view text) {
  Address address;
  address.value = text;
  // "fe80::1%eth0": the interface is the reader's own affair.
  const std::string_view ip = is_ipv6_text(text) ? text.substr(0, text.find('%')) : text;
  if (const auto host = Cidr::host(ip)) {
    address.kind = host->is_ipv6() ? AddressKind::ipv6 : AddressKind::ipv4;
    address.scope = scope_of(*host);
  } else if (is_hostname(text)) {
    address.kind = AddressKind::hostname;
    if (text == "localhost") address.scope = AddressScope::machine_local;
  }
  return address;
}

const Address* address_to_show(std::span<const Address> addresses) {
  const Address* best = nullptr;
  std::optional<int> best_rank;
  for (const Address& address : addresses) {
    const auto own_rank = rank(address);
    if (!own_rank || (best_rank && *own_rank >= *best_rank)) continue;
    best = &address;
    best_rank = own_rank;
  }
  return best;
}

}  // namespace slipway::model
