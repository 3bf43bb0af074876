// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/script.hpp"

#include "sim/cloud/address_range.hpp"
#include "sim/cloud/world.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <set>

namespace slipway::sim {
namespace {

InstanceType type(const char* name, std::uint32_t cores, std::uint64_t mem_mib, std::uint64_t disk_mib,
                  std::uint64_t cost, Arch arch = Arch::amd64) {
  InstanceType out;
  out.id = name;
  out.name = name;
  out.hardware = {.arch = arch,
                  .cores = cores,
                  .mem_mib = mem_mib,
                  .root_disk_mib = disk_mib,
                  .cpu_power = std::uint64_t{cores} * 100};
  out.cost = cost;
  out.virt_type = "sim";
  return out;
}

Image image(const char* os, const char* title, Arch arch) {
  const std::string arch_name = boost::describe::enum_to_string(arch, "");
  Image out;
  out.id = message("img-{}-{}", os, arch_name);
  out.name = message("{} {}", title, arch_name);
  out.os = os;
  out.arch = arch;
  out.size_mib = 2'048;
  return out;
}

Status check_span(const std::string& place, std::int64_t from_ms, std::int64_t until_ms) {
  if (from_ms >= 0 && from_ms < until_ms) return ok();
  return fail(Code::invalid, "{}: expected 0 <= from_ms < until_ms, got {} and {}", place, from_ms, until_ms);
}

Status check_method(const std::string& place, const std::string& pattern) {
  const auto& methods = World::methods();
  if (std::any_of(methods.begin(), methods.end(), [&](auto m) { return matches_method(pattern, m); })) {
    return ok();
  }
  return fail(Code::invalid,
              "{}: no method of the cloud is meant by {}; write as instances.start/1 or volumes.*", place,
              pattern);
}

Status check_fault(const std::string& place, const Fault& fault, const Script& script) {
  const auto is_one_of = [&](auto... actions) { return ((fault.action == actions) || ...); };
  if (fault.action == FaultAction::unknown) {
    return fail(Code::invalid, "{}.action: not one of the actions in sim/cloud/script.hpp", place);
  }
  SLIPWAY_TRY(check_method(place + ".method", fault.method));
  SLIPWAY_TRY(check_span(place, fault.from_ms, fault.until_ms));
  if (fault.nth && *fault.nth == 0)
    return fail(Code::invalid, "{}.nth: calls are counted from 1, got 0", place);
  if (!(fault.rate > 0 && fault.rate <= 1) || !(fault.share > 0 && fault.share <= 1)) {
    return fail(Code::invalid, "{}: rate and share are above 0 and at most 1, got {} and {}", place,
                fault.rate, fault.share);
  }
  if (fault.delay_ms < 0 || fault.hang_ms < 0) {
    return fail(Code::invalid, "{}: delay_ms and hang_ms are not below 0, got {} and {}", place,
                fault.delay_ms, fault.hang_ms);
  }
  if (is_one_of(FaultAction::error, FaultAction::error_after) && !fault.error) {
    return fail(Code::invalid, "{}.error: missing; say {{\"code\": ..., \"message\": ...}}", place);
  }
  if (is_one_of(FaultAction::late_accept) && fault.delay_ms > script.late_accept_ms) {
    return fail(Code::invalid, "{}.delay_ms: {} is beyond the cloud's late_accept_ms of {}", place,
                fault.delay_ms, script.late_accept_ms);
  }
  if (is_one_of(FaultAction::fail_server) && !matches_method(fault.method, StartRequest::method)) {
    return fail(Code::invalid, "{}.method: fail_server is of instances.start/1, got {}", place, fault.method);
  }
  return ok();
}

template <class T, class Name>
Status check_distinct(const char* place, const std::vector<T>& elements, Name name) {
  std::set<std::string> seen;
  for (const T& element : elements) {
    const std::string& n = name(element);
    if (n.empty()) return fail(Code::invalid, "{}: one has an empty name", place);
    if (!seen.insert(n).second) return fail(Code::invalid, "{}: {} is there twice", place, n);
  }
  return ok();
}

Status check_numbers(const Script& s) {
  for (const auto& [name, value] :
       {std::pair("boot_ms", s.boot_ms), std::pair("stop_ms", s.stop_ms), std::pair("volume_ms", s.volume_ms),
        std::pair("latency_ms", s.latency_ms), std::pair("latency_spread_ms", s.latency_spread_ms),
        std::pair("visibility_lag_ms", s.visibility_lag_ms), std::pair("late_accept_ms", s.late_accept_ms)}) {
    if (value < 0) return fail(Code::invalid, "{}: expected 0 or more, got {}", name, value);
  }
  if (s.max_page == 0) return fail(Code::invalid, "max_page: expected 1 or more, got 0");
  if (s.rate_limit && !(s.rate_limit->per_s > 0 && s.rate_limit->burst >= 1)) {
    return fail(Code::invalid, "rate_limit: expected per_s above 0 and burst of at least 1");
  }
  return ok();
}

}  // namespace

std::vector<ZoneSpec> usual_zones() { return {{"az1", {}, {}}, {"az2", {}, {}}, {"az3", {}, {}}}; }

std::vector<InstanceType> usual_types() {
  return {type("small", 1, 1'024, 10'240, 10), type("medium", 2, 4'096, 20'480, 20),
          type("large", 4, 8'192, 40'960, 40), type("huge", 16, 65'536, 163'840, 160),
          type("arm-medium", 2, 4'096, 20'480, 15, Arch::arm64)};
}

std::vector<Image> usual_images() {
  std::vector<Image> out;
  for (const Arch arch : {Arch::amd64, Arch::arm64}) {
    out.push_back(image("ubuntu-24.04", "Ubuntu 24.04", arch));
    out.push_back(image("debian-12", "Debian 12", arch));
  }
  return out;
}

std::vector<Subnet> usual_subnets() {
  Subnet inner;
  inner.id = "net-1";
  inner.name = "inner";
  inner.cidr = "10.20.0.0/16";
  inner.network = "vpc-1";
  Subnet second;
  second.id = "net-2";
  second.name = "second";
  second.cidr = "10.21.0.0/16";
  second.network = "vpc-1";
  return {inner, second};
}

Result<Script> parse_script(std::string_view text) {
  SLIPWAY_TRY(Script script, decode<Script>(text, {.unknown_fields = UnknownFields::refuse}));
  SLIPWAY_TRY(check_script(script));
  return script;
}

Status check_script(const Script& script) {
  SLIPWAY_TRY(check_numbers(script));
  SLIPWAY_TRY(check_distinct("zones", script.zones, [](const ZoneSpec& z) { return z.name; }));
  SLIPWAY_TRY(check_distinct("types", script.types, [](const InstanceType& t) { return t.id; }));
  SLIPWAY_TRY(check_distinct("images", script.images, [](const Image& i) { return i.id; }));
  SLIPWAY_TRY(check_distinct("subnets", script.subnets, [](const Subnet& s) { return s.id; }));
  if (script.zones.empty()) return fail(Code::invalid, "zones: a cloud has at least one");
  for (const ZoneSpec& zone : script.zones) {
    for (const Outage& outage : zone.outages) {
      SLIPWAY_TRY(check_span(message("zones.{}.outages", zone.name), outage.from_ms, outage.until_ms));
    }
  }
  for (const Subnet& subnet : script.subnets) {
    if (auto range = AddressRange::parse(subnet.cidr); !range) {
      return std::move(range).error().within(message("subnets.{}.cidr", subnet.id));
    }
  }
  if (auto range = AddressRange::parse(script.public_cidr); !range) {
    return std::move(range).error().within("public_cidr");
  }
  for (const auto& [resource, limit] : script.quotas) {
    if (!World::is_quota(resource)) {
      return fail(Code::invalid, "quotas.{}: no such resource; see Script::quotas", resource);
    }
  }
  for (const auto& [method, latency_ms] : script.latency_of_ms) {
    SLIPWAY_TRY(check_method("latency_of_ms", method));
    if (latency_ms < 0)
      return fail(Code::invalid, "latency_of_ms.{}: expected 0 or more, got {}", method, latency_ms);
  }
  for (std::size_t i = 0; i < script.faults.size(); ++i) {
    SLIPWAY_TRY(check_fault(message("faults[{}]", i), script.faults[i], script));
  }
  return ok();
}

bool matches_method(std::string_view pattern, std::string_view method) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == method;
  const std::string_view begin = pattern.substr(0, star);
  const std::string_view end = pattern.substr(star + 1);
  return method.size() >= begin.size() + end.size() && method.starts_with(begin) && method.ends_with(end);
}

}  // namespace slipway::sim
