// SPDX-License-Identifier: Apache-2.0
// sim.cpp - the provider over the simulated cloud: with the model in this process, or, with the setting
// `endpoint`, in another one (tests/support/sim_cloud) over the host's HTTP. All methods are one: a request
// goes to the cloud as it is, and the cloud's answer is the answer.
//
// Threads: methods run concurrently and never block, so that virtual time on one thread works too. What
// changes is the model, behind its mutex.
#include "sim/cloud/cloud.hpp"

#include <slipway/provider.hpp>

#include <concepts>
#include <mutex>

namespace {
using namespace slipway;

constexpr std::string_view kImportPrefix = "SLIPWAY_SIM_";

// What the process at `endpoint` says with a status that is no success.
struct Refusal {
  Error error;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (error))

class Sim {
 public:
  struct Config {
    std::string endpoint;
    SecretRef token;
    std::string script;
    std::uint64_t seed = 1;
    std::string region;
    std::vector<std::string> zones;
    std::optional<std::int64_t> latency_ms;
  };

  static PluginInfo info() {
    PluginInfo i;
    i.name = "sim";
    i.version = SIM_VERSION;
    i.summary = "a simulated cloud, for tests and for learning";
    i.licence = "Apache-2.0";
    i.kinds = {Kind::provider, Kind::network, Kind::storage};
    i.profile = Profile::pure;
    // What a script may promise beyond this (start_is_idempotent) a manifest, which is static, cannot know.
    i.start_is_idempotent = false;
    i.visibility_lag_ms = 200;
    i.late_accept_ms = 500;
    i.marker = {MarkerPlace::labels, 16, 255};
    i.max_concurrency = 256;
    i.import.variables = {std::string(kImportPrefix) + "*"};
    return i;
  }

  static Schema<Config> schema() {
    return {
        field("endpoint", &Config::endpoint)
            .doc("base URL of a simulated cloud in another process; empty: in the plugin's own")
            .example("http://127.0.0.1:8080"),
        secret("token", &Config::token).doc("token of the cloud at the endpoint, if it wants one"),
        field("script", &Config::script)
            .doc("what the cloud is and what goes wrong in it, as JSON")
            .example("{}"),
        field("seed", &Config::seed).doc("of what the script leaves to chance"),
        field("region", &Config::region).immutable().doc("region name, instead of the script's"),
        field("zones", &Config::zones).doc("zone names, instead of the script's"),
        field("latency_ms", &Config::latency_ms).min(0).doc("of a call, instead of the script's"),
    };
  }

  static Result<std::unique_ptr<Sim>> create(Host& host, Config config) {
    if (config.endpoint.empty()) {
      SLIPWAY_TRY(sim::Script script, script_of(config));
      return std::make_unique<Sim>(host, std::move(config), std::move(script));
    }
    if (auto problems = endpoint_problems(config); !problems.empty()) {
      return fail(Code::invalid, "{}: {}", problems.front().setting, problems.front().message).rejected();
    }
    return std::make_unique<Sim>(host, std::move(config), sim::Script{});
  }

  Sim(Host& host, Config config, sim::Script script)
      : host_(host),
        config_(std::move(config)),
        http_(host.http({.base_url = config_.endpoint, .bearer = config_.token})),
        script_(std::move(script)) {}

  template <Request R>
  void ask(Call call, R request, Completion<typename R::Reply> completion) {
    if (config_.endpoint.empty()) {
      ask_model(std::move(call), std::move(request), std::move(completion));
    } else {
      ask_endpoint(call, request, std::move(completion));
    }
  }

  Result<ConfigValidateReply> validate(Call&, const ConfigValidateRequest& request) {
    ConfigValidateReply out;
    auto config = schema().read(request.new_settings);
    if (!config) {
      out.problems.push_back({"", std::move(config).error().message});
    } else if (!config->endpoint.empty()) {
      out.problems = endpoint_problems(*config);
    } else if (auto script = script_of(*config); !script) {
      out.problems.push_back({"script", std::move(script).error().message});
    }
    return out;
  }

  // SLIPWAY_SIM_ENDPOINT and so on, one variable a setting.
  Result<ConfigImportReply> import(Call&, const ConfigImportRequest& request) {
    ConfigImportReply out;
    const auto settings = schema().infos();
    for (const auto& [variable, value] : request.variables) {
      if (!variable.starts_with(kImportPrefix)) continue;
      std::string name = variable.substr(kImportPrefix.size());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      const bool is_text = std::any_of(settings.begin(), settings.end(), [&](const SettingInfo& setting) {
        return setting.name == name && setting.type == SettingType::text;
      });
      if (is_text) {
        out.settings.push_back({name, json::value(value), variable});
      } else {
        out.notes.push_back(message("{} ignored: there is no setting {} that is a text", variable, name));
      }
    }
    return out;
  }

 private:
  static Result<sim::Script> script_of(const Config& config) {
    auto script = sim::parse_script(config.script.empty() ? "{}" : config.script);
    if (!script) return std::move(script).error().within("script");
    if (!config.region.empty()) script->region = config.region;
    if (config.latency_ms) script->latency_ms = *config.latency_ms;
    if (!config.zones.empty()) script->zones.clear();
    for (const std::string& zone : config.zones) script->zones.push_back({zone, {}, {}});
    SLIPWAY_TRY(sim::check_script(*script));
    return script;
  }

