// SPDX-License-Identifier: Apache-2.0
// instance_tests.cpp - what only machines and catalogues have: probe, get, types, zones, images, objects; and
// the methods that a plugin may lack.
#include "conform/law_tests.hpp"
#include "conform/methods.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <set>

namespace slipway::conform {

namespace {

using namespace std::chrono_literals;

const LawGroup& machines() { return law_groups().front(); }

Status probe(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  SLIPWAY_TRY(const ProbeReply reply, subject->call(ProbeRequest{}));
  if (!reply.account.empty()) return ok();
  return unmet("account.probe was called; wanted the account's name, got none")
      .why("an operator sees by it whose account an environment works in")
      .look_at("ProbeReply.account")
      .to_do("answer what the cloud calls the account: a project, a user, a tenant");
}

Status get(Trial& trial) {
  SLIPWAY_TRY(LawRun run, LawRun::begin(trial, machines()));
  SLIPWAY_TRY(const Item made, run.make(1));
  SLIPWAY_TRY(run.wait_for([&](const Page& p) { return find_item(p, made.id) != nullptr; }));
  SLIPWAY_TRY(const GetReply reply, run.subject().call(GetRequest{{made.id}}));
  const bool is_it = reply.results.size() == 1 && reply.results[0].id == made.id && reply.results[0].item &&
                     reply.results[0].item->id == made.id && !reply.results[0].error;
  if (is_it) return ok();
  return unmet("instances.get was called for {}; wanted it, got {}", made.id,
               slipway::detail::excerpt(encode(reply), 160))
      .why("the core asks so for one machine that it waits for")
      .look_at("instances.get")
      .to_do("answer one result for each id, with item or error");
}

Status get_gone(Trial& trial) {
  SLIPWAY_TRY(LawRun run, LawRun::begin(trial, machines()));
  SLIPWAY_TRY(const Item made, run.make(1));
  SLIPWAY_TRY(run.destroy({made.id}, "it was there"));
  SLIPWAY_TRY(run.wait_for(
      [&](const Page& p) {
        const Item* item = find_item(p, made.id);
        return item == nullptr || item->state == State::gone;
      },
      60s));
  SLIPWAY_TRY(const GetReply reply, run.subject().call(GetRequest{{made.id}}));
  const GetResult result = reply.results.empty() ? GetResult{} : reply.results.front();
  const bool is_gone =
      (result.error && result.error->code == Code::not_found) ||
      (result.item && (result.item->state == State::gone || result.item->state == State::stopping));
  if (is_gone) return ok();
  return unmet("{} was deleted and asked for; wanted not_found, or state gone, got {}", made.id,
               slipway::detail::excerpt(encode(reply), 160))
      .why("a machine's row goes only when the cloud says a definite no")
      .look_at("what instances.get does with 404 and 410")
      .to_do("answer not_found for that id alone");
}

Status get_mixed(Trial& trial) {
  SLIPWAY_TRY(LawRun run, LawRun::begin(trial, machines()));
  SLIPWAY_TRY(const Item gone, run.make(1));
  SLIPWAY_TRY(const Item there, run.make(2));
  SLIPWAY_TRY(run.destroy({gone.id}, "it was there"));
  SLIPWAY_TRY(const GetReply reply, run.subject().call(GetRequest{{gone.id, there.id}}));
  const bool is_good = reply.results.size() == 2 && reply.results[0].id == gone.id &&
                       reply.results[1].id == there.id && reply.results[1].item;
  if (is_good) return ok();
  return unmet(
             "instances.get was called for {} (deleted) and {}; wanted a result for each in this order, got "
             "{}",
             gone.id, there.id, slipway::detail::excerpt(encode(reply), 200))
      .why("one machine that is gone must not hide the others")
      .look_at("instances.get")
      .to_do("use each<GetReply>() of the SDK");
}

// A value that the cloud does not have is the request's mistake, and nothing is made.
Status refuses_unknown(Trial& trial, const char* what, const std::function<void(StartRequest&)>& spoil) {
  SLIPWAY_TRY(LawRun run, LawRun::begin(trial, machines()));
  SLIPWAY_TRY(StartRequest request,
              decode<StartRequest>(machines().make_body(make_request(trial, 1), run.around())));
  spoil(request);
  const auto reply = run.subject().call(request);
  if (reply) {
    trial.count_made(machines().name);
    return unmet("start was called with {} that is not there; wanted an error, got {}", what,
                 reply->instance.id)
        .why("an operator's mistake would become another machine than was asked for");
  }
  const Error& error = reply.error();
  const bool is_right = error.code == Code::invalid || error.code == Code::not_found;
  if (is_right && error.outcome == Outcome::rejected) return ok();
  return unmet(
             "start was called with {} that is not there; wanted invalid or not_found, rejected, got {}, {}: "
             "{}",
             what, error.code, error.outcome, error.message)
      .why("with any other code the core would try again and again")
      .look_at(once_requests(run.subject()))
      .to_do("map the cloud's 400, 404 and 422 to invalid, with rejected()");
}

template <class Names>
Status unique(std::string_view method, const Names& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!name.empty() && seen.insert(name).second) continue;
    return unmet("{} was called; wanted names that are unique and not empty, got \"{}\"", method, name)
        .why("the core chooses by them, and says what it chose");
  }
  if (!seen.empty()) return ok();
  return unmet("{} was called; wanted at least one, got none", method)
      .why("without one no machine can be started")
      .look_at("which part of the cloud's answer the plugin reads")
      .to_do("list all that the account may use");
}

