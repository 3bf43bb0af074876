// SPDX-License-Identifier: Apache-2.0
#include "conform/law_groups.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <set>

namespace slipway::conform {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kMaxPages = 1000;

template <class Make, class List, class Delete, class Fill, class ItemOf>
LawGroup law_group(std::string noun, Fill fill, ItemOf item_of) {
  LawGroup group;
  group.name = Make::method.substr(0, Make::method.find('.'));
  group.noun = std::move(noun);
  group.make = Make::method;
  group.list = List::method;
  group.remove = Delete::method;
  group.make_body = [fill](const MakeRequest& request, const Surroundings& around) {
    Make make;
    static_cast<MakeRequest&>(make) = request;
    fill(make, around);
    return encode(make);
  };
  group.made = [item_of](const CallEnd& end) -> Result<Item> {
    auto reply = plugin::read_reply<Make>(end.status, end.body);
    if (!reply) return std::move(reply).error().within(Make::method);
    return Item(item_of(*reply));
  };
  group.page = [](Subject& subject, const ListingRequest& request) -> Result<Page> {
    List list;
    static_cast<ListingRequest&>(list) = request;
    SLIPWAY_TRY(const auto reply, subject.call(list));
    return Page{{reply.items.begin(), reply.items.end()}, reply.next_page, reply.complete};
  };
  group.destroy = [](Subject& subject, std::vector<std::string> ids) -> Result<DeleteReply> {
    Delete request;
    request.ids = std::move(ids);
    SLIPWAY_TRY(auto reply, subject.call(request));
    return DeleteReply(std::move(reply));
  };
  return group;
}

std::vector<LawGroup> make_groups() {
  std::vector<LawGroup> groups;
  groups.push_back(law_group<StartRequest, ListRequest, StopRequest>(
      "server",
      [](StartRequest& r, const Surroundings& around) {
        r.machine = "0";
        r.type = around.type;
        r.hardware = around.hardware;
        r.image = around.image;
        if (!around.zone.empty()) r.zone = around.zone;
        if (!around.subnet.empty()) r.subnets = {around.subnet};
        r.user_data = {"#cloud-config\n"};
      },
      [](const StartReply& reply) { return reply.instance; }));
  groups.push_back(law_group<InterfaceCreateRequest, InterfaceListRequest, InterfaceDeleteRequest>(
      "interface",
      [](InterfaceCreateRequest& r, const Surroundings& around) {
        r.machine = "0";
        r.subnet = around.subnet;
      },
      [](const InterfaceCreateReply& reply) { return reply.interface; }));
  groups.push_back(law_group<AddressClaimRequest, AddressListRequest, AddressReleaseRequest>(
      "address", [](AddressClaimRequest& r, const Surroundings&) { r.machine = "0"; },
      [](const AddressClaimReply& reply) { return reply.address; }));
  groups.push_back(law_group<FirewallEnsureRequest, FirewallListRequest, FirewallRemoveRequest>(
      "firewall group",
      [](FirewallEnsureRequest& r, const Surroundings&) {
        r.target.mode = FirewallMode::instance;
        r.target.machine = "0";
      },
      [](const FirewallEnsureReply& reply) { return reply.group; }));
  groups.push_back(law_group<VolumeCreateRequest, VolumeListRequest, VolumeDestroyRequest>(
      "volume",
      [](VolumeCreateRequest& r, const Surroundings& around) {
        r.parameters.tag = "0";
        r.parameters.size_mib = 1024;
        r.zone = around.zone;
      },
      [](const VolumeCreateReply& reply) { return reply.volume; }));
  return groups;
}

}  // namespace

const std::vector<LawGroup>& law_groups() {
  static const std::vector<LawGroup> groups = make_groups();
  return groups;
}

Marker owner_of(const Trial& trial) {
  const Bench& bench = trial.bench();
  if (bench.manifest.marker.max_entries < 2) return {};
  return {{"slipway-owner", trial.owner()}};
}

MakeRequest make_request(const Trial& trial, unsigned number) {
  const Bench& bench = trial.bench();
  MakeRequest request;
  request.nonce = trial.nonce(number);
  request.name = "slipway-" + trial.owner().substr(0, 8) + "-conform-" + std::to_string(number);
  request.name.resize(std::min<std::size_t>(request.name.size(), bench.manifest.max_name_bytes));
  request.marker = owner_of(trial);
  if (request.marker.empty()) {
    request.marker = {{"slipway", trial.owner() + "-" + request.nonce}};
  } else {
    request.marker["slipway-nonce"] = request.nonce;
  }
  return request;
}

Result<Page> list_own(Trial& trial, Subject& subject, const LawGroup& group, std::uint32_t page_size) {
  Page all;
  ListingRequest request;
  request.owner = owner_of(trial);
  request.page_size = page_size;
  std::set<std::string> pages;
  for (unsigned i = 0; i < kMaxPages; ++i) {
    SLIPWAY_TRY(Page page, group.page(subject, request));
    for (Item& item : page.items) {
      const auto owner = item.marker.find("slipway");
      const bool is_foreign =
          request.owner.empty() && (owner == item.marker.end() || !owner->second.starts_with(trial.owner()));
      if (!is_foreign) all.items.push_back(std::move(item));
    }
    all.complete = all.complete && page.complete;
    if (page.next_page.empty()) return all;
    if (!pages.insert(page.next_page).second) break;
    request.page = page.next_page;
  }
  return unmet("{} was asked page by page; wanted an end, got {} pages, the last one a second time",
               group.list, pages.size())
      .why("a listing that never ends is never complete, so nothing can be concluded from it")
      .look_at("next_page of the reply, and page of the request")
      .to_do("answer an empty next_page with the last page");
}

void clean_up_at_end(Trial& trial, Subject& subject, const LawGroup& group) {
  trial.at_end([&trial, &subject, &group] {
    subject.faults().set({});
    auto& bench = trial.bench();
    if (!bench.needs_cloud()) return;
    const auto deadline =
        Deadline::after(bench.clock, std::chrono::milliseconds(bench.manifest.visibility_lag_ms) + 30s);
    bench.made += trial.made(group.name);
    while (!deadline.has_passed(bench.clock)) {
      const auto page = list_own(trial, subject, group);
      if (!page) break;
      std::vector<std::string> ids;
      for (const Item& item : page->items) {
        if (item.state != State::gone) ids.push_back(item.id);
      }
      if (ids.empty()) {
        bench.gone += trial.made(group.name);
        return;
      }
      if (!group.destroy(subject, ids)) break;
      if (bench.options.cloud == Cloud::replay) return;
      Event soon(bench.clock);
      static_cast<void>(soon.wait(Deadline::after(bench.clock, bench.is_self_contained ? 5ms : 250ms)));
    }
  });
}

}  // namespace slipway::conform
