// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery.hpp"

#include "support/plugin_artefact.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>

#include <filesystem>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

// A plugin's directory; the library and the manifest have its name.
void place(const std::string& directory, const std::string& name, const std::string& version = "0.1.0") {
  Manifest manifest = tiny_manifest();
  manifest.name = name;
  manifest.version = version;
  write_files(directory, {{name + ".so", tiny_library()}, {"plugin.json", encode(manifest)}});
}

std::vector<std::string> found(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& c : candidates) {
    out.push_back(message("{} {}{}{}", c.source, c.name, c.problem ? " problem" : "",
                          c.is_shadowed ? " shadowed" : ""));
  }
  return out;
}

}  // namespace

TEST_CASE("places that are not there have no plugins") {
  CHECK(discover({}).empty());
  CHECK(discover({{}, "/no/data", "/no/prefix", "/no/build"}).empty());
}

TEST_CASE("plugins are found in the order of the search path, the first of a name counts") {
  Site site;
  REQUIRE(site.store().install(site.archive()));
  place(site.path("prefix/sim"), "sim");
  place(site.path("prefix/tiny"), "tiny", "9.0.0");
  place(site.path("build/lxc"), "lxc");
  place(site.path("dev"), "sim");
  const SearchPath path{{site.path("dev")}, site.path("plugins"), site.path("prefix"), site.path("build")};
  const auto candidates = discover(path);
  CHECK(found(candidates) == std::vector<std::string>{"development sim", "installed tiny",
                                                      "prefix sim shadowed", "prefix tiny shadowed",
                                                      "build_tree lxc"});
  REQUIRE(candidates.size() == 5);
  CHECK(candidates[1].manifest->version == "0.1.0");
  CHECK(candidates[1].entry->current->version == "0.1.0");
  CHECK(candidates[1].may_load());
  CHECK_FALSE(candidates[2].may_load());
  CHECK(candidates[4].elf->note->abi_major == SLIPWAY_ABI_MAJOR);
  CHECK_FALSE(site.was_code_run());
}

TEST_CASE("a plugin that came with the program can be disabled in lock.json") {
  const Site site;
  place(site.path("prefix/sim"), "sim");
  PluginStore store = site.store();
  REQUIRE(store.disable("sim", "not here"));
  const SearchPath path{{}, site.path("plugins"), site.path("prefix"), ""};
  const auto candidates = discover(path);
  REQUIRE(candidates.size() == 1);
  CHECK_FALSE(candidates[0].may_load());
  CHECK(candidates[0].entry->reason == "not here");
  REQUIRE(store.enable("sim"));
  CHECK(discover(path)[0].may_load());
}

TEST_CASE("what cannot be used is reported with its problem, never left out") {
  const Site site;
  place(site.path("prefix/good"), "good");
  place(site.path("prefix/renamed"), "renamed");
  write_text(site.path("prefix/renamed/plugin.json"), encode(tiny_manifest()));
  place(site.path("prefix/broken"), "broken");
  write_text(site.path("prefix/broken/broken.so"), "not an ELF file");
  place(site.path("prefix/bare"), "bare");
  std::filesystem::remove(site.path("prefix/bare/plugin.json"));
  std::filesystem::create_directories(site.path("prefix/empty"));
  const auto candidates = discover({{}, "", site.path("prefix"), ""});
  CHECK(found(candidates) == std::vector<std::string>{"prefix bare problem", "prefix broken problem",
                                                      "prefix empty problem", "prefix good",
                                                      "prefix renamed problem"});
  CHECK(candidates[0].problem->message.find("plugin.json") != std::string::npos);
  CHECK(candidates[2].problem->message.find("one NAME.so, it has 0") != std::string::npos);
  CHECK(candidates[4].problem->message.find("expected tiny.so") != std::string::npos);
}

TEST_CASE("a lock file that cannot be read is a problem, and hides no other plugin") {
  const Site site;
  place(site.path("prefix/sim"), "sim");
  std::filesystem::create_directories(site.path("plugins"));
  write_text(site.path("plugins/lock.json"), "not json");
  CHECK(found(discover({{}, site.path("plugins"), site.path("prefix"), ""})) ==
        std::vector<std::string>{"installed lock.json problem", "prefix sim"});
}

TEST_CASE(
    "for development a file, its directory and a directory of directories all do, and a wrong path is said") {
  const Site site;
  place(site.path("many/sim"), "sim");
  place(site.path("many/tiny"), "tiny");
  CHECK(found(discover({{site.path("many/sim/sim.so")}, "", "", ""})) ==
        std::vector<std::string>{"development sim"});
  CHECK(found(discover({{site.path("many/sim/")}, "", "", ""})) ==
        std::vector<std::string>{"development sim"});
  CHECK(found(discover({{site.path("many")}, "", "", ""})) ==
        std::vector<std::string>{"development sim", "development tiny"});
  CHECK(found(discover({{site.path("nowhere.so")}, "", "", ""})) ==
        std::vector<std::string>{"development nowhere problem"});
  CHECK(development_paths({"a"}, "b::c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(examine(site.path("many/sim"), PluginSource::build_tree).library == site.path("many/sim/sim.so"));
}
