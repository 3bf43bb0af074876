// SPDX-License-Identifier: Apache-2.0
// bench.hpp - what all tests of a run share (Bench), and one instance of the plugin under test with its
// services: recorded, replayed and broken on purpose (Subject). One thread uses them; completions come on
// others.
#pragma once

#include "base/random.hpp"
#include "base/stop.hpp"
#include "conform/verdict.hpp"
#include "plugin/client.hpp"
#include "plugin/fault_services.hpp"
#include "plugin/http_service.hpp"
#include "plugin/recorder.hpp"
#include "plugin/spawner.hpp"
#include "plugin/standalone.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::conform {

// How a recorded run was made: beside the cassettes, as run.json.
struct RecordedRun {
  std::string plugin;  // name and version
  std::string date;    // 2026-11-30
  std::string account;
  std::string nonces;    // what nonces are derived from: a replay has the same ones
  json::value settings;  // without secrets

  static constexpr std::array required{std::string_view("nonces"), std::string_view("settings")};
};
BOOST_DESCRIBE_STRUCT(RecordedRun, (), (plugin, date, account, nonces, settings))

struct Bench {
  // Reads plugin.json, settings and run.json.
  [[nodiscard]] static Result<std::unique_ptr<Bench>> make(Options options);

  [[nodiscard]] bool has(std::string_view method) const;
  [[nodiscard]] bool has_group(std::string_view group) const;
  template <Request R>
  [[nodiscard]] bool has() const {
    return has(R::method);
  }
  // Whether something answers the plugin's requests; otherwise says why a test cannot be made.
  [[nodiscard]] Status needs_cloud() const;
  // The plugin's own process, or this one, is all that it can change: no test of it makes anything real.
  [[nodiscard]] bool is_harmless() const { return manifest.profile == Profile::pure; }
  [[nodiscard]] std::string cassette_path(std::string_view test) const;

  Options options;
  std::string library;
  std::string directory;
  std::string manifest_text;  // of plugin.json; empty: there is none
  Manifest manifest;
  RecordedRun run;
  // The plugin answered probe without one HTTP request: its cloud is inside it.
  bool is_self_contained = false;
  // Resources of all tests so far: cleaned up is gone.
  std::uint64_t made = 0;
  std::uint64_t gone = 0;

  SystemClock clock;
  SystemRandom random;
  Metrics metrics;
  plugin::PluginConfig config;
  plugin::Spawner spawner;
  std::unique_ptr<plugin::HttpService> http;
  ThreadExecutor executor{clock, 2, "conform"};
};

// One call's end. A call that did not end in its time is stuck, and its instance with it.
struct CallEnd {
  slipway_status status = SLIPWAY_INTERNAL;
  std::string body;
  std::chrono::nanoseconds took{0};

  [[nodiscard]] bool is_ok() const { return status == SLIPWAY_OK; }
  [[nodiscard]] Error error() const { return decode_error(status, body); }
};

struct SubjectSpec {
  std::string test = {};  // whose cassette it is; empty: no cloud
  unsigned threads = 0;   // of the pool; 0: as many as the daemon gives
  std::vector<plugin::Fault> faults = {};
};

class Subject {
 public:
  // A call on its way.
  class Pending {
   public:
    [[nodiscard]] CallEnd wait();
    void cancel();

   private:
    friend class Subject;
    struct State;
    Subject* subject_ = nullptr;
    plugin::TicketId ticket_{};
    std::shared_ptr<State> state_;
  };

  // The instance is there, or why the plugin did not make it.
  [[nodiscard]] static Result<std::unique_ptr<Subject>> open(Bench& bench, SubjectSpec spec);
  ~Subject();

  [[nodiscard]] Pending begin(std::string_view method, std::string body, std::chrono::nanoseconds limit);
  [[nodiscard]] CallEnd raw(std::string_view method, std::string body);
  template <Request R>
  [[nodiscard]] Result<typename R::Reply> call(const R& request) {
    const CallEnd end = raw(R::method, encode(request));
    auto reply = plugin::read_reply<R>(end.status, end.body);
    if (!reply) return std::move(reply).error().within(R::method);
    return reply;
  }

  [[nodiscard]] plugin::FaultServices& faults() { return *faults_; }
  [[nodiscard]] unsigned requests() const { return faults_->requests(); }
  [[nodiscard]] std::vector<plugin::Exchange> exchanges() const { return recorder_->exchanges(); }
  [[nodiscard]] plugin::InstanceStatus status() const { return instance_->status(); }

  // What the plugin did that it must not, whatever the test was about; and what a replay missed.
  [[nodiscard]] Status check_manners() const;

 private:
  Subject(Bench& bench, SubjectSpec spec);
  Status open();
  void open_channel(plugin::PluginInstance::ChannelEvents events,
                    plugin::Done<std::unique_ptr<plugin::Channel>> opened);

  Bench& bench_;
  const SubjectSpec spec_;
  // From the last member up: the instance uses all the others.
  std::unique_ptr<plugin::SecretSource> secrets_;
  std::unique_ptr<plugin::KvStore> kv_;
  std::unique_ptr<plugin::HostServices> services_;
  std::unique_ptr<plugin::ReplayServices> replay_;
  std::unique_ptr<plugin::RecordingServices> recorder_;
  std::unique_ptr<plugin::FaultServices> faults_;
  Event is_settled_{bench_.clock};
  std::atomic<bool> has_settled_{false};
  std::unique_ptr<plugin::PluginInstance> instance_;
};

}  // namespace slipway::conform
