// SPDX-License-Identifier: Apache-2.0
#include "plugin/standalone.hpp"

#include "base/fs.hpp"
#include "base/stop.hpp"
#include "base/strand.hpp"
#include "base/text.hpp"
#include "plugin/in_process.hpp"
#include "plugin/instance_services.hpp"
#include "plugin/isolated.hpp"
#include "plugin/local_state.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr std::size_t kMaxConfigValue = std::size_t{64} << 10U;
constexpr std::chrono::seconds kCloseGrace(10);

std::string snake(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A setting's value from text, by its type. Numbers stay text: the plugin's schema reads both forms and says
// best what is wrong.
Result<json::value> value_of(const SettingInfo& setting, const std::string& text) {
  if (setting.type != SettingType::list && setting.type != SettingType::map) return json::value(text);
  json::error_code ec;
  json::value value = json::parse(text, ec);
  const bool is_right = setting.type == SettingType::list ? value.is_array() : value.is_object();
  if (!ec && is_right) return value;
  return fail(Code::invalid, "{}: expected {} as JSON, got {}", setting.name,
              setting.type == SettingType::list ? "a list" : "a map", detail::excerpt(text));
}

// What stands behind a name in a config file.
struct Said {
  std::size_t line;
  std::string value;
};
using SaidByName = std::map<std::string, Said>;  // names in snake_case

Result<SaidByName> read_lines(std::string_view text) {
  SaidByName said;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(Code::invalid, "line {}: expected NAME = VALUE, got {}", number, detail::excerpt(line));
    }
    const std::string name = snake(trimmed(line.substr(0, equals)));
    std::string value(trimmed(line.substr(equals + 1)));
    if (value.starts_with('@')) {
      auto file = fs::read_file(value.substr(1), kMaxConfigValue);
      if (!file) return std::move(file).error().within(message("line {}: {}", number, name));
      value = *std::move(file);
      while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
    }
    if (!said.try_emplace(name, Said{number, std::move(value)}).second)
      return fail(Code::invalid, "line {}: {} stands twice", number, name);
  }
  return said;
}

// The environment's settings: what the plugin may reach. They are no settings of the plugin.
Result<HttpScopeSettings> take_http(SaidByName& said) {
  HttpScopeSettings http;
  if (auto line = said.extract("endpoint_http")) {
    const auto& [number, value] = line.mapped();
    if (value != "allow" && value != "refuse") {
      return fail(Code::invalid, "line {}: endpoint-http: expected allow or refuse, got {}", number,
                  detail::excerpt(value));
    }
    http.is_http_allowed = value == "allow";
  }
  if (auto line = said.extract("endpoint_networks")) {
    for (const std::string_view network : text::split(line.mapped().value, ','))
      http.networks.emplace_back(trimmed(network));
  }
  if (auto line = said.extract("endpoint_ca")) http.ca_file = std::move(line.mapped().value);
  if (auto line = said.extract("endpoint_proxy")) http.proxy = std::move(line.mapped().value);
  return http;
}

bool is_url(std::string_view text) { return text.starts_with("https://") || text.starts_with("http://"); }

// Shows each HTTP request, then lets the services do the work.
class TracingServices final : public HostServices {
 public:
  TracingServices(HostServices& inner, std::function<void(const HttpTrace&)> trace)
      : inner_(inner), trace_(std::move(trace)) {}

  void call(ServiceCall call, RawDone done) override {
    if (call.method != HttpCallRequest::method) return inner_.call(std::move(call), std::move(done));
    ++requests;
    auto request = decode<HttpCallRequest>(call.body);
    if (!trace_ || !request) return inner_.call(std::move(call), std::move(done));
    inner_.call(std::move(call), [this, request = *std::move(request), done = std::move(done)](
                                     slipway_status status, std::string body) {
      HttpTrace trace{request, {}, {}};
      auto reply = read_reply<HttpCallRequest>(status, body);
      if (reply) {
        trace.reply = *std::move(reply);
      } else {
        trace.error = std::move(reply).error();
      }
      trace_(trace);
      done(status, std::move(body));
    });
  }
  void cancel(std::uint64_t id) override { inner_.cancel(id); }
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override {
    inner_.notify(call, topic, body);
  }

  std::atomic<unsigned> requests{0};

 private:
  HostServices& inner_;
  const std::function<void(const HttpTrace&)> trace_;
};

}  // namespace

Result<PluginConfig> read_plugin_config(
    std::string_view text, const Manifest& manifest,
    const std::function<std::optional<std::string>(const std::string& name)>& variable) {
  SLIPWAY_TRY(SaidByName said, read_lines(text));
  PluginConfig config;
  SLIPWAY_TRY(config.http, take_http(said));
  config.http.instance = manifest.name;
  config.http.credential = manifest.name;

  for (const SettingInfo& setting : manifest.settings) {
    std::optional<std::string> value;
    std::string origin = setting.env;  // for errors
    if (auto line = said.extract(setting.name)) {
      value = std::move(line.mapped().value);
      origin = message("line {}", line.mapped().line);
    } else if (!setting.env.empty() && variable) {
      value = variable(setting.env);
    }
    if (value && setting.secret) {
      config.secrets[setting.name] = *std::move(value);
      config.settings[setting.name] = setting.name;
      continue;
    }
    if (value) {
      auto typed = value_of(setting, *value);
      if (!typed) return std::move(typed).error().within(origin);
      config.settings[setting.name] = *std::move(typed);
    } else if (setting.default_value.is_string()) {
      value = std::string(setting.default_value.get_string());
    }
    if (value && is_url(*value)) config.http.endpoints.push_back({setting.name, *value});
  }
  if (said.empty()) return config;
  // The first of them in the file.
  const auto unknown = std::min_element(
      said.begin(), said.end(), [](const auto& a, const auto& b) { return a.second.line < b.second.line; });
  std::vector<std::string_view> names;
  for (const SettingInfo& setting : manifest.settings) names.emplace_back(setting.name);
  return fail(Code::invalid, "line {}: {} has no setting {}{}", unknown->second.line, manifest.name,
              unknown->first, text::did_you_mean(unknown->first, names));
}

