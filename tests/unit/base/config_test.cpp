// SPDX-License-Identifier: Apache-2.0
#include "base/config.hpp"

#include "base/fs.hpp"
#include "base/random.hpp"
#include "support/temp_dir.hpp"

#include <catch2/catch.hpp>
#include <stdlib.h>  // setenv

#include <filesystem>
#include <string>
#include <vector>

namespace slipway {
namespace {

using testing::TempDir;

const std::vector<Setting>& table() {
  static const std::vector<Setting> settings = {
      {"log.level",
       SettingType::choice,
       "info",
       "Least level that is written.",
       0,
       0,
       {"debug", "info", "warn", "error"}},
      {"log.path", SettingType::text, "", "File; empty for stderr."},
      {"log.json", SettingType::boolean, "false", "One JSON object a line."},
      {"log.max-size", SettingType::size, "100M", "Size at which the file is rotated.", 1, 1024 * 1024},
      {"log.keep", SettingType::integer, "5", "Old files that are kept.", 0, 100},
      {"store.busy-timeout", SettingType::duration, "5s", "Longest wait for the lock.", 1, 60'000},
      {"store.groups", SettingType::integer, "-1", "No upper bound.", -1},
      {"plugins.allow-system", SettingType::list, "lxc", "Plugins that may run unconfined."},
  };
  return settings;
}

// A file slipwayd.conf in a directory of its own, and what else there is.
class Sources {
 public:
  explicit Sources(const std::string& content = "") {
    all.file = dir_.path("slipwayd.conf");
    if (!content.empty()) write("slipwayd.conf", content);
  }
  void write(const std::string& name, const std::string& content) const {
    REQUIRE(fs::make_directory(dir_.path("conf.d"), 0755));
    REQUIRE(fs::write_file_atomically(path(name), content, 0644));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return dir_.path(name); }
  [[nodiscard]] Result<Config> load() const { return Config::load(table(), all); }
  [[nodiscard]] std::string error() const {
    const auto config = load();
    REQUIRE_FALSE(config.has_value());
    CHECK(config.error().code == Code::invalid);
    return config.error().message;
  }

 private:
  TempDir dir_;

 public:
  ConfigSources all;
};

Config::Entry entry_of(const Config& config, std::string_view name) {
  for (const Config::Entry& entry : config.entries()) {
    if (entry.name == name) return entry;
  }
  FAIL("no entry " << name);
  return {};
}

TEST_CASE("without any source all settings have their defaults") {
  const auto config = Config::load(table(), {}).value();
  CHECK(config.get_string("log.level") == "info");
  CHECK(config.get_string("log.path").empty());
  CHECK_FALSE(config.get_bool("log.json"));
  CHECK(config.get_mib("log.max-size") == 100);
  CHECK(config.get_integer("log.keep") == 5);
  CHECK(config.get_duration_ms("store.busy-timeout") == 5000);
  CHECK(config.get_list("plugins.allow-system") == std::vector<std::string>{"lxc"});
  const auto entries = config.entries();
  REQUIRE(entries.size() == table().size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CHECK(entries[i].name == table()[i].name);
    CHECK(entries[i].value == table()[i].fallback);
    CHECK(entries[i].source == "default");
    CHECK(entries[i].is_default);
    CHECK(entries[i].help == table()[i].help);
  }
}

TEST_CASE("flag beats environment beats file beats default, and each value knows its source") {
  Sources sources(
      "# comment\n[log]\nlevel = warn # after the value\nkeep=7\n\nmax-size = 1G\n[store]\nbusy-timeout = "
      "2s\n");
  sources.all.environment = {{"SLIPWAYD_LOG_KEEP", "8"}, {"SLIPWAYD_LOG_MAX_SIZE", "2G"}, {"PATH", "/bin"}};
  sources.all.flags = {"--log.max-size=3G", "--log.path=/var/log/a=b#c"};
  const auto config = sources.load().value();
  CHECK(config.get_string("log.level") == "warn");
  CHECK(config.get_integer("log.keep") == 8);
  CHECK(config.get_mib("log.max-size") == 3072);
  CHECK(config.get_duration_ms("store.busy-timeout") == 2000);
  CHECK(config.get_string("log.path") == "/var/log/a=b#c");
  CHECK(config.warnings().empty());

  CHECK(entry_of(config, "log.level").source == sources.path("slipwayd.conf") + ":3");
  CHECK(entry_of(config, "log.level").value == "warn");
  CHECK_FALSE(entry_of(config, "log.level").is_default);
  CHECK(entry_of(config, "store.busy-timeout").source == sources.path("slipwayd.conf") + ":8");
  CHECK(entry_of(config, "log.keep").source == "SLIPWAYD_LOG_KEEP");
  CHECK(entry_of(config, "log.max-size").source == "--log.max-size");
  CHECK(entry_of(config, "log.max-size").value == "3G");
  CHECK(entry_of(config, "log.json").is_default);
}

TEST_CASE("files of conf.d come after the main file, by name, and only *.conf") {
  Sources sources("log.keep = 1\nlog.level = debug\n");
  sources.write("conf.d/20-b.conf", "[log]\nkeep = 3\n");
  sources.write("conf.d/10-a.conf", "[log]\nkeep = 2\njson = true\n");
  sources.write("conf.d/30-c.conf.bak", "[log]\nkeep = 4\n");
  const auto config = sources.load().value();
  CHECK(config.get_integer("log.keep") == 3);
  CHECK(config.get_bool("log.json"));
  CHECK(config.get_string("log.level") == "debug");
  CHECK(entry_of(config, "log.keep").source == sources.path("conf.d/20-b.conf") + ":2");
}

TEST_CASE("a list collects within the files, and a stronger source takes its place") {
  using List = std::vector<std::string>;
  Sources sources("[plugins]\nallow-system = a, b\nallow-system = c\n");
  sources.write("conf.d/x.conf", "plugins.allow-system = d\n");
  CHECK(sources.load().value().get_list("plugins.allow-system") == List{"a", "b", "c", "d"});
  CHECK(entry_of(sources.load().value(), "plugins.allow-system").value == "a,b,c,d");

  sources.write("conf.d/y.conf", "[plugins]\nallow-system =\nallow-system = e\n");
  CHECK(sources.load().value().get_list("plugins.allow-system") == List{"e"});

  sources.all.environment = {{"SLIPWAYD_PLUGINS_ALLOW_SYSTEM", "f,g"}};
  CHECK(sources.load().value().get_list("plugins.allow-system") == List{"f", "g"});
  sources.all.flags = {"--plugins.allow-system=h", "--plugins.allow-system=i"};
  CHECK(sources.load().value().get_list("plugins.allow-system") == List{"h", "i"});
  sources.all.flags = {"--plugins.allow-system="};
  CHECK(sources.load().value().get_list("plugins.allow-system").empty());
}

TEST_CASE("an unknown setting is an error with its place and a suggestion") {
  Sources sources("[log]\n# x\nlevle = info\n");
  CHECK(sources.error() ==
        sources.path("slipwayd.conf") + ":3: unknown setting \"log.levle\" (did you mean \"log.level\"?)");
  CHECK(Sources("nothing-like-it = 1\n").error().ends_with(":1: unknown setting \"nothing-like-it\""));
  Sources flags;
  flags.all.flags = {"--log.kep=3"};
  CHECK(flags.error() == "--log.kep: unknown setting \"log.kep\" (did you mean \"log.keep\"?)");
}

TEST_CASE("an unknown variable of ours is a warning with a suggestion, another one is nothing") {
  Sources sources;
  sources.all.environment = {{"SLIPWAYD_LOG_LEVLE", "debug"}, {"SLIPWAY_ENVIRONMENT", "prod"}, {"HOME", "/"}};
  const auto config = sources.load().value();
  REQUIRE(config.warnings().size() == 1);
  CHECK(config.warnings()[0] ==
        "environment variable SLIPWAYD_LOG_LEVLE is no setting and was ignored (did you mean "
        "\"SLIPWAYD_LOG_LEVEL\"?)");
  CHECK(config.get_string("log.level") == "info");
}

TEST_CASE("a bad value names source, setting, what is expected and what came") {
  const auto with_flag = [](const std::string& flag) {
    Sources sources;
    sources.all.flags = {flag};
    return sources.error();
  };
  CHECK(with_flag("--log.keep=101") == "--log.keep: setting log.keep: expected 0 to 100, got \"101\"");
  CHECK(with_flag("--log.keep=-1") == "--log.keep: setting log.keep: expected 0 to 100, got \"-1\"");
  CHECK(with_flag("--log.keep=5x") == "--log.keep: setting log.keep: expected a whole number, got \"5x\"");
  CHECK(with_flag("--log.keep=") == "--log.keep: setting log.keep: expected a whole number, got \"\"");
  CHECK(with_flag("--store.groups=-2") ==
        "--store.groups: setting store.groups: expected at least -1, got \"-2\"");
  CHECK(with_flag("--log.json=yes") == "--log.json: setting log.json: expected true or false, got \"yes\"");
  CHECK(with_flag("--log.level=inof") ==
        "--log.level: setting log.level: expected one of debug, info, warn, error, got \"inof\" "
        "(did you mean \"info\"?)");
  CHECK(with_flag("--log.max-size=2T") ==
        "--log.max-size: setting log.max-size: expected 1M to 1T, got \"2T\"");
  CHECK(with_flag("--log.max-size=big").find("expected a size such as") != std::string::npos);
  CHECK(with_flag("--store.busy-timeout=61s") ==
        "--store.busy-timeout: setting store.busy-timeout: expected 1ms to 1m, got \"61s\"");
  CHECK(with_flag("--store.busy-timeout=5").find("expected a duration such as") != std::string::npos);
  CHECK(with_flag("--log.path=a\nb").find("got \"a\\x0ab\"") != std::string::npos);

  Sources environment;
  environment.all.environment = {{"SLIPWAYD_LOG_KEEP", "many"}};
  CHECK(environment.error() == "SLIPWAYD_LOG_KEEP: setting log.keep: expected a whole number, got \"many\"");
  Sources file("[log]\n\nkeep = many\n");
  CHECK(file.error() ==
        file.path("slipwayd.conf") + ":3: setting log.keep: expected a whole number, got \"many\"");
}

TEST_CASE("a flag without a value or dashes is refused") {
  for (const char* flag : {"--log.keep", "log.keep=3", "-log.keep=3", ""}) {
    Sources sources;
    sources.all.flags = {flag};
    CHECK(sources.error() == "flag " + std::string(flag) + ": expected --section.name=value");
  }
}

TEST_CASE("a broken line is named by its number") {
  const std::string ending = ": expected [section], name = value or a comment";
  for (const char* content :
       {"[log]\nkeep = 3\nlevel\n", "[log]\n\n[store\n", "#\n[log]\n[]\n", "\n\n[log] x\n"}) {
    Sources sources(content);
    CHECK(sources.error() == sources.path("slipwayd.conf") + ":3" + ending);
  }
}

TEST_CASE("a missing file is good unless it is required, and an unreadable one never is") {
  Sources sources;
  CHECK(sources.load());
  sources.write("conf.d/a.conf", "log.keep = 9\n");
  CHECK(sources.load().value().get_integer("log.keep") == 9);
  sources.all.is_file_required = true;
  const auto required = sources.load();
  REQUIRE_FALSE(required.has_value());
  CHECK(required.error().code == Code::not_found);
  CHECK(required.error().message.find(sources.path("slipwayd.conf")) != std::string::npos);

  Sources directory;
  REQUIRE(fs::make_directory(directory.all.file, 0755));
  CHECK_FALSE(directory.load());
  Sources huge;
  huge.write("slipwayd.conf", "#" + std::string(2U << 20U, 'x'));
  CHECK(huge.error().find("expected at most") != std::string::npos);
}

TEST_CASE("whatever a file holds, loading gives a configuration or an error") {
  constexpr std::uint64_t kSeed = 20261130;
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  const std::vector<std::string> pieces = {
      "[log]", "[",  "]",    "=",         "#", "\n", "\r",
      " ",     "\t", "log.", "keep",      "3", ".",  std::string(1, '\0'),
      "\xff",  "\f", "[]",   "level=info"};
  Sources sources;
  int good = 0;
  for (int i = 0; i < 300; ++i) {
    std::string content;
    for (std::uint64_t n = random.below(12); n > 0; --n) content += pieces[random.below(pieces.size())];
    // Not write_file_atomically: its fsync costs more than the test.
    FILE* file = std::fopen(sources.all.file.c_str(), "w");
    REQUIRE(file != nullptr);
    REQUIRE(std::fwrite(content.data(), 1, content.size(), file) == content.size());
    REQUIRE(std::fclose(file) == 0);
    const auto config = sources.load();
    if (config) ++good;
    if (!config) CHECK(config.error().code == Code::invalid);
  }
  CHECK(good > 10);
  CHECK(good < 290);
}

TEST_CASE("the environment of the process is read as far as it is ours") {
  REQUIRE(setenv("SLIPWAYD_LOG_LEVEL", "warn=x", 1) == 0);
  const auto found = slipwayd_environment();
  CHECK(found.at("SLIPWAYD_LOG_LEVEL") == "warn=x");
  CHECK_FALSE(found.contains("PATH"));
  REQUIRE(unsetenv("SLIPWAYD_LOG_LEVEL") == 0);
  CHECK_FALSE(slipwayd_environment().contains("SLIPWAYD_LOG_LEVEL"));
}

}  // namespace
}  // namespace slipway
