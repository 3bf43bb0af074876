// SPDX-License-Identifier: Apache-2.0
#include "base/fs.hpp"
#include "conform/surroundings.hpp"
#include "conform/trial.hpp"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

namespace slipway::conform {

namespace {

std::uint64_t hash_of(std::string_view text) {  // FNV-1a, 64 bits
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string digits(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

class PluginSuite final : public Suite {
 public:
  explicit PluginSuite(std::unique_ptr<Bench> bench) : bench_(std::move(bench)) {}

  Status open() {
    const Options& options = bench_->options;
    look_at_cloud();
    for (const auto add :
         {&add_binary_tests, &add_manifest_tests, &add_message_tests, &add_lifecycle_tests,
          &add_concurrency_tests, &add_deadline_tests, &add_semantics_tests, &add_fuzz_tests}) {
      add(*bench_, tests_);
    }
    std::erase_if(tests_, [&](const Test& test) {
      return ::fnmatch(options.filter.c_str(), test.name.c_str(), 0) != 0;
    });
    for (const Test& test : tests_) names_.push_back(test.name);
    heading_.plugin = bench_->run.plugin;
    heading_.in_process = options.in_process;
    heading_.seed = options.seed;
    heading_.cloud = cloud_text();
    if (!is_recording()) return ok();
    SLIPWAY_TRY(fs::make_directory(options.cassettes, 0755));
    std::string text = json::serialize(to_json(bench_->run));
    return fs::write_file_atomically(options.cassettes + "/run.json", text + "\n", 0644);
  }

  const Heading& heading() const override { return heading_; }
  const std::vector<std::string>& names() const override { return names_; }

  TestResult run(const std::string& name) override {
    const auto test =
        std::find_if(tests_.begin(), tests_.end(), [&](const Test& t) { return t.name == name; });
    if (test == tests_.end()) return result_of(name, skipped("there is no test of this name"));
    const std::int64_t began = bench_->clock.monotonic_ns();
    std::uint64_t bodies = 1;
    Status end = ok();
    {
      Trial trial(*bench_, name);
      end = test->body(trial);
      const Status manners = trial.finish();
      // A test that could not be made says so even when its instance broke; else the worse one counts.
      if (!manners && (end || manners.error().details.contains("why"))) end = manners;
      bodies = trial.bodies();
      if (const Status kept = keep(name, trial); !kept && end) end = kept;
    }
    TestResult result = result_of(name, end);
    result.count = bodies;
    result.took = std::chrono::milliseconds((bench_->clock.monotonic_ns() - began) / 1'000'000);
    if (result.failure) {
      result.failure->again = message(
          "{} --filter {} --seed 0x{}", bench_->options.command, name,
          digits(bench_->options.seed)
              .substr(std::min<std::size_t>(digits(bench_->options.seed).find_first_not_of('0'), 15)));
    }
    return result;
  }

  void account_for(Report& report) const override {
    report.requests_recorded = recorded_;
    if (bench_->options.cloud != Cloud::live) return;
    report.made = bench_->made;
    report.gone = bench_->gone;
  }

  Result<std::string> live_intent() override {
    Trial trial(*bench_, "intent");
    SLIPWAY_TRY(Subject * subject, trial.cloud_subject());
    SLIPWAY_TRY(const Surroundings around, look_around(*bench_, *subject));
    return message("up to {} real servers{} at a time in account {}", kServersAtATime,
                   around.type.empty() ? std::string() : " of type " + around.type, bench_->run.account);
  }

 private:
  static constexpr unsigned kServersAtATime = 4;

  [[nodiscard]] bool is_recording() const {
    return bench_->options.cloud == Cloud::live && !bench_->options.cassettes.empty();
  }

  // Whose account it is; whether the plugin needs a cloud at all.
  void look_at_cloud() {
    if (!bench_->has<ProbeRequest>() || bench_->options.cloud == Cloud::replay) return;
    const bool is_live = bench_->options.cloud == Cloud::live;
    auto subject = Subject::open(*bench_, {.test = is_live ? "probe" : ""});
    if (!subject) return;
    const auto probed = (*subject)->call(ProbeRequest{});
    if (!probed) return;
    bench_->run.account = probed->account;
    bench_->is_self_contained = (*subject)->requests() == 0;
  }

  std::string cloud_text() const {
    switch (bench_->options.cloud) {
      case Cloud::live:
        return "account " + bench_->run.account;
      case Cloud::replay:
        return "cassettes of " + bench_->run.date;
      case Cloud::none:
        break;
    }
    return bench_->needs_cloud() ? "the cloud inside the plugin" : "no cloud";
  }

  Status keep(const std::string& name, const Trial& trial) {
    if (!is_recording()) return ok();
    plugin::Cassette cassette{name, trial.recording()};
    if (cassette.exchanges.empty()) return ok();
    recorded_ += cassette.exchanges.size();
    return plugin::write_cassette(bench_->cassette_path(name), cassette);
  }

  std::unique_ptr<Bench> bench_;
  Tests tests_;
  std::vector<std::string> names_;
  Heading heading_;
  std::uint64_t recorded_ = 0;
};

}  // namespace

TestResult result_of(std::string name, const Status& end) {
  TestResult result;
  result.name = std::move(name);
  if (end) return result;
  const Error& error = end.error();
  const auto detail_of = [&](const std::string& key) {
    const auto found = error.details.find(key);
    return found == error.details.end() ? std::string() : found->second;
  };
  const std::string verdict = detail_of(detail::kVerdict);
  if (!verdict.empty()) {
    result.verdict = verdict == "skipped" ? Verdict::skipped : Verdict::not_applicable;
    result.reason = error.message;
    return result;
  }
  result.verdict = Verdict::failed;
  result.failure = Finding{error.message, detail_of("why"), detail_of("look_at"), detail_of("to_do"), {}};
  if (result.failure->why.empty()) {
    result.failure->what =
        message("a step that the test needs failed with {}: {}", error.code, error.message);
    result.failure->why = "an operator would meet the same";
    result.failure->to_do = "run the method by itself: slipway plugin call FILE METHOD --trace";
  }
  return result;
}

Trial::Trial(Bench& bench, std::string name)
    : bench_(bench), name_(std::move(name)), random_(bench.options.seed ^ hash_of(name_)) {
  owner_ = digits(hash_of(bench_.run.nonces + name_));
}

Trial::~Trial() { static_cast<void>(finish().has_value()); }

Result<Subject*> Trial::subject(std::vector<plugin::Fault> faults, unsigned threads) {
  SLIPWAY_TRY(auto made, Subject::open(bench_, {{}, threads, std::move(faults)}));
  subjects_.push_back(std::move(made));
  return subjects_.back().get();
}

Result<Subject*> Trial::cloud_subject() {
  if (cloud_subject_ != nullptr) return cloud_subject_;
  SLIPWAY_TRY(bench_.needs_cloud());
  SLIPWAY_TRY(auto made, Subject::open(bench_, {.test = name_}));
  subjects_.push_back(std::move(made));
  cloud_subject_ = subjects_.back().get();
  return cloud_subject_;
}

Result<Subject*> Trial::any_subject(std::vector<plugin::Fault> faults) {
  if (!bench_.needs_cloud()) return subject(std::move(faults));
  SLIPWAY_TRY(Subject * made, cloud_subject());
  made->faults().set(std::move(faults));
  return made;
}

std::string Trial::nonce(unsigned number) const {
  const std::string from = bench_.run.nonces + name_ + std::to_string(number);
  return digits(hash_of(from)) + digits(hash_of(from + "second half"));
}

Status Trial::finish() {
  for (auto& clean_up : std::exchange(clean_ups_, {})) clean_up();
  for (const auto& subject : subjects_) SLIPWAY_TRY(subject->check_manners());
  return ok();
}

std::vector<plugin::Exchange> Trial::recording() const {
  return cloud_subject_ == nullptr ? std::vector<plugin::Exchange>() : cloud_subject_->exchanges();
}

Result<std::unique_ptr<Suite>> Suite::open(Options options) {
  SLIPWAY_TRY(auto bench, Bench::make(std::move(options)));
  auto suite = std::make_unique<PluginSuite>(std::move(bench));
  SLIPWAY_TRY(suite->open());
  return std::unique_ptr<Suite>(std::move(suite));
}

}  // namespace slipway::conform