// Destroyed from the last member up: first the instance, then what it uses.
struct Standalone::Impl {
  explicit Impl(StandaloneSpec standalone) : spec(std::move(standalone)), secrets(spec.config.secrets) {}

  Status open() {
    SLIPWAY_TRY(http, HttpService::start(clock, metrics));
    SLIPWAY_TRY(const auto scope, HttpScope::make(spec.config.http, secrets));
    services = std::make_unique<InstanceServices>(
        InstanceServices::Parts{*http,
                                scope,
                                secrets,
                                spec.manifest.reads_secrets,
                                kv,
                                executor,
                                {[this](std::uint64_t, const LogNote& note) {
                                   if (spec.log) spec.log(note);
                                 },
                                 {},
                                 {}}});
    tracing = std::make_unique<TracingServices>(*services, spec.trace);
    const InstanceLimits limits{.max_calls = std::max(spec.manifest.max_concurrency, 1U), .failures = 1};
    instance = std::make_unique<PluginInstance>(
        executor, random, spec.manifest.name, limits,
        [this](PluginInstance::ChannelEvents events, Done<std::unique_ptr<Channel>> opened) {
          open_channel(std::move(events), std::move(opened));
        },
        PluginInstance::Hooks{{}, [this](const InstanceStatus& status) {
                                if (status.phase == InstancePhase::opening || has_settled.exchange(true))
                                  return;
                                is_settled.set();
                              }});
    static_cast<void>(is_settled.wait(Deadline::never()));
    const InstanceStatus status = instance->status();
    if (status.phase == InstancePhase::ready) return ok();
    return fail(Code::internal, "{}", status.reason);
  }

  void open_channel(PluginInstance::ChannelEvents events, Done<std::unique_ptr<Channel>> opened) {
    CreateMessage create;
    create.settings = spec.config.settings;
    create.environment = {"standalone", "00000000-0000-4000-8000-000000000000"};
    create.controller = "00000000-0000-4000-8000-000000000000";
    create.plugin_dir = std::filesystem::path(spec.library).parent_path();
    OpenSpec open{.library = spec.library,
                  .create = create,
                  .threads = std::clamp(spec.manifest.max_concurrency, 1U, 16U),
                  .services = *tracing,
                  .completions = events.completions,
                  .ended = std::move(events.ended),
                  .misbehaved = std::move(events.misbehaved)};
    if (spec.in_process) return open_in_process(std::move(open), nullptr, std::move(opened));
    open_isolated(std::move(open),
                  {spec.host_program,
                   {.profile = spec.manifest.profile,
                    .mode = spec.sandbox,
                    .readable_paths = {create.plugin_dir},
                    .limits = {}},
                   spawner,
                   executor},
                  std::move(opened));
  }

  ~Impl() {
    if (instance == nullptr) return;
    Event is_closed(clock);
    instance->close(kCloseGrace, [&] { is_closed.set(); });
    static_cast<void>(is_closed.wait(Deadline::never()));
  }

  const StandaloneSpec spec;
  SystemClock clock;
  SystemRandom random;
  Metrics metrics;
  MapSecrets secrets;
  MemoryKv kv;
  Spawner spawner;
  std::unique_ptr<HttpService> http;
  ThreadExecutor executor{clock, 2, "slipway"};
  std::unique_ptr<InstanceServices> services;
  std::unique_ptr<TracingServices> tracing;
  Event is_settled{clock};  // open, or never will be
  std::atomic<bool> has_settled{false};
  std::unique_ptr<PluginInstance> instance;
};

Standalone::Standalone(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Standalone::~Standalone() = default;

Result<std::unique_ptr<Standalone>> Standalone::open(StandaloneSpec spec) {
  auto impl = std::make_unique<Impl>(std::move(spec));
  SLIPWAY_TRY(impl->open());
  return std::unique_ptr<Standalone>(new Standalone(std::move(impl)));
}

Result<std::string> Standalone::call(std::string_view method, std::string body,
                                     std::chrono::nanoseconds timeout) {
  Event has_ended(impl_->clock);
  slipway_status status = SLIPWAY_INTERNAL;
  std::string reply;
  impl_->instance->call({std::string(method), std::move(body), Deadline::after(impl_->clock, timeout)},
                        [&](slipway_status end, std::string said) {
                          status = end;
                          reply = std::move(said);
                          has_ended.set();
                        });
  static_cast<void>(has_ended.wait(Deadline::never()));
  if (status != SLIPWAY_OK) return decode_error(status, reply);
  return reply;
}

std::string Standalone::place() const { return impl_->instance->status().place; }
unsigned Standalone::requests() const { return impl_->tracing->requests; }

Result<std::string> find_plugin_host() {
  std::error_code ec;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ec);
  const std::filesystem::path beside = self.parent_path() / "slipway-plugin-host";
  const std::filesystem::path installed =
      self.parent_path().parent_path() / "lib/slipway/slipway-plugin-host";
  for (const auto& path : {beside, installed}) {
    if (std::filesystem::is_regular_file(path, ec)) return path.string();
  }
  return fail(Code::not_found,
              "slipway-plugin-host is neither {} nor {}; reinstall Slipway, or use --in-process",
              beside.string(), installed.string());
}

}  // namespace slipway::plugin
