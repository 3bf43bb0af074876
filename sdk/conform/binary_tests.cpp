// SPDX-License-Identifier: Apache-2.0
// binary_tests.cpp - the file itself, read without running it, and its table.
#include "base/text.hpp"
#include "conform/bare_client.hpp"
#include "conform/trial.hpp"
#include "plugin/load_rules.hpp"
#include "plugin/manifest_rules.hpp"

namespace slipway::conform {

namespace {

constexpr const char* kBuild = "build it with slipway_add_plugin(), which sees to it";

using FactsTest = std::function<Status(const Bench&, const plugin::ElfFacts&)>;

Test about_facts(std::string name, FactsTest body) {
  return {"binary/" + name, [body = std::move(body)](Trial& trial) -> Status {
            SLIPWAY_TRY(const auto facts, plugin::read_elf(trial.bench().library));
            return body(trial.bench(), facts);
          }};
}

Status exported(const Bench& bench, const plugin::ElfFacts& facts) {
  if (facts.exported == std::vector<std::string>{SLIPWAY_ENTRY_SYMBOL}) return ok();
  return unmet("the dynamic symbols of {} were read; wanted {} alone, got {}: {}", bench.library,
               SLIPWAY_ENTRY_SYMBOL, facts.exported.size(),
               text::join(std::span(facts.exported).first(std::min<std::size_t>(facts.exported.size(), 8)),
                          ", "))
      .why("a symbol that two plugins export may be found in the wrong one of them")
      .look_at("nm -D --defined-only " + bench.library)
      .to_do(kBuild);
}

Status note(const Bench& bench, const plugin::ElfFacts& facts) {
  if (!facts.note) {
    return unmet("the ELF note of {} was read; wanted the ABI that it was built for, got none: {}",
                 bench.library, facts.note_problem)
        .why("discovery and trust read it instead of running the plugin's code")
        .look_at("readelf -n " + bench.library)
        .to_do("use SLIPWAY_PLUGIN, which emits it");
  }
  const Status spoken = plugin::check_abi(*facts.note, bench.library);
  if (spoken) return ok();
  return unmet("{}", spoken.error().message)
      .why("a host refuses it before it is loaded")
      .look_at("slipway plugin abi " + bench.library)
      .to_do("rebuild it with this SDK");
}

Status needed(const Bench& bench, const plugin::ElfFacts& facts) {
  const auto allowed = plugin::allowed_libraries(bench.manifest.profile);
  for (const std::string& library : facts.needed) {
    if (allowed.contains(library)) continue;
    return unmet("the libraries that {} needs were read; wanted none but those of the compiler, got {}",
                 bench.library, library)
        .why("a host may have another version of it, or none")
        .look_at("readelf -d " + bench.library)
        .to_do("link it statically, or do without; HTTP, TLS and JSON come from host and SDK");
  }
  return ok();
}

Status run_paths(const Bench& bench, const plugin::ElfFacts& facts) {
  if (facts.run_paths.empty()) return ok();
  return unmet("the run paths of {} were read; wanted none, got {}", bench.library, facts.run_paths.front())
      .why("whoever can write there can feed a library to the host")
      .look_at("readelf -d " + bench.library)
      .to_do("link without -rpath; with CMake SKIP_BUILD_RPATH and no INSTALL_RPATH");
}

Status is_not(bool is_so, const char* what, const char* why, const char* to_do) {
  if (!is_so) return ok();
  return unmet("the file was read; it has {}", what).why(why).look_at("readelf -lW FILE").to_do(to_do);
}

Status table(Trial& trial) {
  SLIPWAY_TRY(const BareOutcome outcome, run_bare(trial.bench(), bare_spec(trial.bench(), BareJob::table)));
  if (outcome.report.problems.empty()) return ok();
  return unmet("the entry was asked by hosts that speak this ABI and others; {}",
               outcome.report.problems.front())
      .why("a host must be able to refuse a plugin that it cannot speak to, and to say which one it wants")
      .look_at("slipway_plugin_entry, and abi.h")
      .to_do("use SLIPWAY_PLUGIN, which writes entry and table");
}

Status same_build(Trial& trial) {
  const Bench& bench = trial.bench();
  SLIPWAY_TRY(const auto facts, plugin::read_elf(bench.library));
  if (bench.manifest_text.empty()) return skipped("there is no plugin.json beside the file");
  const Status agrees = plugin::agree(bench.manifest, facts, bench.library);
  if (agrees) return ok();
  return unmet("file and plugin.json were compared; {}", agrees.error().message)
      .why("what an operator is shown must be what runs")
      .look_at(bench.directory + "/plugin.json")
      .to_do("let the build write plugin.json, and keep both together");
}

}  // namespace

void add_binary_tests(const Bench&, Tests& tests) {
  tests.push_back(about_facts("exported-symbols", exported));
  tests.push_back(about_facts("note", note));
  tests.push_back(about_facts("needed-libraries", needed));
  tests.push_back(about_facts("run-paths", run_paths));
  tests.push_back(about_facts("stack", [](const Bench&, const plugin::ElfFacts& facts) {
    return is_not(facts.has_executable_stack, "a stack that is executable",
                  "loading it would make every stack of the host executable", "link with -z noexecstack");
  }));
  tests.push_back(about_facts("writable-code", [](const Bench&, const plugin::ElfFacts& facts) {
    return is_not(facts.has_writable_code, "a segment that is writable and executable",
                  "an attacker's bytes could become code", kBuild);
  }));
  tests.push_back(about_facts("text-relocations", [](const Bench&, const plugin::ElfFacts& facts) {
    return is_not(facts.has_text_relocations, "text relocations", "its code would be writable while it loads",
                  "compile all of it with -fPIC");
  }));
  tests.push_back(about_facts("no-ifuncs", [](const Bench&, const plugin::ElfFacts& facts) {
    return is_not(facts.has_ifuncs, "a symbol that is found by running code (IFUNC)",
                  "that code runs before anybody has decided to trust it", kBuild);
  }));
  tests.push_back({"binary/entry-and-table", table});
  tests.push_back({"binary/same-build", same_build});
}

}  // namespace slipway::conform
