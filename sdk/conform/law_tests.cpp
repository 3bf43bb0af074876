// SPDX-License-Identifier: Apache-2.0
#include "conform/law_tests.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <set>

namespace slipway::conform {

using namespace std::chrono_literals;

Result<LawRun> LawRun::begin(Trial& trial, const LawGroup& group) {
  LawRun run;
  run.trial_ = &trial;
  run.group_ = &group;
  SLIPWAY_TRY(run.subject_, trial.cloud_subject());
  SLIPWAY_TRY(run.around_, look_around(trial.bench(), *run.subject_));
  if (group.make == InterfaceCreateRequest::method && run.around_.subnet.empty()) {
    return not_applicable("the cloud has no subnet");
  }
  clean_up_at_end(trial, *run.subject_, group);
  return run;
}

Result<Item> LawRun::make(unsigned number) { return make(make_request(*trial_, number)); }

Result<Item> LawRun::make(const MakeRequest& request) {
  SLIPWAY_TRY(Item item, group_->made(subject_->raw(group_->make, group_->make_body(request, around_))));
  trial_->count_made(group_->name);
  if (!item.id.empty()) return item;
  return unmet("{} said yes; wanted the {}'s id, got none", group_->make, group_->noun)
      .why("without an id the core cannot tell it from another, nor delete it")
      .look_at(once_requests(*subject_))
      .to_do("answer the cloud's id; when its reply has none, fail() with outcome unknown");
}

Result<Page> LawRun::wait_for(const std::function<bool(const Page&)>& is_there,
                              std::chrono::milliseconds work) {
  const bool is_replay = bench().options.cloud == Cloud::replay;
  const auto lag = std::chrono::milliseconds(bench().manifest.visibility_lag_ms);
  const auto patience = is_replay ? 500ms : lag + work + 1000ms;
  const auto pause = is_replay ? 0ms : bench().is_self_contained ? 5ms : 200ms;
  const Deadline deadline = Deadline::after(bench().clock, patience);
  while (true) {
    SLIPWAY_TRY(Page page, list_own(*trial_, *subject_, *group_));
    if (is_there(page) || deadline.has_passed(bench().clock)) return page;
    Event soon(bench().clock);
    static_cast<void>(soon.wait(Deadline::after(bench().clock, pause)));
  }
}

Status LawRun::destroy(const std::vector<std::string>& ids, std::string_view what) {
  SLIPWAY_TRY(const DeleteReply reply, group_->destroy(*subject_, ids));
  if (reply.results.size() != ids.size()) {
    return unmet("{} was called for {} ids; wanted a result for each, got {}", group_->remove, ids.size(),
                 reply.results.size())
        .why("the core looks up each id's own result")
        .look_at(group_->remove)
        .to_do("use each<...>() of the SDK, which does that");
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const IdResult& result = reply.results[i];
    if (result.id == ids[i] && !result.error) continue;
    return unmet("{} was called for {} ({}); wanted success, got {}", group_->remove, ids[i], what,
                 result.error ? result.error->message : "the result of " + result.id)
        .why("a deletion is repeated after a lost answer, and what is not there counts as deleted")
        .look_at("what the cloud answers to a second deletion (404, 410, 409)")
        .to_do("take \"not there\" as success; results in the order of the request's ids");
  }
  return ok();
}

const Item* find_item(const Page& page, const std::string& id) {
  const auto found =
      std::find_if(page.items.begin(), page.items.end(), [&](const Item& item) { return item.id == id; });
  return found == page.items.end() ? nullptr : &*found;
}

std::string once_requests(const Subject& subject) {
  std::string out;
  std::set<std::string> seen;
  for (const plugin::Exchange& exchange : subject.exchanges()) {
    if (!exchange.request.once || !seen.insert(plugin::shown(exchange.request)).second) continue;
    out += (out.empty() ? "" : ", ") + plugin::shown(exchange.request);
  }
  return out;
}

namespace {

bool is_over(const Item& item) { return item.state == State::gone || item.state == State::stopping; }

Status makes(LawRun& run) {
  SLIPWAY_TRY(const Item item, run.make(1));
  if (!is_over(item) && item.state != State::failed) return ok();
  return unmet("{} said yes; wanted a {} that is being made, got state {}", run.group().make,
               run.group().noun, item.state)
      .why("the core would delete it and start another")
      .look_at("how the cloud's states become Slipway's")
      .to_do("answer building as soon as the cloud accepted, running when it is ready");
}

Status lists_it(LawRun& run) {
  const MakeRequest request = make_request(run.trial(), 1);
  SLIPWAY_TRY(const Item made, run.make(request));
  SLIPWAY_TRY(const Page page, run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  const Item* item = find_item(page, made.id);
  if (item == nullptr || page.items.size() != 1) {
    return unmet(
               "{} {} was made and listed by its owner for {} ms (visibility_lag_ms, and a second); wanted "
               "it alone, "
               "got {} others and {}",
               run.group().noun, made.id, run.bench().manifest.visibility_lag_ms + 1000,
               page.items.size() - (item == nullptr ? 0 : 1), item == nullptr ? "not it" : "it")
        .why("the core finds by this list what a lost answer made; what is missing there is made again")
        .look_at("how the owner's marker becomes the cloud's filter, and info().visibility_lag_ms")
        .to_do("list what bears all entries of owner; raise visibility_lag_ms if the cloud is slower");
  }
  for (const auto& [key, value] : request.marker) {
    const auto found = item->marker.find(key);
    if (found != item->marker.end() && found->second == value) continue;
    return unmet("{} {} was made with the marker {}={}; wanted it in the list unchanged, got {}",
                 run.group().noun, made.id, key, value,
                 found == item->marker.end() ? std::string("none") : found->second)
        .why("only what bears our mark may ever be deleted, and only by it a try is found again")
        .look_at("where the marker is written and read")
        .to_do("write and read every entry as it is");
  }
  return ok();
}

Status keeps_name(LawRun& run) {
  const MakeRequest request = make_request(run.trial(), 1);
  SLIPWAY_TRY(const Item made, run.make(request));
  SLIPWAY_TRY(const Page page, run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  const Item* item = find_item(page, made.id);
  if (item != nullptr && item->name == request.name) return ok();
  return unmet("a {} was made with the name {}; wanted it in the list, got {}", run.group().noun,
               request.name, item == nullptr ? std::string("nothing") : item->name)
      .why("people find it in the cloud's own pages by it")
      .look_at("the request's and the item's name")
      .to_do("give the name to the cloud, and back");
}

Status two_nonces(LawRun& run) {
  SLIPWAY_TRY(const Item first, run.make(1));
  SLIPWAY_TRY(const Item second, run.make(2));
  if (first.id == second.id) {
    return unmet("{} was called with two nonces; wanted two {}s, got {} twice", run.group().make,
                 run.group().noun, first.id)
        .why("two machines would be one")
        .look_at(once_requests(run.subject()))
        .to_do("let the nonce, not the machine or the marker's owner, be the key");
  }
  SLIPWAY_TRY(const Page page, run.wait_for([&](const Page& p) {
    return find_item(p, first.id) != nullptr && find_item(p, second.id) != nullptr;
  }));
  if (find_item(page, first.id) != nullptr && find_item(page, second.id) != nullptr) return ok();
  return unmet("{} and {} were made and listed; wanted both, got {} items", first.id, second.id,
               page.items.size())
      .why("what is missing in a complete list is made again");
}

bool is_idempotent(const LawRun& run) {
  if (run.group().make == StartRequest::method) return run.bench().manifest.start_is_idempotent;
  return run.group().make == FirewallEnsureRequest::method;
}

std::string nonce_is_sent(const LawRun& run, const std::string& nonce) {
  for (const plugin::Exchange& exchange : run.subject().exchanges()) {
    const auto& headers = exchange.request.headers;
    const bool has_it = exchange.request.url.find(nonce) != std::string::npos ||
                        std::any_of(headers.begin(), headers.end(), [&](const HttpHeader& header) {
                          return header.value.find(nonce) != std::string::npos;
                        });
    if (exchange.request.once && !has_it)
      return plugin::shown(exchange.request) + " had no header that holds the nonce";
  }
  return once_requests(run.subject());
}

Status same_nonce(LawRun& run) {
  if (!is_idempotent(run)) return not_applicable("start_is_idempotent is false");
  const MakeRequest request = make_request(run.trial(), 1);
  SLIPWAY_TRY(const Item first, run.make(request));
  SLIPWAY_TRY(const Item second, run.make(request));
  if (first.id == second.id) return ok();
  const bool is_start = run.group().make == StartRequest::method;
  const std::string method = run.group().make.substr(run.group().make.find('.') + 1);
  return unmet("{} was called twice with nonce {}; wanted one {}, got {} and {}",
               method.substr(0, method.find('/')), request.nonce.substr(0, 8), run.group().noun, first.id,
               second.id)
      .why(is_start
               ? "info().start_is_idempotent is true, so the core sends a start again after a lost answer"
               : "a group of this name and marker that is there already is the answer")
      .look_at(nonce_is_sent(run, request.nonce))
      .to_do(is_start ? "send it as Idempotency-Key, or set start_is_idempotent = false (the core then lists "
                        "by marker "
                        "before it tries again)"
                      : "look for the group before making it");
}

Status deletes(LawRun& run) {
  SLIPWAY_TRY(const Item made, run.make(1));
  SLIPWAY_TRY(run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  SLIPWAY_TRY(run.destroy({made.id}, "it was there"));
  const auto is_gone = [&](const Page& p) {
    const Item* item = find_item(p, made.id);
    return item == nullptr || item->state == State::gone;
  };
  SLIPWAY_TRY(const Page page, run.wait_for(is_gone, 60s));
  if (is_gone(page)) return ok();
  return unmet("{} {} was deleted; wanted it gone from the list, got it with state {}", run.group().noun,
               made.id, find_item(page, made.id)->state)
      .why("a machine's row goes only when a complete list shows that all it had is gone")
      .look_at(run.group().remove)
      .to_do("answer with success only when the cloud accepted the deletion");
}

Status deletes_twice(LawRun& run) {
  SLIPWAY_TRY(const Item made, run.make(1));
  SLIPWAY_TRY(run.destroy({made.id}, "it was there"));
  SLIPWAY_TRY(run.destroy({made.id}, "a second time"));
  SLIPWAY_TRY(run.wait_for(
      [&](const Page& p) {
        const Item* item = find_item(p, made.id);
        return item == nullptr || item->state == State::gone;
      },
      60s));
  return run.destroy({made.id}, "after it had gone");
}

Status deletes_each(LawRun& run) {
  SLIPWAY_TRY(const Item first, run.make(1));
  SLIPWAY_TRY(const Item second, run.make(2));
  SLIPWAY_TRY(run.destroy({first.id}, "it was there"));
  return run.destroy({first.id, second.id}, "one was gone, the other there");
}

Status pages(LawRun& run) {
  constexpr unsigned kItems = 3;
  std::set<std::string> made;
  for (unsigned i = 1; i <= kItems; ++i) {
    SLIPWAY_TRY(const Item item, run.make(i));
    made.insert(item.id);
  }
  SLIPWAY_TRY(run.wait_for([&](const Page& p) { return p.items.size() >= kItems; }));
  SLIPWAY_TRY(const Page page, list_own(run.trial(), run.subject(), run.group(), 1));
  std::multiset<std::string> listed;
  for (const Item& item : page.items) listed.insert(item.id);
  if (listed == std::multiset<std::string>(made.begin(), made.end())) return ok();
  return unmet("{} {}s were made and listed with page_size 1; wanted each once, got {} items", kItems,
               run.group().noun, listed.size())
      .why("what falls between two pages is made again; what stands on two is counted twice")
      .look_at("how next_page and page become the cloud's own paging")
      .to_do("go on behind the last item, not at a position that moves");
}

Status owner_filters(LawRun& run) {
  const Marker owner = owner_of(run.trial());
  if (owner.empty()) return not_applicable("the marker has room for one value");
  SLIPWAY_TRY(const Item made, run.make(1));
  SLIPWAY_TRY(run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  ListingRequest request;
  request.owner = {{owner.begin()->first, "0000conform-nobody"}};
  SLIPWAY_TRY(const Page page, run.group().page(run.subject(), request));
  if (page.items.empty()) return ok();
  return unmet("{} was asked for an owner that nothing has; wanted no items, got {} ({})", run.group().list,
               page.items.size(), page.items.front().id)
      .why("another environment's machines would be listed as this one's, and its orphans be deleted")
      .look_at("how the owner's marker becomes the cloud's filter")
      .to_do("where the cloud cannot filter by it, drop in the plugin what lacks an entry of owner");
}

Status marker_at_limit(LawRun& run) {
  const MarkerForm& form = run.bench().manifest.marker;
  MakeRequest request = make_request(run.trial(), 1);
  for (std::size_t i = request.marker.size(); i < std::min<std::size_t>(form.max_entries, 8); ++i) {
    request.marker["slipway-" + std::to_string(i)] = "x";
  }
  constexpr std::uint32_t kLongest = 255;
  for (auto& [key, value] : request.marker) {
    if (key != "slipway-owner") value.resize(std::min(form.max_value_bytes, kLongest), 'x');
  }
  SLIPWAY_TRY(const Item made, run.make(request));
  SLIPWAY_TRY(const Page page, run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  const Item* item = find_item(page, made.id);
  const bool is_same =
      item != nullptr && std::all_of(request.marker.begin(), request.marker.end(), [&](const auto& entry) {
        const auto found = item->marker.find(entry.first);
        return found != item->marker.end() && found->second == entry.second;
      });
  if (is_same) return ok();
  return unmet(
             "a {} was made with a marker of {} entries of {} bytes, as info().marker allows; wanted them "
             "back, got {}",
             run.group().noun, request.marker.size(), std::min(form.max_value_bytes, kLongest),
             item == nullptr ? std::string("no such item")
                             : slipway::detail::excerpt(json::serialize(to_json(item->marker)), 120))
      .why("a marker that is cut is no proof, and what it is on is never deleted")
      .look_at("info().marker, and the cloud's own limits")
      .to_do("say the limits that hold");
}

Status unicode_name(LawRun& run) {
  MakeRequest request = make_request(run.trial(), 1);
  request.name = "slipway-\xc3\xbc\xe6\xbc\xa2-1";
  if (request.name.size() > run.bench().manifest.max_name_bytes) return not_applicable("names are too short");
  const CallEnd end = run.subject().raw(run.group().make, run.group().make_body(request, run.around()));
  const auto made = run.group().made(end);
  if (!made) {
    if (made.error().code == Code::invalid) return ok();
    return unmet("a {} was made with a name that is not ASCII; wanted it, or invalid, got {}: {}",
                 run.group().noun, made.error().code, made.error().message)
        .why("only invalid tells the operator that trying again is of no use")
        .look_at(once_requests(run.subject()))
        .to_do("send UTF-8 as it is; answer invalid to what the cloud refuses");
  }
  run.trial().count_made(run.group().name);
  SLIPWAY_TRY(const Page page,
              run.wait_for([&](const Page& p) { return find_item(p, made->id) != nullptr; }));
  const Item* item = find_item(page, made->id);
  if (item != nullptr && item->name == request.name) return ok();
  return unmet("a {} was made with the name {}; wanted it in the list, got {}", run.group().noun,
               request.name, item == nullptr ? std::string("nothing") : item->name)
      .why("people find it in the cloud's own pages by it");
}

Status not_after(LawRun& run) {
  MakeRequest request = make_request(run.trial(), 1);
  request.not_after_ns = 1;  // long ago
  const CallEnd end = run.subject().raw(run.group().make, run.group().make_body(request, run.around()));
  SLIPWAY_TRY(const Page page, run.wait_for([](const Page& p) { return !p.items.empty(); }));
  if (!end.is_ok() && end.error().outcome == Outcome::rejected && page.items.empty()) return ok();
  return unmet(
             "{} was called when its time (not_after_ns) had passed; wanted nothing made and outcome "
             "rejected, got {} "
             "{}s and {}",
             run.group().make, page.items.size(), run.group().noun,
             end.is_ok() ? std::string("a reply")
                         : message("outcome {}: {}", end.error().outcome, end.error().message))
      .why("the core counts on it that nothing is made later: it makes another one")
      .look_at(once_requests(run.subject()))
      .to_do(
          "mark the request once(), which hands not_after_ns on; without HTTP compare it with clock.now/1 "
          "just before "
          "the effect");
}

Status marked_once(LawRun& run) {
  if (run.bench().is_self_contained) return not_applicable("the plugin sends no HTTP request");
  SLIPWAY_TRY(run.make(1));
  if (run.subject().requests() == 0) return not_applicable("the plugin sends no HTTP request");
  if (!once_requests(run.subject()).empty()) return ok();
  return unmet("{} made a {}; wanted one request marked once, got none", run.group().make, run.group().noun)
      .why("what is not marked may be sent a second time when a connection drops")
      .look_at(run.group().make)
      .to_do("http.post(...).once().send(call)");
}

}  // namespace

void add_law_tests(const LawGroup& group, Tests& tests) {
  const auto add = [&](const char* name, Status (*body)(LawRun&)) {
    // "start-same-nonce" for machines, "volumes-same-nonce" for the others.
    const std::string prefix = group.name == "instances" ? "start" : group.name;
    tests.push_back({"semantics/" + prefix + "-" + name, [&group, body](Trial& trial) -> Status {
                       SLIPWAY_TRY(LawRun run, LawRun::begin(trial, group));
                       return body(run);
                     }});
  };
  add("makes-one", makes);
  add("is-listed", lists_it);
  add("keeps-name", keeps_name);
  add("two-nonces", two_nonces);
  add("same-nonce", same_nonce);
  add("deleted", deletes);
  add("deleted-twice", deletes_twice);
  add("deleted-each", deletes_each);
  add("pages", pages);
  add("owner-filters", owner_filters);
  add("marker-at-limit", marker_at_limit);
  add("unicode-name", unicode_name);
  add("not-after", not_after);
  add("marked-once", marked_once);
}

}  // namespace slipway::conform
