// SPDX-License-Identifier: Apache-2.0
// catalogue.cpp - World: what there is to choose from (zones, types, images), and how much of it.
#include "sim/cloud/world.hpp"

#include <algorithm>

namespace slipway::sim {
namespace {

constexpr std::array<std::string_view, 8> kResources{"instances", "cores",           "mem_mib", "ports",
                                                     "addresses", "firewall_groups", "volumes", "volume_mib"};

std::vector<std::string> common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::copy_if(a.begin(), a.end(), std::back_inserter(out),
               [&](const std::string& x) { return std::find(b.begin(), b.end(), x) != b.end(); });
  return out;
}

}  // namespace

Result<ZonesReply> World::apply(const ZonesRequest&) {
  ZonesReply out;
  for (const ZoneSpec& zone : script_.zones) {
    const bool is_down = is_out(zone);
    out.zones.push_back({zone.name, !is_down, is_down ? "down for maintenance" : ""});
  }
  return out;
}

Result<DeriveZonesReply> World::apply(const DeriveZonesRequest& request) {
  std::vector<std::string> all;
  for (const ZoneSpec& zone : script_.zones) all.push_back(zone.name);
  std::vector<std::string> zones = all;
  if (request.placement.kind == PlacementKind::zone) {
    zones = common(zones, {request.placement.target});
    if (zones.empty()) return fail(Code::invalid, "there is no zone {}", request.placement.target).rejected();
  }
  for (const std::string& id : request.volume_ids) {
    const Disk* disk = disks_.find(id);
    if (disk == nullptr) return fail(Code::not_found, "there is no volume {}", id).rejected();
    zones = common(zones, {disk->zone});
  }
  for (const std::string& id : request.subnets) {
    const auto subnet = std::find_if(script_.subnets.begin(), script_.subnets.end(),
                                     [&](const Subnet& s) { return s.id == id; });
    if (subnet == script_.subnets.end()) return fail(Code::not_found, "there is no subnet {}", id).rejected();
    if (!subnet->zones.empty()) zones = common(zones, subnet->zones);
  }
  if (zones.empty()) {
    return fail(Code::invalid, "placement, volumes and subnets have no zone in common").rejected();
  }
  if (zones == all) zones.clear();
  return DeriveZonesReply{zones};
}

Result<TypesReply> World::apply(const TypesRequest&) { return TypesReply{script_.types}; }

// An id wins over everything; else the first image of the system that runs on the processor.
Result<ImageReply> World::apply(const ImageRequest& request) {
  const auto answer = [](const Image& image) {
    return ImageReply{image.id, image.name, image.size_mib, 512, image.arch};
  };
  if (!request.image_id.empty()) {
    if (const Image* image = image_of(request.image_id)) return answer(*image);
    return fail(Code::invalid, "there is no image {}", request.image_id).rejected();
  }
  std::vector<const Image*> all;
  own_images_.for_each([&](const OwnImage& own) { all.push_back(&own.image); });
  for (const Image& image : script_.images) all.push_back(&image);
  std::string known;
  for (const Image* image : all) {
    const bool fits_arch = request.arch == Arch::unknown || request.arch == image->arch;
    if (image->os == request.os && fits_arch) return answer(*image);
    known += (known.empty() ? "" : ", ") + image->name;
  }
  return fail(Code::invalid, "no image for os={}; this cloud has {}, or give image-id=", request.os, known)
      .rejected();
}

// Own ones first; one page.
Result<ImagesReply> World::apply(const ImagesRequest&) {
  ImagesReply out;
  own_images_.for_each([&](const OwnImage& own) { out.items.push_back(own.image); });
  out.items.insert(out.items.end(), script_.images.begin(), script_.images.end());
  return out;
}

Result<ImageAddReply> World::apply(const ImageAddRequest& request) {
  if (request.source.empty()) return fail(Code::invalid, "source: empty").rejected();
  OwnImage made;
  made.state = State::running;
  OwnImage& own = own_images_.add(std::move(made), request, now_ms_);
  own.image = {own.id, request.name, request.os, request.arch, 1'024, now_ms_, true};
  return ImageAddReply{own.image};
}

Result<ImageRemoveReply> World::apply(const ImageRemoveRequest& request) {
  ImageRemoveReply out;
  for (const std::string& id : request.ids) {
    const bool is_own = own_images_.find(id) != nullptr;
    out.results.push_back({id, {}});
    if (!is_own && image_of(id) != nullptr) {
      out.results.back().error = fail(Code::denied, "image {} is the cloud's", id).rejected();
    }
    own_images_.remove(id, now_ms_);
  }
  return out;
}

Result<ProbeReply> World::apply(const ProbeRequest&) {
  ProbeReply out;
  out.account = script_.account;
  out.region = script_.region;
  out.quotas = quotas();
  std::string zones;
  for (const ZoneSpec& zone : script_.zones) zones += " " + zone.name;
  out.checks.push_back({"compute", true, "zones" + zones});
  out.groups = script_.groups;
  return out;
}

Result<QuotaReply> World::apply(const QuotaRequest&) { return QuotaReply{quotas()}; }

std::vector<Quota> World::quotas() {
  std::vector<Quota> out;
  for (const auto& [resource, limit] : script_.quotas) out.push_back({resource, limit, used(resource)});
  return out;
}

bool World::is_quota(std::string_view resource) {
  return std::find(kResources.begin(), kResources.end(), resource) != kResources.end();
}

std::uint64_t World::used(const std::string& resource) {
  if (resource == "instances") return servers_.size();
  if (resource == "ports") return ports_.size();
  if (resource == "addresses") return public_addresses_.size();
  if (resource == "firewall_groups") return groups_.size();
  if (resource == "volumes") return disks_.size();
  std::uint64_t sum = 0;
  if (resource == "volume_mib") {
    disks_.for_each([&](const Disk& disk) { sum += disk.size_mib; });
  } else {
    servers_.for_each([&](const Server& server) {
      sum += resource == "cores" ? server.hardware.cores.value_or(0) : server.hardware.mem_mib.value_or(0);
    });
  }
  return sum;
}

Status World::check_quota(const std::string& resource, std::uint64_t more) {
  const auto limit = script_.quotas.find(resource);
  if (limit == script_.quotas.end() || more == 0) return ok();
  const std::uint64_t now = used(resource);
  if (now + more <= limit->second) return ok();
  return fail(Code::exhausted, "quota of {}: {} of {} are used, {} more are wanted", resource, now,
              limit->second, more)
      .scope(Scope::account)
      .quota(resource, limit->second, now)
      .rejected();
}

const ZoneSpec* World::zone_spec(const std::string& name) const {
  for (const ZoneSpec& zone : script_.zones) {
    if (zone.name == name) return &zone;
  }
  return nullptr;
}

bool World::is_out(const ZoneSpec& zone) const {
  return std::any_of(zone.outages.begin(), zone.outages.end(), [this](const Outage& outage) {
    return age_ms() >= outage.from_ms && age_ms() < outage.until_ms;
  });
}

const InstanceType* World::type_of(const std::string& id) const {
  for (const InstanceType& type : script_.types) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

const Image* World::image_of(const std::string& id) {
  if (const OwnImage* own = own_images_.find(id)) return &own->image;
  for (const Image& image : script_.images) {
    if (image.id == id) return &image;
  }
  return nullptr;
}

}  // namespace slipway::sim
