// SPDX-License-Identifier: Apache-2.0
// manifest_tests.cpp - plugin.json, and what describe answers.
#include "conform/bare_client.hpp"
#include "conform/methods.hpp"
#include "conform/trial.hpp"
#include "plugin/manifest_rules.hpp"

#include <slipway/codec.hpp>

#include <algorithm>

namespace slipway::conform {

namespace {

constexpr const char* kInfo = "info() and schema()";

Status file(Trial& trial) {
  const Bench& bench = trial.bench();
  if (bench.manifest_text.empty()) {
    return unmet("plugin.json was looked for in {}; it is not there", bench.directory)
        .why("a host reads it instead of running the plugin")
        .look_at(bench.directory)
        .to_do("build with slipway_add_plugin(), which writes it");
  }
  const auto manifest = plugin::read_manifest(bench.manifest_text);
  if (manifest) return ok();
  return unmet("plugin.json was read; {}", manifest.error().message)
      .why("a host does not install what it cannot read")
      .look_at(kInfo)
      .to_do("correct it there; the build writes plugin.json anew");
}

Result<std::string> described(Trial& trial) {
  SLIPWAY_TRY(const BareOutcome outcome,
              run_bare(trial.bench(), bare_spec(trial.bench(), BareJob::describe)));
  if (outcome.report.problems.empty()) return outcome.report.description;
  return unmet("describe was called twice; {}", outcome.report.problems.front())
      .why("a host asks before it makes an instance, and waits for the answer")
      .look_at("describe")
      .to_do("answer from constants: no network, no file, no instance");
}

Status describe(Trial& trial) {
  SLIPWAY_TRY(described(trial));
  return ok();
}

Status agrees(Trial& trial) {
  const Bench& bench = trial.bench();
  if (bench.manifest_text.empty()) return skipped("there is no plugin.json beside the file");
  SLIPWAY_TRY(const std::string said, described(trial));
  const auto manifest = decode<Manifest>(said);
  if (!manifest) {
    return unmet("describe was called; its answer is no manifest: {}", manifest.error().message)
        .why("the host refuses an instance of it")
        .look_at(kInfo)
        .to_do("answer what plugin.json says");
  }
  const json::value here = to_json(bench.manifest);
  const json::value there = to_json(*manifest);
  if (here == there) return ok();
  std::string differs;
  for (const auto& member : here.as_object()) {
    if (there.as_object().at(member.key()) == member.value()) continue;
    differs = message("{}: plugin.json has {}, describe {}", member.key(),
                      slipway::detail::excerpt(json::serialize(member.value())),
                      slipway::detail::excerpt(json::serialize(there.as_object().at(member.key()))));
    break;
  }
  return unmet("describe was compared with plugin.json; {}", differs)
      .why("what an operator is shown must be what runs")
      .look_at("which build plugin.json is of")
      .to_do("build anew, and change plugin.json by info() and schema() only");
}

Status documented(Trial& trial) {
  for (const SettingInfo& setting : trial.bench().manifest.settings) {
    if (!setting.doc.empty()) continue;
    return unmet("the settings were read; {} has no text", setting.name)
        .why("it is all that an operator sees of it in help, manual and errors")
        .look_at("schema()")
        .to_do(message("field(\"{}\", ...).doc(\"what it is\")", setting.name));
  }
  return ok();
}

Status said_who(Trial& trial) {
  const Manifest& manifest = trial.bench().manifest;
  const char* missing = manifest.summary.empty() ? "summary" : manifest.licence.empty() ? "licence" : nullptr;
  if (missing == nullptr) return ok();
  return unmet("plugin.json was read; {} is empty", missing)
      .why("operators choose by it what they install")
      .look_at("info()")
      .to_do(message("set {} there", missing));
}

// What a kind of plugin must have.
Status kinds(Trial& trial) {
  const Bench& bench = trial.bench();
  const auto& has = bench.manifest.kinds;
  const auto is = [&](Kind kind) { return std::find(has.begin(), has.end(), kind) != has.end(); };
  std::string missing;
  const auto need = [&](std::string_view method) {
    if (!bench.has(method)) missing += (missing.empty() ? "" : ", ") + std::string(method);
  };
  if (is(Kind::provider)) {
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, RequiredOfProviders>>(
        [&](auto type) { need(decltype(type)::type::method); });
  }
  if (is(Kind::storage)) {
    for (const auto method :
         {VolumeCreateRequest::method, VolumeDestroyRequest::method, VolumeListRequest::method})
      need(method);
  }
  if (missing.empty()) return ok();
  return unmet("the methods were compared with the kinds; missing: {}", missing)
      .why("an environment of such a plugin could not do its work")
      .look_at("info().kinds, and the list in SLIPWAY_PLUGIN")
      .to_do("write the methods, or take the kind away");
}

// Who makes must also list and delete.
Status groups(Trial& trial) {
  const Bench& bench = trial.bench();
  struct Row {
    std::string_view make, list, remove;
  };
  for (const Row row :
       {Row{StartRequest::method, ListRequest::method, StopRequest::method},
        Row{InterfaceCreateRequest::method, InterfaceListRequest::method, InterfaceDeleteRequest::method},
        Row{AddressClaimRequest::method, AddressListRequest::method, AddressReleaseRequest::method},
        Row{FirewallEnsureRequest::method, FirewallListRequest::method, FirewallRemoveRequest::method},
        Row{VolumeCreateRequest::method, VolumeListRequest::method, VolumeDestroyRequest::method}}) {
    if (!bench.has(row.make)) continue;
    for (const std::string_view method : {row.list, row.remove}) {
      if (bench.has(method)) continue;
      return unmet("the methods were read; there is {} and no {}", row.make, method)
          .why("what cannot be listed and deleted is leaked as soon as an answer is lost")
          .look_at("the list in SLIPWAY_PLUGIN")
          .to_do(message("write {} too", method));
    }
  }
  return ok();
}

Status marker_has_room(Trial& trial) {
  const MarkerForm& marker = trial.bench().manifest.marker;
  constexpr std::uint32_t kLeast = 63;
  if (marker.max_value_bytes >= kLeast) return ok();
  return unmet("the marker's form was read; wanted values of at least {} bytes, got {}", kLeast,
               marker.max_value_bytes)
      .why("the core must find again what it caused, by a mark of that length")
      .look_at("info().marker")
      .to_do("use a place that holds so much: labels, tags, metadata or a description");
}

}  // namespace

void add_manifest_tests(const Bench&, Tests& tests) {
  tests.push_back({"manifest/file", file});
  tests.push_back({"manifest/describe", describe});
  tests.push_back({"manifest/agrees-with-describe", agrees});
  tests.push_back({"manifest/settings-documented", documented});
  tests.push_back({"manifest/summary-and-licence", said_who});
  tests.push_back({"manifest/methods-of-its-kinds", kinds});
  tests.push_back({"manifest/what-makes-also-deletes", groups});
  tests.push_back({"manifest/marker-has-room", marker_has_room});
}

}  // namespace slipway::conform
