// SPDX-License-Identifier: Apache-2.0
// law_groups.hpp - the groups that make something, as data: the same law (DESIGN 4.2) holds servers, ports,
// addresses, firewall groups and volumes, so one code holds them to it. Values.
#pragma once

#include "conform/surroundings.hpp"
#include "conform/trial.hpp"

#include <functional>
#include <string>
#include <vector>

namespace slipway::conform {

struct Page {
  std::vector<Item> items;
  std::string next_page;
  bool complete = true;
};

struct LawGroup {
  std::string name;  // "instances"
  std::string noun;  // "server"
  std::string make;  // methods
  std::string list;
  std::string remove;
  std::function<std::string(const MakeRequest& request, const Surroundings& around)> make_body;
  std::function<Result<Item>(const CallEnd& end)> made;
  std::function<Result<Page>(Subject& subject, const ListingRequest& request)> page;
  std::function<Result<DeleteReply>(Subject& subject, std::vector<std::string> ids)> destroy;
};

[[nodiscard]] const std::vector<LawGroup>& law_groups();

// The trial's nth: nonce, name and marker within the manifest's limits, no bound in time.
[[nodiscard]] MakeRequest make_request(const Trial& trial, unsigned number);
// What the trial's own are listed by; empty where the marker has room for one value only.
[[nodiscard]] Marker owner_of(const Trial& trial);
// All pages, of this trial's own.
[[nodiscard]] Result<Page> list_own(Trial& trial, Subject& subject, const LawGroup& group,
                                    std::uint32_t page_size = 500);
// Whatever the test's end, what it made is deleted.
void clean_up_at_end(Trial& trial, Subject& subject, const LawGroup& group);

}  // namespace slipway::conform