Status types(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  SLIPWAY_TRY(const TypesReply reply, subject->call(TypesRequest{}));
  std::vector<std::string> ids;
  for (const InstanceType& type : reply.types) ids.push_back(type.id);
  return unique(TypesRequest::method, ids);
}

Status type_sizes(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  SLIPWAY_TRY(const TypesReply reply, subject->call(TypesRequest{}));
  for (const InstanceType& type : reply.types) {
    if (type.hardware.cores.value_or(0) > 0 && type.hardware.mem_mib.value_or(0) > 0) continue;
    return unmet("types.list was called; wanted cores and mem_mib of {}, got none", type.id)
        .why("the core picks the smallest type that fits, and cannot pick one of unknown size")
        .look_at("units: mem_mib and root_disk_mib are MiB")
        .to_do("fill hardware from what the cloud says of the type");
  }
  return ok();
}

Status zones(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  SLIPWAY_TRY(const ZonesReply reply, subject->call(ZonesRequest{}));
  std::vector<std::string> names;
  for (const Zone& zone : reply.zones) names.push_back(zone.name);
  return unique(ZonesRequest::method, names);
}

Status image_unknown(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  ImageRequest request;
  request.os = "conform-no-such-os";
  request.arch = Arch::amd64;
  const auto reply = subject->call(request);
  if (!reply && (reply.error().code == Code::invalid || reply.error().code == Code::not_found)) return ok();
  return unmet(
             "images.resolve was called with os=conform-no-such-os; wanted invalid with what there is, got "
             "{}",
             reply ? reply->image_id : reply.error().message)
      .why("an operator must see what may be asked for")
      .look_at("images.resolve")
      .to_do("fail(Code::invalid, ...) with the list of what the cloud has");
}

Status objects(Trial& trial) {
  SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
  const std::string key = "conform/" + trial.nonce(1);
  const auto remove = [&]() -> Status {
    ObjectRemoveRequest request;
    request.ids = {key};
    SLIPWAY_TRY(subject->call(request));
    return ok();
  };
  trial.at_end([subject, remove] {
    subject->faults().set({});
    static_cast<void>(remove().has_value());
  });
  const std::string data("bytes \0 of an object \xff", 24);
  ObjectPutRequest put;
  put.key = key;
  put.data = {data};
  SLIPWAY_TRY(subject->call(put));
  ObjectGetRequest request;
  request.key = key;
  SLIPWAY_TRY(const ObjectGetReply got, subject->call(request));
  if (got.data.data != data || got.size != data.size()) {
    return unmet("an object of {} bytes was put and got; wanted the same, got {} bytes of {}", data.size(),
                 got.data.data.size(), got.size)
        .why("backups go there")
        .look_at("objects.put and objects.get: any bytes")
        .to_do("send them as bytes(), not as text");
  }
  SLIPWAY_TRY(remove());
  SLIPWAY_TRY(remove());
  const auto after = subject->call(request);
  if (!after && after.error().code == Code::not_found) return ok();
  return unmet("an object was removed and asked for; wanted not_found, got {}",
               after ? std::string("it") : after.error().message);
}

Status missing_group(Trial& trial, const LawGroup& group) {
  static_cast<void>(trial);
  return not_applicable("the plugin has no such methods: " + group.name);
}

}  // namespace

void add_instance_tests(const Bench& bench, Tests& tests) {
  const auto add = [&](std::string_view method, const char* name, Status (*body)(Trial&)) {
    if (bench.has(method)) tests.push_back({std::string("semantics/") + name, body});
  };
  add(ProbeRequest::method, "probe-account", probe);
  if (bench.has<StartRequest>()) {
    add(GetRequest::method, "get-one", get);
    add(GetRequest::method, "get-gone", get_gone);
    add(GetRequest::method, "get-mixed", get_mixed);
    tests.push_back({"semantics/start-unknown-image", [](Trial& trial) {
                       return refuses_unknown(trial, "an image",
                                              [](StartRequest& r) { r.image = "conform-no-such-image"; });
                     }});
  }
  if (bench.has<StartRequest>() && bench.has<TypesRequest>()) {
    tests.push_back({"semantics/start-unknown-type", [](Trial& trial) {
                       return refuses_unknown(trial, "a type",
                                              [](StartRequest& r) { r.type = "conform-no-such-type"; });
                     }});
  }
  if (bench.has<StartRequest>() && bench.has<ZonesRequest>()) {
    tests.push_back({"semantics/start-unknown-zone", [](Trial& trial) {
                       return refuses_unknown(trial, "a zone",
                                              [](StartRequest& r) { r.zone = "conform-no-such-zone"; });
                     }});
  }
  add(TypesRequest::method, "types-unique", types);
  add(TypesRequest::method, "types-have-sizes", type_sizes);
  add(ZonesRequest::method, "zones-unique", zones);
  add(ImageRequest::method, "image-unknown", image_unknown);
  add(ObjectPutRequest::method, "objects-round-trip", objects);
}

void add_semantics_tests(const Bench& bench, Tests& tests) {
  add_instance_tests(bench, tests);
  for (const LawGroup& group : law_groups()) {
    const bool has_all = bench.has(group.make) && bench.has(group.list) && bench.has(group.remove);
    if (has_all) {
      add_law_tests(group, tests);
      add_failure_tests(group, tests);
    } else {
      tests.push_back(
          {"semantics/" + group.name, [&group](Trial& trial) { return missing_group(trial, group); }});
    }
  }
}

}  // namespace slipway::conform
