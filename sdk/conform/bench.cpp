// SPDX-License-Identifier: Apache-2.0
#include "conform/bench.hpp"

#include "base/fs.hpp"
#include "plugin/in_process.hpp"
#include "plugin/instance_services.hpp"
#include "plugin/isolated.hpp"
#include "plugin/local_state.hpp"
#include "plugin/manifest_rules.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <utility>

namespace slipway::conform {

namespace {

namespace files = std::filesystem;

constexpr std::size_t kMaxRunBytes = 1U << 20U;
constexpr std::chrono::seconds kCloseGrace(10);

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts));
}

std::string hex(Random& random, std::size_t bytes) {
  std::string out;
  std::vector<std::uint8_t> drawn(bytes);
  random.fill(drawn);
  for (const std::uint8_t byte : drawn) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

// A value that a setting of this kind can have, where nobody said one and no real cloud is asked.
json::value made_up(const SettingInfo& setting) {
  if (!setting.choices.empty()) return json::value(setting.choices.front());
  if (!setting.example.empty()) return json::value(setting.example);
  switch (setting.type) {
    case SettingType::integer:
    case SettingType::number:
      return setting.min.value_or(1);
    case SettingType::boolean:
      return false;
    case SettingType::list:
      return json::array();
    case SettingType::map:
      return json::object();
    default:
      return "conform";
  }
}

void fill_in(plugin::PluginConfig& config, const Manifest& manifest) {
  for (const SettingInfo& setting : manifest.settings) {
    if (!setting.required || config.settings.contains(setting.name)) continue;
    if (setting.secret) {
      config.secrets[setting.name] = "conform-" + setting.name;
      config.settings[setting.name] = setting.name;
    } else {
      config.settings[setting.name] = made_up(setting);
    }
  }
}

// "build/nimbus.so" of that or of its directory.
Result<std::string> library_of(const std::string& path) {
  std::error_code ec;
  if (!files::is_directory(path, ec)) {
    if (files::is_regular_file(path, ec)) return files::absolute(path).lexically_normal().string();
    return fail(Code::invalid, "{}: there is no such file", path);
  }
  std::vector<std::string> found;
  for (const auto& entry : files::directory_iterator(path, ec)) {
    if (entry.path().extension() == ".so") found.push_back(files::absolute(entry.path()).lexically_normal());
  }
  if (found.size() == 1) return found.front();
  return fail(Code::invalid, "{}: expected one file NAME.so in it, got {}", path, found.size());
}

Result<RecordedRun> read_run(const std::string& cassettes) {
  const std::string path = cassettes + "/run.json";
  auto text = fs::read_file(path, kMaxRunBytes);
  if (!text) {
    return fail(Code::not_found,
                "{}: expected cassettes of an earlier run there ({}); make them with --live --record",
                cassettes, text.error().message);
  }
  auto run = decode<RecordedRun>(*text);
  if (!run) return std::move(run).error().within(path);
  return run;
}

}  // namespace

Result<std::unique_ptr<Bench>> Bench::make(Options options) {
  auto bench = std::make_unique<Bench>();
  bench->options = std::move(options);
  const Options& o = bench->options;
  SLIPWAY_TRY(bench->library, library_of(o.library));
  bench->directory = files::path(bench->library).parent_path();
  // Broken or absent, it is a failed test (manifest/file); the others then know nothing of settings.
  if (auto text = fs::read_file(bench->directory + "/plugin.json", plugin::kManifestMaxBytes)) {
    bench->manifest_text = *std::move(text);
    if (auto manifest = decode<Manifest>(bench->manifest_text)) bench->manifest = *std::move(manifest);
  }
  if (bench->manifest.name.empty()) bench->manifest.name = files::path(bench->library).stem();
  SLIPWAY_TRY(bench->config, plugin::read_plugin_config(o.config, bench->manifest, o.variable));
  if (o.cloud == Cloud::replay) {
    SLIPWAY_TRY(bench->run, read_run(o.cassettes));
    if (const auto* settings = bench->run.settings.if_object()) bench->config.settings = *settings;
  } else {
    bench->run.nonces = hex(bench->random, 16);
    bench->run.date = today();
  }
  bench->run.plugin = bench->manifest.name + " " + bench->manifest.version;
  if (o.cloud != Cloud::live) {
    fill_in(bench->config, bench->manifest);
    bench->config.http = {};  // nothing goes out
  } else {
    bench->run.settings = bench->config.settings;
  }
  SLIPWAY_TRY(bench->http, plugin::HttpService::start(bench->clock, bench->metrics));
  return bench;
}

