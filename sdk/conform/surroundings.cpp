// SPDX-License-Identifier: Apache-2.0
#include "conform/surroundings.hpp"

#include <algorithm>
#include <array>

namespace slipway::conform {

namespace {

std::uint64_t size_of(const InstanceType& type) {
  const Hardware& has = type.hardware;
  return has.mem_mib.value_or(0) + 1024 * std::uint64_t{has.cores.value_or(0)} +
         has.root_disk_mib.value_or(0) / 1024;
}

bool fits(const InstanceType& type, const std::string& zone) {
  const bool is_there = type.zones.empty() || zone.empty() ||
                        std::find(type.zones.begin(), type.zones.end(), zone) != type.zones.end();
  return !type.deprecated && is_there;
}

// By the names that operators use first, then whatever the cloud lists.
Result<std::string> choose_image(const Bench& bench, Subject& subject, Arch arch) {
  Error refusal;
  for (const char* os : {"debian-12", "ubuntu-24.04", "ubuntu-22.04", "busybox"}) {
    ImageRequest request;
    request.os = os;
    request.arch = arch == Arch::unknown ? Arch::amd64 : arch;
    auto image = subject.call(request);
    if (image) return std::move(image->image_id);
    refusal = std::move(image).error();
    if (refusal.code != Code::invalid && refusal.code != Code::not_found) break;
  }
  if (!bench.has<ImagesRequest>()) return refusal;
  SLIPWAY_TRY(const ImagesReply images, subject.call(ImagesRequest{}));
  if (images.items.empty()) return refusal;
  return images.items.front().id;
}

}  // namespace

Result<Surroundings> look_around(const Bench& bench, Subject& subject) {
  Surroundings around;
  if (bench.has<ZonesRequest>()) {
    SLIPWAY_TRY(const ZonesReply zones, subject.call(ZonesRequest{}));
    for (const Zone& zone : zones.zones) {
      if (around.zone.empty() && zone.available) around.zone = zone.name;
    }
  }
  if (bench.has<TypesRequest>()) {
    SLIPWAY_TRY(TypesReply types, subject.call(TypesRequest{}));
    std::erase_if(types.types, [&](const InstanceType& type) { return !fits(type, around.zone); });
    const auto smallest = std::min_element(
        types.types.begin(), types.types.end(),
        [](const InstanceType& a, const InstanceType& b) { return size_of(a) < size_of(b); });
    if (smallest != types.types.end()) {
      around.type = smallest->id;
      around.hardware = smallest->hardware;
    }
  }
  if (bench.has<ImageRequest>()) {
    SLIPWAY_TRY(around.image, choose_image(bench, subject, around.hardware.arch.value_or(Arch::unknown)));
  }
  if (bench.has<SubnetsRequest>()) {
    SLIPWAY_TRY(const SubnetsReply subnets, subject.call(SubnetsRequest{}));
    const auto found = std::find_if(subnets.items.begin(), subnets.items.end(), [&](const Subnet& subnet) {
      return subnet.zones.empty() ||
             std::find(subnet.zones.begin(), subnet.zones.end(), around.zone) != subnet.zones.end();
    });
    if (found != subnets.items.end()) around.subnet = found->id;
  }
  return around;
}

Surroundings made_up_surroundings() {
  Surroundings around;
  around.type = "conform-type";
  around.hardware = {Arch::amd64, 1, 512, 4096};
  around.image = "conform-image";
  around.zone = "conform-zone";
  around.subnet = "conform-subnet";
  return around;
}

}  // namespace slipway::conform
