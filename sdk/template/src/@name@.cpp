// SPDX-License-Identifier: Apache-2.0
// @name@.cpp - a Slipway provider, for the API that the fake cloud in tests/ speaks.
// To make it yours, change the structs that mirror the API, the methods, and error().
// Threads: methods run concurrently on the host's pool. The class is immutable after the constructor.
#include <slipway/provider.hpp>

namespace {
using namespace slipway;

// What an operator sets. `slipway environment add`, its help and its errors are made from schema().
struct Config {
  std::string endpoint = "https://api.@name@.example/v1";
  std::string region;
  SecretRef token;  // a name, never the value: the host puts it into the request
};

// What the cloud says. Unknown members are skipped, missing ones keep their default.
struct Server {
  std::string id, name, status, zone, plan, fault, public_ip, private_ip;
  std::map<std::string, std::string> labels;
  int64_t created_at_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Server, (),
                      (id, name, status, zone, plan, fault, public_ip, private_ip, labels, created_at_ms))
struct Page {
  std::vector<Server> servers;
  std::string next;
};
BOOST_DESCRIBE_STRUCT(Page, (), (servers, next))
struct Plan {
  std::string id;
  uint32_t cpus = 0;
  uint64_t ram_mib = 0, disk_mib = 0;
};
BOOST_DESCRIBE_STRUCT(Plan, (), (id, cpus, ram_mib, disk_mib))
struct Plans {
  std::vector<Plan> plans;
};
BOOST_DESCRIBE_STRUCT(Plans, (), (plans))
struct Account {
  std::string name;
  uint64_t server_limit = 0, servers = 0;
  std::vector<std::string> zones;
};
BOOST_DESCRIBE_STRUCT(Account, (), (name, server_limit, servers, zones))
struct ApiError {
  std::string code, message, resource;
  uint64_t limit = 0, used = 0;
};
BOOST_DESCRIBE_STRUCT(ApiError, (), (code, message, resource, limit, used))

class Provider {
 public:
  using Config = ::Config;

  // Static facts. They become plugin.json when the project is built.
  static PluginInfo info() {
    PluginInfo i;
    i.name = "@name@";
    i.version = @NAME@_VERSION;  // of project() in CMakeLists.txt
    i.summary = "servers of @Name@";
    i.licence = "Apache-2.0";
    i.kinds = {Kind::provider};
    i.start_is_idempotent = true;  // the API honours Idempotency-Key, so the core may send a start again
    i.marker = {MarkerPlace::labels, 16, 63};
    i.visibility_lag_ms = 5000;  // a new server may be absent from GET /servers for this long
    return i;
  }

  static Schema<Config> schema() {
    return {
        field("endpoint", &Config::endpoint).doc("base URL of the API"),
        field("region", &Config::region).required().immutable().doc("region name").example("eu-1"),
        secret("token", &Config::token).required().env("@NAME@_TOKEN").doc("API token"),
    };
  }

  // No network here: create must be quick, and a wrong token shows in probe().
  Provider(Host& host, Config config)
      : config_(std::move(config)),
        http_(host.http({.base_url = config_.endpoint, .bearer = config_.token})) {}

  Result<ProbeReply> probe(Call& call, const ProbeRequest&) {
    SLIPWAY_TRY(const Account a, fetch<Account>(call, http_.get("account")));
    return ProbeReply{a.name, config_.region, {{"servers", a.server_limit, a.servers}}};
  }

  // Makes one server and answers as soon as the cloud accepted it; the core watches list() from then on.
  Result<StartReply> start(Call& call, const StartRequest& r) {
    SLIPWAY_TRY(const HttpReply reply, http_.post("servers")
                                           .header("Idempotency-Key", r.nonce)
                                           .json({{"name", r.name},
                                                  {"plan", r.type},
                                                  {"image", r.image},
                                                  {"zone", r.zone.value_or("")},
                                                  {"labels", json::value_from(r.marker)},
                                                  {"user_data", base64(r.user_data)}})
                                           .once()  // the host never sends it again by itself
                                           .send(call));
    if (reply.status != 201) return error(reply);
    SLIPWAY_TRY(const Server s, reply.decode<Server>());
    return StartReply{instance(s)};
  }

