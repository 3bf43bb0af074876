// SPDX-License-Identifier: Apache-2.0
// world.cpp - World: its time, its script and its books.
#include "sim/cloud/world.hpp"

#include <algorithm>

namespace slipway::sim {
namespace {

AddressRange checked_range(const std::string& cidr) {  // check_script has parsed it before
  return AddressRange::parse(cidr).value();
}

}  // namespace

World::World(Script script, std::int64_t now_ms)
    : script_(std::move(script)),
      now_ms_(now_ms),
      epoch_ms_(now_ms),
      public_range_(checked_range(script_.public_cidr)) {
  set_script(std::move(script_));
}

void World::set_script(Script script) {
  script_ = std::move(script);
  epoch_ms_ = now_ms_;
  for (const Subnet& subnet : script_.subnets) ranges_.try_emplace(subnet.id, checked_range(subnet.cidr));
}

std::span<const std::string_view> World::methods() {
  static const std::vector<std::string_view> kMethods = [] {
    std::vector<std::string_view> out;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, CloudRequests>>(
        [&](auto request) { out.push_back(decltype(request)::type::method); });
    return out;
  }();
  return kMethods;
}

void World::advance(std::int64_t now_ms) {
  while (!events_.empty() && events_.begin()->first.first <= now_ms) {
    const auto next = events_.extract(events_.begin());
    now_ms_ = std::max(now_ms_, next.key().first);
    next.mapped()();
  }
  now_ms_ = std::max(now_ms_, now_ms);
}

void World::at(std::int64_t when_ms, std::function<void()> event) {
  events_.emplace(std::pair(when_ms, next_event_++), std::move(event));
}

std::vector<Trace> World::traces() const {
  std::vector<Trace> out;
  servers_.append_traces(out);
  ports_.append_traces(out);
  public_addresses_.append_traces(out);
  groups_.append_traces(out);
  disks_.append_traces(out);
  own_images_.append_traces(out);
  allocations_.append_traces(out);
  return out;
}

}  // namespace slipway::sim
