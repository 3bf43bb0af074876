// SPDX-License-Identifier: Apache-2.0
#include "plugin/manifest_rules.hpp"
#include "support/plugin_artefact.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>

#include <functional>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

std::string refusal(const std::function<void(Manifest&)>& change) {
  Manifest manifest = tiny_manifest();
  change(manifest);
  const auto read = read_manifest(encode(manifest));
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Code::invalid);
  return read.error().message;
}

}  // namespace

TEST_CASE("a manifest is read as it was written") {
  const auto read = read_manifest(encode(tiny_manifest()));
  if (!read) FAIL(read.error().message);
  CHECK(encode(*read) == encode(tiny_manifest()));
  CHECK(method_groups(*read) == std::vector<std::string>{"account", "instances"});
}

TEST_CASE("the error of a manifest names the member and what was expected") {
  CHECK(refusal([](Manifest& m) { m.name = "Tiny"; }) ==
        R"(name: expected [a-z][a-z0-9-]{0,31}, got "Tiny")");
  CHECK(refusal([](Manifest& m) { m.version = "1.0"; }) ==
        R"(version: expected MAJOR.MINOR.PATCH, got "1.0")");
  CHECK(refusal([](Manifest& m) { m.version = "1.00.0"; }) ==
        R"(version: expected MAJOR.MINOR.PATCH, got "1.00.0")");
  CHECK(refusal([](Manifest& m) {
          m.kinds = {Kind::provider, Kind::provider};
        }) == "kinds[1]: provider stands twice");
  CHECK(refusal([](Manifest& m) { m.methods = {"types.list"}; }) ==
        R"(methods[0]: expected group.method/revision, got "types.list")");
  CHECK(refusal([](Manifest& m) {
          m.methods = {"types.list/1", "types.list/1"};
        }) == "methods[1]: types.list/1 stands twice");
  CHECK(refusal([](Manifest& m) {
          m.methods = {"types.list/1", "account.probe/1"};
        }) == "methods[1]: expected them sorted, account.probe/1 stands behind types.list/1");
  CHECK(refusal([](Manifest& m) { m.max_concurrency = 257; }) ==
        "max_concurrency: expected 1 to 256, got 257");
  CHECK(refusal([](Manifest& m) { m.visibility_lag_ms = -1; }) ==
        "visibility_lag_ms: expected 0 to 3600000, got -1");
  CHECK(refusal([](Manifest& m) { m.settings[0].name = "End"; }) ==
        R"(settings[0].name: expected snake_case, [a-z][a-z0-9_]*, got "End")");
  CHECK(refusal([](Manifest& m) { m.settings[0].env = "a b"; }) ==
        R"(settings[0].env: expected the name of an environment variable, got "a b")");
  CHECK(refusal([](Manifest& m) { m.summary = "a\nb"; }).starts_with("summary: expected one line"));
  CHECK(
      refusal([](Manifest& m) { m.settings[0].choices = {"\x7f"}; }).starts_with("settings[0].choices[0]:"));
  CHECK(refusal([](Manifest& m) { m.import.files = {"clouds.yaml"}; }).starts_with("import.files[0]:"));
}

TEST_CASE("a setting's default has its type, is a choice, and lies within its bounds") {
  const auto with = [](const std::function<void(SettingInfo&)>& change) {
    Manifest manifest = tiny_manifest();
    SettingInfo& setting = manifest.settings[0];
    setting.required = false;
    change(setting);
    const auto status = check_manifest(manifest);
    return status ? std::string("good") : status.error().message;
  };
  CHECK(with([](SettingInfo& s) { s.default_value = "x"; }) == "good");
  CHECK(with([](SettingInfo& s) {
          s.type = SettingType::integer;
          s.default_value = 5;
          s.min = 1;
          s.max = 5;
        }) == "good");
  CHECK(with([](SettingInfo& s) {
          s.type = SettingType::integer;
          s.default_value = 6;
          s.max = 5;
        }) == "settings[0].default_value: 6 is not between min and max");
  CHECK(with([](SettingInfo& s) { s.default_value = true; }) ==
        "settings[0].default_value: expected a value of type text, got a boolean");
  CHECK(with([](SettingInfo& s) {
          s.choices = {"a", "b"};
          s.default_value = "c";
        }) == R"(settings[0].default_value: "c" is none of the choices)");
  CHECK(with([](SettingInfo& s) {
          s.secret = true;
          s.default_value = "c";
        }) == "settings[0].default_value: a secret has none");
  CHECK(with([](SettingInfo& s) { s.min = 1; }) == "settings[0].min: only a number has bounds");
}

TEST_CASE(
    "a plugin of another ABI is refused with what it was built for, what this host speaks, what to do") {
  const auto newer = check_abi({2, 3, 0}, "x.so");
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == Code::unsupported);
  CHECK(newer.error().message ==
        "x.so: it was built for ABI 2.3, this host speaks ABI 1; install a Slipway that "
        "speaks ABI 2, or a build of the plugin for ABI 1");
  const auto older = check_abi({1, 0, 0}, "x.so", {2, 3});
  REQUIRE_FALSE(older);
  CHECK(
      older.error().message ==
      "x.so: it was built for ABI 1.0, this host speaks ABI 2 to 3; rebuild the plugin with an SDK of ABI 3");
  CHECK(check_abi({1, 99, 0}, "x.so"));  // appended fields bother nobody
}

TEST_CASE("library and manifest of different builds do not agree") {
  ElfFacts elf;
  elf.note = slipway_note{SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MINOR, 0x000100};
  Manifest manifest = tiny_manifest();
  CHECK(agree(manifest, elf, "a/tiny.so"));
  CHECK_FALSE(agree(manifest, elf, "a/other.so"));
  manifest.sdk.clear();
  CHECK(agree(manifest, elf, "tiny.so"));
  manifest.sdk = "0.1.1";
  CHECK(agree(manifest, elf, "tiny.so").error().message ==
        "tiny.so: it was built with SDK 0.1.0, but plugin.json says 0.1.1; they are of different builds");
}