  // Not there any more is success.
  Result<StopReply> stop(Call& call, const StopRequest& r) {
    return each<StopReply>(call, r.ids, [&](const std::string& id) -> Result<Unit> {
      SLIPWAY_TRY(const HttpReply reply, http_.del("servers/" + segment(id)).send(call));
      if (reply.status == 204 || reply.status == 404) return Unit{};
      return error(reply);
    });
  }

  // One page a call; the core asks on until next_page is empty.
  Result<ListReply> list(Call& call, const ListRequest& r) {
    auto request = http_.get("servers").query("limit", r.page_size).query("after", r.page);
    for (const auto& [key, value] : r.owner) request = std::move(request).query("label." + key, value);
    SLIPWAY_TRY(const Page page, fetch<Page>(call, std::move(request)));
    ListReply out;
    for (const Server& s : page.servers) out.items.push_back(instance(s));
    out.next_page = page.next;
    return out;
  }

  Result<GetReply> get(Call& call, const GetRequest& r) {
    return each<GetReply>(call, r.ids, [&](const std::string& id) -> Result<Instance> {
      SLIPWAY_TRY(const Server s, fetch<Server>(call, http_.get("servers/" + segment(id))));
      return instance(s);
    });
  }

  Result<ZonesReply> zones(Call& call, const ZonesRequest&) {
    SLIPWAY_TRY(const Account a, fetch<Account>(call, http_.get("account")));
    ZonesReply out;
    for (const auto& name : a.zones) out.zones.push_back({name, true, {}});
    return out;
  }

  // The core picks the smallest that fits.
  Result<TypesReply> types(Call& call, const TypesRequest&) {
    SLIPWAY_TRY(const Plans p, fetch<Plans>(call, http_.get("plans")));
    TypesReply out;
    for (const Plan& x : p.plans)
      out.types.push_back({x.id, x.id, {Arch::amd64, x.cpus, x.ram_mib, x.disk_mib}, std::nullopt});
    return out;
  }

  Result<ImageReply> image(Call&, const ImageRequest& r) {
    if (!r.image_id.empty()) return ImageReply{r.image_id, r.image_id};
    if (r.os == "debian-12") return ImageReply{"img-debian-12", "Debian 12"};
    return fail(Code::invalid, "no image for os={}; this cloud has debian-12, or give image-id=", r.os);
  }

 private:
  template <class T>
  Result<T> fetch(Call& call, HttpRequest request) {
    SLIPWAY_TRY(const HttpReply reply, std::move(request).send(call));
    if (reply.status != 200) return error(reply);
    return reply.decode<T>();
  }

  // The only place that knows how this cloud says no. http_error() knows the usual statuses; an `exhausted`
  // says how far it reaches, and rejected() that nothing was made.
  static Error error(const HttpReply& reply) {
    const auto e = reply.decode_or<ApiError>({});
    if (e.code == "quota_exceeded") {
      return fail(Code::exhausted, "{}", e.message)
          .scope(Scope::account)
          .quota(e.resource, e.limit, e.used)
          .rejected();
    }
    if (e.code == "no_capacity") return fail(Code::exhausted, "{}", e.message).scope(Scope::zone).rejected();
    return http_error(reply, e.message);
  }

  static Instance instance(const Server& s) {
    Instance i;
    i.id = s.id;
    i.name = s.name;
    i.state = s.status == "active"     ? State::running
              : s.status == "creating" ? State::building
              : s.status == "deleting" ? State::stopping
              : s.status == "error"    ? State::failed
                                       : State::unknown;
    i.message = s.fault;
    i.zone = s.zone;
    i.type = s.plan;
    if (!s.public_ip.empty()) i.addresses.push_back({s.public_ip, AddressScope::public_});
    if (!s.private_ip.empty()) i.addresses.push_back({s.private_ip, AddressScope::cloud_local});
    i.marker = s.labels;
    i.created_ms = s.created_at_ms;
    return i;
  }

  const Config config_;
  const HttpClient http_;
};
}  // namespace

// The request type names the method ("instances.start/1"), so there is no string to get wrong.
SLIPWAY_PLUGIN(Provider, &Provider::probe, &Provider::start, &Provider::stop, &Provider::list, &Provider::get,
               &Provider::zones, &Provider::types, &Provider::image)
