// SPDX-License-Identifier: Apache-2.0
// lifecycle_tests.cpp - instances that come and go: nothing is left behind, and wrong settings are refused
// with all that is wrong.
#include "conform/bare_client.hpp"
#include "conform/methods.hpp"
#include "conform/trial.hpp"

#include <slipway/codec.hpp>

#include <algorithm>

namespace slipway::conform {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#else
constexpr bool kHasSanitizer = false;
#endif
constexpr std::uint64_t kMaxGrowthKib = 1024;

Status broke(const BareReport& report, std::string_view done) {
  if (report.problems.empty()) return ok();
  return unmet("{}; {}", done, report.problems.front())
      .why("a daemon makes and drops instances for months, in one process")
      .look_at("create, destroy, and what the methods leave running")
      .to_do("keep to abi.h: each call one completion, and after destroy nothing of the instance runs");
}

Result<BareOutcome> go_round(Trial& trial, unsigned rounds, bool is_calling) {
  BareSpec spec = bare_spec(trial.bench(), BareJob::rounds);
  spec.rounds = rounds;
  spec.warm_up = rounds > 1 ? std::max(rounds / 5, 1U) : 0;
  if (is_calling) spec.methods = harmless_methods(trial.bench());
  SLIPWAY_TRY(BareOutcome outcome, run_bare(trial.bench(), spec));
  SLIPWAY_TRY(broke(outcome.report, message("an instance was made, called and destroyed {} times", rounds)));
  if (outcome.usages.size() == 2) return outcome;
  return unmet("an instance was made {} times; its process could not be looked at", rounds);
}

Status create_destroy(Trial& trial) {
  SLIPWAY_TRY(go_round(trial, 1, false));
  return ok();
}

Status calls_between(Trial& trial) {
  SLIPWAY_TRY(go_round(trial, 1, true));
  return ok();
}

Unmet grew(unsigned rounds, std::string_view what, std::uint64_t before, std::uint64_t after) {
  return unmet("an instance was made, called and destroyed {} times; wanted as many {} as before, {}, got {}",
               rounds, what, before, after)
      .why("a daemon makes and drops instances for months, in one process");
}

Status threads(Trial& trial) {
  const unsigned rounds = trial.bench().options.rounds;
  SLIPWAY_TRY(const BareOutcome outcome, go_round(trial, rounds, true));
  // One that was just told to end may still be there.
  if (outcome.usages[1].threads <= outcome.usages[0].threads + rounds / 10) return ok();
  return grew(rounds, "threads", outcome.usages[0].threads, outcome.usages[1].threads)
      .look_at("std::thread, detach(), and libraries that start threads of their own")
      .to_do("join in the destructor what the constructor or a method began; most plugins need no thread");
}

Status descriptors(Trial& trial) {
  const unsigned rounds = trial.bench().options.rounds;
  SLIPWAY_TRY(const BareOutcome outcome, go_round(trial, rounds, true));
  if (outcome.usages[1].descriptors == outcome.usages[0].descriptors) return ok();
  return grew(rounds, "descriptors", outcome.usages[0].descriptors, outcome.usages[1].descriptors)
      .look_at("open, socket, epoll_create and pipe in the plugin and in its libraries")
      .to_do("close in the destructor what was opened, and nothing else");
}

Status memory(Trial& trial) {
  if (kHasSanitizer) return skipped("a sanitizer keeps what is freed");
  const unsigned rounds = trial.bench().options.rounds;
  SLIPWAY_TRY(const BareOutcome outcome, go_round(trial, rounds, true));
  if (outcome.usages[1].memory_kib <= outcome.usages[0].memory_kib + kMaxGrowthKib) return ok();
  return grew(rounds, message("KiB of memory (give or take {})", kMaxGrowthKib), outcome.usages[0].memory_kib,
              outcome.usages[1].memory_kib)
      .look_at("caches without a bound, and what is allocated by hand")
      .to_do("run the plugin's tests with -fsanitize=address, which says where it was allocated");
}

Status quiet(Trial& trial) {
  if (trial.bench().options.in_process) return skipped("only in a child");
  SLIPWAY_TRY(const BareOutcome outcome, go_round(trial, 1, true));
  if (outcome.report.printed.empty()) return ok();
  return unmet("an instance was made, called and destroyed; wanted nothing on stdout, got \"{}\"",
               slipway::detail::excerpt(outcome.report.printed))
      .why("stdout is the program's, not the plugin's: a script may read it")
      .look_at("printf, std::cout, and libraries that print")
      .to_do("log through the host: call.log(LogSeverity::info, \"text\", {{\"key\", value}})");
}

// ---- wrong settings ----

struct Wrong {
  json::value settings;
  std::vector<std::string> names;  // that the refusal must have
};

json::value wrong_value(const SettingInfo& setting) {
  switch (setting.type) {
    case SettingType::text:
      return setting.choices.empty() ? json::value(json::array{1}) : json::value("conform-no-such-choice");
    default:
      return "conform: neither number nor list";
  }
}

Status refused(Trial& trial, const std::vector<Wrong>& wrongs) {
  BareSpec spec = bare_spec(trial.bench(), BareJob::refuse);
  spec.rounds = trial.bench().options.rounds;
  spec.warm_up = std::max(spec.rounds / 5, 1U);
  for (const Wrong& wrong : wrongs) spec.wrong_settings.push_back(wrong.settings);
  SLIPWAY_TRY(const BareOutcome outcome, run_bare(trial.bench(), spec));
  SLIPWAY_TRY(broke(outcome.report, "create was called with wrong settings"));
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    const Error& refusal = outcome.report.refusals.at(i);
    std::string problem;
    if (refusal.message.empty()) {
      problem = "wanted them refused, got an instance";
    } else if (refusal.code != Code::invalid) {
      problem = message("wanted invalid, got {}: {}", refusal.code, refusal.message);
    }
    for (const std::string& name : wrongs[i].names) {
      if (!problem.empty() || refusal.message.find(name) != std::string::npos) continue;
      problem = message("wanted a message that names {}, got: {}", name, refusal.message);
    }
    if (problem.empty()) continue;
    return unmet("create was called with the settings {}; {}",
                 slipway::detail::excerpt(json::serialize(wrongs[i].settings), 200), problem)
        .why("an operator corrects settings by this text, all of them at once")
        .look_at("schema(), and what the constructor checks by itself")
        .to_do(
            "let the SDK check settings by schema(); throw or fail() with the setting's name for the rest");
  }
  if (outcome.usages.size() == 2 && (outcome.usages[0].threads != outcome.usages[1].threads ||
                                     outcome.usages[0].descriptors != outcome.usages[1].descriptors)) {
    return grew(spec.rounds, "threads and descriptors after refused settings",
                outcome.usages[0].threads + outcome.usages[0].descriptors,
                outcome.usages[1].threads + outcome.usages[1].descriptors)
        .look_at("what create begins before it refuses")
        .to_do("check first, begin afterwards");
  }
  return ok();
}