  // The process at the endpoint has a script of its own.
  static std::vector<ConfigProblem> endpoint_problems(const Config& config) {
    std::vector<ConfigProblem> out;
    const auto refuse = [&](const char* setting, bool is_given) {
      if (is_given) out.push_back({setting, "is the endpoint's own; give it to the simulated cloud there"});
    };
    refuse("script", !config.script.empty());
    refuse("region", !config.region.empty());
    refuse("zones", !config.zones.empty());
    refuse("latency_ms", config.latency_ms.has_value());
    return out;
  }

  template <Request R>
  void ask_model(Call call, R request, Completion<typename R::Reply> completion) {
    host_.call(
        call, ClockNowRequest{},
        [this, call, request = std::move(request),
         completion = std::move(completion)](Result<ClockNowReply> now) mutable {
          if (!now) return completion(unsent(std::move(now).error()));
          if constexpr (std::derived_from<R, MakeRequest>) {
            if (request.not_after_ns != 0 && now->now_ns > request.not_after_ns) {
              return completion(
                  fail(Code::unavailable, "not sent, as its time (not_after_ns) has passed").rejected());
            }
          }
          auto answer = call_model(request, now->utc_ms);
          const std::int64_t wait_ms = answer.due_ms - now->utc_ms;
          if (wait_ms <= 0) return completion(std::move(answer.result));
          host_.call(call, ClockSleepRequest{wait_ms},
                     [result = std::move(answer.result),
                      completion = std::move(completion)](Result<Unit> slept) mutable {
                       // Given up: what was begun has happened all the same.
                       if (!slept) return completion(std::move(slept).error());
                       completion(std::move(result));
                     });
        });
  }

  template <Request R>
  sim::Answer<typename R::Reply> call_model(const R& request, std::int64_t now_ms) {
    const std::lock_guard lock(cloud_mutex_);
    if (!cloud_) cloud_.emplace(script_, config_.seed, now_ms);
    return cloud_->call(request, now_ms);
  }

  static Error unsent(Error error) {
    error.outcome = Outcome::rejected;
    return error;
  }

  template <Request R>
  void ask_endpoint(const Call& call, const R& request, Completion<typename R::Reply> completion) {
    HttpRequest post = http_.post("v1/" + std::string(R::method)).json(to_json(request));
    if constexpr (std::derived_from<R, MakeRequest>) post = std::move(post).once();
    std::move(post).send(call, [completion = std::move(completion)](Result<HttpReply> reply) mutable {
      if (!reply) return completion(std::move(reply).error());
      if (reply->status != 200) return completion(error(*reply));
      completion(reply->decode<typename R::Reply>());
    });
  }

  // A well-formed body of the cloud's says more than the status: scope, quota, and whether nothing was made.
  static Error error(const HttpReply& reply) {
    auto refusal = decode<Refusal>(reply.body);
    if (!refusal || refusal->error.message.empty()) return http_error(reply);
    Error out = std::move(refusal->error);
    if (!out.retry_after_ms && reply.retry_after) out.retry_after_ms = reply.retry_after->count();
    return std::move(out).within(message("http {} from {}", reply.status, reply.request));
  }

  Host& host_;
  const Config config_;
  const HttpClient http_;
  const sim::Script script_;
  std::mutex cloud_mutex_;           // guards cloud_
  std::optional<sim::Cloud> cloud_;  // from the first call on: the script's time counts from it
};

}  // namespace

SLIPWAY_PLUGIN(Sim, &Sim::validate, &Sim::import,  //
               &Sim::ask<StartRequest>, &Sim::ask<StopRequest>, &Sim::ask<ListRequest>, &Sim::ask<GetRequest>,
               &Sim::ask<MaintainRequest>, &Sim::ask<ExecRequest>, &Sim::ask<LogRequest>,  //
               &Sim::ask<InterfaceCreateRequest>, &Sim::ask<InterfaceDeleteRequest>,
               &Sim::ask<InterfaceListRequest>,  //
               &Sim::ask<AddressClaimRequest>, &Sim::ask<AddressReleaseRequest>,
               &Sim::ask<AddressListRequest>, &Sim::ask<FirewallEnsureRequest>,
               &Sim::ask<FirewallRemoveRequest>, &Sim::ask<FirewallListRequest>,
               &Sim::ask<FirewallOpenRequest>, &Sim::ask<FirewallCloseRequest>,
               &Sim::ask<FirewallRulesRequest>,  //
               &Sim::ask<VolumeCreateRequest>, &Sim::ask<VolumeDestroyRequest>, &Sim::ask<VolumeListRequest>,
               &Sim::ask<AttachRequest>, &Sim::ask<DetachRequest>, &Sim::ask<AttachmentsRequest>,
               &Sim::ask<VolumeValidateRequest>,  //
               &Sim::ask<SubnetsRequest>, &Sim::ask<SubnetInterfacesRequest>,
               &Sim::ask<AddressAllocateRequest>, &Sim::ask<AddressFreeRequest>,
               &Sim::ask<SupportsAllocationRequest>,  //
               &Sim::ask<ZonesRequest>, &Sim::ask<DeriveZonesRequest>, &Sim::ask<TypesRequest>,
               &Sim::ask<ImageRequest>, &Sim::ask<ImagesRequest>, &Sim::ask<ImageAddRequest>,
               &Sim::ask<ImageRemoveRequest>,  //
               &Sim::ask<ObjectPutRequest>, &Sim::ask<ObjectGetRequest>, &Sim::ask<ObjectListRequest>,
               &Sim::ask<ObjectRemoveRequest>, &Sim::ask<ObjectUrlRequest>,  //
               &Sim::ask<ProbeRequest>, &Sim::ask<QuotaRequest>)