bool Bench::has(std::string_view method) const {
  return std::find(manifest.methods.begin(), manifest.methods.end(), method) != manifest.methods.end();
}

bool Bench::has_group(std::string_view group) const {
  const std::vector<std::string> groups = plugin::method_groups(manifest);
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Status Bench::needs_cloud() const {
  if (options.cloud != Cloud::none || (is_self_contained && is_harmless())) return ok();
  return skipped("needs --live or --replay");
}

std::string Bench::cassette_path(std::string_view test) const {
  std::string name(test);
  std::replace(name.begin(), name.end(), '/', '.');
  return options.cassettes + "/" + name + ".json";
}

struct Subject::Pending::State {
  explicit State(const Clock& clock) : has_ended(clock) {}
  Event has_ended;
  CallEnd end;
};

CallEnd Subject::Pending::wait() {
  static_cast<void>(state_->has_ended.wait(Deadline::never()));
  return state_->end;
}

void Subject::Pending::cancel() { subject_->instance_->cancel(ticket_); }

Subject::Subject(Bench& bench, SubjectSpec spec) : bench_(bench), spec_(std::move(spec)) {}

Result<std::unique_ptr<Subject>> Subject::open(Bench& bench, SubjectSpec spec) {
  std::unique_ptr<Subject> subject(new Subject(bench, std::move(spec)));
  SLIPWAY_TRY(subject->open());
  return subject;
}

Status Subject::open() {
  const Options& options = bench_.options;
  secrets_ = std::make_unique<plugin::MapSecrets>(bench_.config.secrets);
  kv_ = std::make_unique<plugin::MemoryKv>();
  SLIPWAY_TRY(const auto scope, plugin::HttpScope::make(bench_.config.http, *secrets_));
  services_ = std::make_unique<plugin::InstanceServices>(plugin::InstanceServices::Parts{
      *bench_.http, scope, *secrets_, bench_.manifest.reads_secrets, *kv_, bench_.executor, {}});
  plugin::HostServices* inner = services_.get();
  const bool is_real = options.cloud == Cloud::live && !spec_.test.empty();
  if (!is_real) {
    plugin::Cassette cassette;
    if (options.cloud == Cloud::replay && !spec_.test.empty()) {
      std::error_code ec;
      const std::string path = bench_.cassette_path(spec_.test);
      if (!files::exists(path, ec)) return skipped("no cassette of it was recorded");
      SLIPWAY_TRY(cassette, plugin::read_cassette(path));
    }
    replay_ = std::make_unique<plugin::ReplayServices>(std::move(cassette), *inner, bench_.clock);
    inner = replay_.get();
  }
  recorder_ = std::make_unique<plugin::RecordingServices>(*inner);
  faults_ = std::make_unique<plugin::FaultServices>(*recorder_, bench_.executor);
  faults_->set(spec_.faults);

  const plugin::InstanceLimits limits{.max_calls = std::max(bench_.manifest.max_concurrency, 1U),
                                      .cancel_grace = options.cancel_grace,
                                      .failures = 1};
  instance_ = std::make_unique<plugin::PluginInstance>(
      bench_.executor, bench_.random, bench_.manifest.name, limits,
      [this](plugin::PluginInstance::ChannelEvents events,
             plugin::Done<std::unique_ptr<plugin::Channel>> opened) {
        open_channel(std::move(events), std::move(opened));
      },
      plugin::PluginInstance::Hooks{{}, [this](const plugin::InstanceStatus& status) {
                                      if (status.phase == plugin::InstancePhase::opening) return;
                                      if (!has_settled_.exchange(true)) is_settled_.set();
                                    }});
  static_cast<void>(is_settled_.wait(Deadline::never()));
  const plugin::InstanceStatus status = instance_->status();
  if (status.phase == plugin::InstancePhase::ready) return ok();
  return unmet("an instance was made with good settings; it failed: {}", status.reason)
      .why("without an instance an environment cannot be used")
      .look_at("the constructor or create(), and the settings in --config")
      .to_do("make what the settings say; refuse only what they say wrongly");
}

void Subject::open_channel(plugin::PluginInstance::ChannelEvents events,
                           plugin::Done<std::unique_ptr<plugin::Channel>> opened) {
  CreateMessage create;
  create.settings = bench_.config.settings;
  create.environment = {"conform", "00000000-0000-4000-8000-000000000001"};
  create.controller = "00000000-0000-4000-8000-000000000002";
  create.plugin_dir = bench_.directory;
  const unsigned most = std::clamp(bench_.manifest.max_concurrency, 1U, 16U);
  plugin::OpenSpec open{.library = bench_.library,
                        .create = create,
                        .threads = spec_.threads == 0 ? most : spec_.threads,
                        .services = *faults_,
                        .completions = events.completions,
                        .ended = std::move(events.ended),
                        .misbehaved = std::move(events.misbehaved)};
  if (bench_.options.in_process) return open_in_process(std::move(open), nullptr, std::move(opened));
  open_isolated(std::move(open),
                {bench_.options.host_program,
                 {.profile = bench_.manifest.profile,
                  .mode = bench_.options.sandbox,
                  .readable_paths = {bench_.directory},
                  .limits = {}},
                 bench_.spawner,
                 bench_.executor},
                std::move(opened));
}

Subject::~Subject() {
  if (instance_ == nullptr) return;
  Event is_closed(bench_.clock);
  instance_->close(std::min<std::chrono::nanoseconds>(kCloseGrace, bench_.options.cancel_grace),
                   [&] { is_closed.set(); });
  static_cast<void>(is_closed.wait(Deadline::never()));
}

Subject::Pending Subject::begin(std::string_view method, std::string body, std::chrono::nanoseconds limit) {
  Pending pending;
  pending.subject_ = this;
  pending.state_ = std::make_shared<Pending::State>(bench_.clock);
  const std::int64_t began = bench_.clock.monotonic_ns();
  pending.ticket_ = instance_->call(
      {std::string(method), std::move(body), Deadline::after(bench_.clock, limit)},
      [state = pending.state_, began, &clock = bench_.clock](slipway_status status, std::string said) {
        state->end = {status, std::move(said), std::chrono::nanoseconds(clock.monotonic_ns() - began)};
        state->has_ended.set();
      });
  return pending;
}

CallEnd Subject::raw(std::string_view method, std::string body) {
  return begin(method, std::move(body), bench_.options.call_limit).wait();
}

Status Subject::check_manners() const {
  const plugin::InstanceStatus now = instance_->status();
  if (now.crashes > 0 || now.stuck > 0) {
    return unmet("the plugin's instance ended by itself: {}", now.reason)
        .why("the host ends all its open calls with it, and gives a plugin up after five times")
        .look_at(now.stuck > 0 ? "what keeps a call from ending after its deadline or its cancel"
                               : "the stack of that signal: run it again with --in-process under a debugger")
        .to_do("complete every call, and let no exception and no signal out");
  }
  if (now.late_completions > 0) {
    return unmet("calls were completed once each; {} further completions came", now.late_completions)
        .why("a call's number is used once: a second completion could end somebody else's call")
        .look_at("code paths that call done after they, or somebody else, have called it")
        .to_do("call done exactly once for each call");
  }
  if (now.bad_requests > 0) {
    return unmet("the host got {} service calls that break the contract (abi.h)", now.bad_requests)
        .why("the host answers such a call with an error, or not at all")
        .look_at("size, flags, parent and method of the requests to slipway_host.call")
        .to_do("make service calls through the SDK, on behalf of a call that is open");
  }
  if (replay_ != nullptr && bench_.options.cloud == Cloud::replay && !spec_.test.empty()) {
    if (const auto problems = replay_->problems(); !problems.empty()) {
      return unmet("{}", problems.front())
          .why("without the cloud's answer to it the test says nothing")
          .look_at(bench_.cassette_path(spec_.test))
          .to_do("if the request is meant, record again: --live --record");
    }
  }
  return ok();
}

}  // namespace slipway::conform