Status unknown_setting(Trial& trial) {
  json::object settings = trial.bench().config.settings;
  settings["zz_conform"] = "x";
  return refused(trial, {{settings, {"zz_conform"}}});
}

Status missing_settings(Trial& trial) {
  std::vector<Wrong> wrongs;
  Wrong all{trial.bench().config.settings, {}};
  for (const SettingInfo& setting : trial.bench().manifest.settings) {
    if (!setting.required) continue;
    json::object settings = trial.bench().config.settings;
    settings.erase(setting.name);
    wrongs.push_back({settings, {setting.name}});
    all.settings.as_object().erase(setting.name);
    all.names.push_back(setting.name);
  }
  if (wrongs.empty()) return not_applicable("no setting is required");
  wrongs.push_back(std::move(all));
  return refused(trial, wrongs);
}

Status wrong_settings(Trial& trial) {
  std::vector<Wrong> wrongs;
  Wrong all{trial.bench().config.settings, {}};
  for (const SettingInfo& setting : trial.bench().manifest.settings) {
    json::object settings = trial.bench().config.settings;
    settings[setting.name] = wrong_value(setting);
    wrongs.push_back({settings, {setting.name}});
    all.settings.as_object()[setting.name] = wrong_value(setting);
    all.names.push_back(setting.name);
  }
  if (wrongs.empty()) return not_applicable("the plugin has no settings");
  wrongs.push_back(std::move(all));
  return refused(trial, wrongs);
}

Status settings_out_of_bounds(Trial& trial) {
  std::vector<Wrong> wrongs;
  for (const SettingInfo& setting : trial.bench().manifest.settings) {
    for (const bool is_low : {true, false}) {
      const auto bound = is_low ? setting.min : setting.max;
      if (!bound || *bound == (is_low ? INT64_MIN : INT64_MAX)) continue;
      json::object settings = trial.bench().config.settings;
      settings[setting.name] = is_low ? *bound - 1 : *bound + 1;
      wrongs.push_back({settings, {setting.name}});
    }
  }
  if (wrongs.empty()) return not_applicable("no setting has bounds");
  return refused(trial, wrongs);
}

Status no_settings_at_all(Trial& trial) {
  std::vector<Wrong> wrongs;
  for (const json::value& settings : {json::value(json::array()), json::value("text"), json::value(7)}) {
    wrongs.push_back({settings, {}});
  }
  return refused(trial, wrongs);
}

Status opens_again(Trial& trial) {
  for (int i = 0; i < 3; ++i) {
    SLIPWAY_TRY(auto subject, Subject::open(trial.bench(), {}));
    SLIPWAY_TRY(subject->check_manners());
  }
  return ok();
}

}  // namespace

void add_lifecycle_tests(const Bench&, Tests& tests) {
  tests.push_back({"lifecycle/create-destroy", create_destroy});
  tests.push_back({"lifecycle/calls-between", calls_between});
  tests.push_back({"lifecycle/opens-again", opens_again});
  tests.push_back({"lifecycle/threads-flat", threads});
  tests.push_back({"lifecycle/descriptors-flat", descriptors});
  tests.push_back({"lifecycle/memory-flat", memory});
  tests.push_back({"lifecycle/quiet", quiet});
  tests.push_back({"lifecycle/settings-unknown", unknown_setting});
  tests.push_back({"lifecycle/settings-missing", missing_settings});
  tests.push_back({"lifecycle/settings-of-wrong-type", wrong_settings});
  tests.push_back({"lifecycle/settings-out-of-bounds", settings_out_of_bounds});
  tests.push_back({"lifecycle/settings-no-object", no_settings_at_all});
}

}  // namespace slipway::conform
