// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/address_range.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace slipway::sim {
namespace {

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t max) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out > max) return std::nullopt;
  return out;
}

std::optional<std::uint32_t> parse_address(std::string_view text) {
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto part = number(text.substr(0, dot), 255);
    if (!part) return std::nullopt;
    out = out << 8U | *part;
    text.remove_prefix(i < 3 ? dot + 1 : dot);
  }
  return out;
}

std::string format_address(std::uint32_t address) {
  return message("{}.{}.{}.{}", address >> 24U, address >> 16U & 255U, address >> 8U & 255U, address & 255U);
}

}  // namespace

Result<AddressRange> AddressRange::parse(std::string_view cidr) {
  const std::size_t slash = cidr.find('/');
  const auto base = parse_address(cidr.substr(0, slash));
  const auto bits = slash == std::string_view::npos ? std::nullopt : number(cidr.substr(slash + 1), 30);
  if (!base || !bits || *bits < 8) {
    return fail(Code::invalid, "expected an IPv4 range with 8 to 30 bits, as 10.20.0.0/16, got {}", cidr);
  }
  const std::uint32_t size = 1U << (32 - *bits);
  const std::uint32_t first = *base & ~(size - 1);
  return AddressRange(first + 2, first + size - 2, std::string(cidr));
}

Result<std::string> AddressRange::take() {
  const std::size_t count = std::size_t{last_ - first_} + 1;
  if (taken_.size() >= count) {
    return fail(Code::exhausted, "no free address in {}", cidr_).scope(Scope::region).rejected();
  }
  while (taken_.count(next_) != 0) next_ = next_ == last_ ? first_ : next_ + 1;
  const std::uint32_t address = next_;
  taken_.insert(address);
  next_ = next_ == last_ ? first_ : next_ + 1;
  return format_address(address);
}

Status AddressRange::take(const std::string& address) {
  const auto number = parse_address(address);
  if (!number || *number < first_ || *number > last_) {
    return fail(Code::invalid, "address {} is not one of {} that can be given out", address, cidr_)
        .rejected();
  }
  if (!taken_.insert(*number).second) {
    return fail(Code::conflict, "address {} of {} is taken", address, cidr_).rejected();
  }
  return ok();
}

void AddressRange::give_back(const std::string& address) {
  if (const auto number = parse_address(address)) taken_.erase(*number);
}

}  // namespace slipway::sim
