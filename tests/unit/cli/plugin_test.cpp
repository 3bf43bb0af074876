// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin.hpp"

#include "desk.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>

namespace slipway::cli {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using slipway::testing::tiny_manifest;
using slipway::testing::write_text;
using testing::Desk;
using testing::Ended;

boost::json::value listed(Desk& desk) {
  const auto rows = boost::json::parse(desk.must("plugin list -o json")).as_array();
  REQUIRE(rows.size() == 1);
  return rows.front();
}

}  // namespace

TEST_CASE("a key is made once: two files, of which one is private") {
  Desk desk;
  const std::string made = desk.must("plugin key new nimbus-gmbh");
  CHECK_THAT(made, StartsWith("made nimbus-gmbh.key (keep it to yourself) and nimbus-gmbh.pub (publish it): "
                              "ed25519:"));
  CHECK_THAT(made, EndsWith(desk.must("plugin key show nimbus-gmbh.pub")));
  struct stat info {};
  REQUIRE(stat("nimbus-gmbh.key", &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600U);
  const Ended again = desk.slipway("plugin key new nimbus-gmbh");
  CHECK(again.code == 1);
  CHECK_THAT(again.err, Contains("nimbus-gmbh.key"));
  CHECK(desk.slipway("plugin key sign nimbus-gmbh").code == 2);
  CHECK(desk.slipway("plugin key show nimbus-gmbh.key").code == 2);
}

TEST_CASE("pack makes an archive, the same for the same files, and says what is in it") {
  Desk desk;
  desk.must("plugin key new maker");
  const std::string id = desk.must("plugin key show maker.pub");
  const std::string packed = desk.must("plugin pack tiny/tiny.so --key maker");
  CHECK_THAT(packed, StartsWith("./tiny_0.1.0_linux_"));
  CHECK_THAT(packed,
             Contains(".tar.gz: LICENSE, README.md, helpers/mount.sh, plugin.json, plugin.sig, tiny.so; "
                      "sha256 "));
  CHECK_THAT(packed, EndsWith("; signed " + id));
  CHECK(desk.must("plugin pack tiny/tiny.so --key maker.key") == packed);
  CHECK_FALSE(desk.was_code_run());
}

TEST_CASE("pack refuses what others would refuse to install, and a key that is none") {
  Desk desk;
  desk.must("plugin key new maker");
  const Ended unsigned_package = desk.slipway("plugin pack tiny/tiny.so");
  CHECK(unsigned_package.code == 2);
  CHECK_THAT(unsigned_package.err, Contains("slipway plugin key new NAME"));
  const Ended public_key = desk.slipway("plugin pack tiny/tiny.so --key maker.pub");
  CHECK(public_key.code != 0);
  CHECK_THAT(public_key.err, Contains("maker.pub"));
  CHECK(desk.slipway("plugin pack tiny/tiny.so --key nobody").code == 4);
  CHECK(desk.slipway("plugin pack tiny/other.so --key maker").code == 4);
  std::filesystem::remove("tiny/LICENSE");
  const Ended without_licence = desk.slipway("plugin pack tiny/tiny.so --key maker");
  CHECK(without_licence.code == 2);
  CHECK_THAT(without_licence.err, StartsWith("error: LICENSE is missing; looked in tiny"));
  std::filesystem::remove("tiny/plugin.json");
  CHECK_THAT(desk.slipway("plugin pack tiny/tiny.so --key maker").err,
             StartsWith("error: tiny/plugin.json is missing; slipway_add_plugin() makes it"));
}

TEST_CASE("a package of somebody who is not trusted is refused, with what to do") {
  Desk desk;
  const std::string archive = desk.package();
  const Ended refused = desk.slipway("plugin install " + archive);
  CHECK(refused.code == 1);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err,
             Contains("which is not trusted here; nothing was installed and none of its code was run"));
  CHECK_THAT(refused.err, Contains("\nto do: compare the key with the one its author publishes, then: "
                                   "slipway plugin trust add KEY.pub --only tiny\n"));
  CHECK(desk.must("plugin list -q").empty());

  desk.must("plugin trust add maker.pub --only other");
  CHECK_THAT(desk.slipway("plugin install " + archive).err, Contains("which is trusted for other only"));
  CHECK(desk.must("plugin list -q").empty());
  CHECK_FALSE(desk.was_code_run());
}

TEST_CASE("a trusted plugin is installed, listed and shown, and its code is not run") {
  Desk desk;
  const std::string archive = desk.package();
  desk.trust_maker();
  const std::string installed = desk.must("plugin install " + archive);
  CHECK_THAT(installed, Contains("ok signature | ok sha256 | ok ABI 1 (host speaks 1) | ok libraries "));
  CHECK_THAT(installed,
             Contains("| ok one exported symbol\n  may: https to the host in its setting \"endpoint\". "
                      "may not: files, sockets, programs, other plugins' secrets\n"));
  CHECK_THAT(installed, Contains("installed tiny 0.1.0 in " + desk.path("data/plugins/tiny/0.1.0-")));
  CHECK_THAT(installed, EndsWith(" (isolation process); lock file updated\n"));
  CHECK_THAT(desk.must("plugin install " + archive),
             EndsWith("tiny 0.1.0 was installed already; nothing changed\n"));

  CHECK(desk.must("plugin list -q") == "tiny\n");
  CHECK_THAT(desk.must("plugin list"),
             StartsWith("NAME  VERSION  KINDS     PROFILE  ISOLATION  STATE    REASON\n"
                        "tiny  0.1.0    provider  pure     process    enabled  -"));
  const auto row = listed(desk);
  CHECK(row.at("state") == "enabled");
  CHECK(row.at("signer").as_string() == std::string_view(desk.must("plugin key show maker.pub"))
                                            .substr(0, row.at("signer").as_string().size()));
  CHECK_FALSE(row.at("signer").as_string().empty());

  const std::string shown = desk.must("plugin show tiny");
  CHECK_THAT(shown, StartsWith("plugin      tiny 0.1.0\nsummary     does nothing\n"));
  CHECK_THAT(shown, Contains("\ngroups      account instances\n"));
  CHECK_THAT(shown, Contains("\nstate       enabled\n"));
  CHECK_THAT(shown, Contains("\ncreates     looked for by their marker before another try\n"));
  CHECK_THAT(shown, EndsWith("\nsettings\n  endpoint  where it is (text, required)\n"));
  const auto json = boost::json::parse(desk.must("plugin show tiny -o json"));
  CHECK(json.at("isolation") == "process");
  CHECK(json.at("settings").at(0).at("name") == "endpoint");
  CHECK(json.at("directory") == row.at("directory"));
  CHECK_FALSE(desk.was_code_run());
}

TEST_CASE("a plugin is removed only when that was wished") {
  Desk desk;
  const std::string archive = desk.package();
  desk.trust_maker();
  desk.must("plugin install " + archive + " --in-process");
  CHECK(listed(desk).at("isolation") == "in-process");
  const Ended unasked = desk.slipway("plugin remove tiny");
  CHECK(unasked.code == 2);
  CHECK_THAT(unasked.err, StartsWith("will remove tiny 0.1.0 from " + desk.path("data/plugins/tiny/")));
  CHECK(desk.must("plugin list -q") == "tiny\n");
  CHECK(desk.must("plugin remove tiny --yes") == "removed tiny\n");
  CHECK(desk.must("plugin list -q").empty());
  CHECK_FALSE(std::filesystem::exists("data/plugins/tiny"));
  const Ended again = desk.slipway("plugin remove tiny --yes");
  CHECK(again.code == 4);
  CHECK(again.err ==
        "error: tiny is not installed in " + desk.path("data/plugins") + "\nsee: slipway plugin list\n");
}

TEST_CASE("trust says for what, lists it, and ends") {
  Desk desk;
  desk.must("plugin key new maker");
  desk.must("plugin key new other");
  std::string id = desk.must("plugin key show maker.pub");
  id.pop_back();
  CHECK(desk.must("plugin trust add maker.pub --only tiny") ==
        "trusted " + id + " (maker) for the plugin tiny only: " + desk.path("trust.d/") + id.substr(8) +
            ".pem\n");
  CHECK_THAT(desk.must("plugin trust add maker.pub --only big"), Contains(" for the plugins big tiny: "));
  CHECK_THAT(desk.must("plugin trust add other.pub --all --name everybody"),
             Contains(" (everybody) for every plugin: "));
  const auto keys = boost::json::parse(desk.must("plugin trust list -o json")).as_array();
  REQUIRE(keys.size() == 2);
  CHECK((keys[0].at("name") == "everybody" || keys[1].at("name") == "everybody"));
  CHECK_THAT(desk.must("plugin trust list"), Contains(id + "  maker      big tiny  -"));

  // A file that is no key is shown, with why it counts for nothing.
  write_text("trust.d/readme.pem", "hello");
  CHECK_THAT(desk.must("plugin trust list"), Contains("its file is not named after a key"));

  CHECK(desk.must("plugin trust remove maker") ==
        id + " (maker) is not trusted any more; what it signed is refused from the next load on\n");
  CHECK(desk.slipway("plugin trust remove maker").code == 4);
}

TEST_CASE("trust refuses what is not said clearly") {
  Desk desk;
  desk.must("plugin key new maker");
  const Ended for_what = desk.slipway("plugin trust add maker.pub");
  CHECK(for_what.code == 2);
  CHECK_THAT(for_what.err,
             StartsWith("error: --only: name the plugin that the key is trusted for, or --all"));
  CHECK(desk.slipway("plugin trust add maker.pub --only tiny --all").code == 2);
  CHECK_THAT(desk.slipway("plugin trust add").err,
             StartsWith("error: KEY: expected a file with a public key\n"));
  CHECK_THAT(desk.slipway("plugin trust remove").err,
             StartsWith("error: KEY: expected a key's id or name\n"));
  CHECK(desk.slipway("plugin trust add nobody.pub --all").code == 4);
  CHECK(desk.slipway("plugin trust add maker.key --all").code == 2);
  CHECK(desk.slipway("plugin trust add maker.pub --only Tiny!").code == 2);
  CHECK(desk.slipway("plugin trust grant maker.pub").code == 2);
  CHECK(desk.must("plugin trust list -q").empty());
}

TEST_CASE("an upgrade stands beside the version that it follows, and can be taken back") {
  Desk desk;
  const std::string first = desk.package("0.1.0");
  const std::string second = desk.package("0.2.0");
  desk.trust_maker();
  const Ended nothing = desk.slipway("plugin upgrade " + second);
  CHECK(nothing.code == 4);
  CHECK_THAT(nothing.err, Contains("to do: slipway plugin install " + second + "\n"));
  desk.must("plugin install " + first);
  const Ended other = desk.slipway("plugin install " + second);
  CHECK(other.code == 1);
  CHECK_THAT(other.err,
             StartsWith("error: tiny 0.1.0 is installed; to put 0.2.0 in its place: slipway plugin "
                        "upgrade " +
                        second));
  const Ended no_previous = desk.slipway("plugin rollback tiny");
  CHECK(no_previous.code == 4);
  CHECK(no_previous.err == "error: tiny 0.1.0 has no version before it here\n");

  const std::string upgraded = desk.must("plugin upgrade " + second);
  CHECK_THAT(upgraded, Contains("\nupgraded to tiny 0.2.0 in "));
  CHECK_THAT(upgraded, EndsWith("\n  back: slipway plugin rollback tiny (to 0.1.0)\n"));
  CHECK(listed(desk).at("version") == "0.2.0");
  CHECK(desk.must("plugin rollback tiny") ==
        "tiny is 0.1.0 again; 0.2.0 stays on disk: slipway plugin rollback tiny goes forward\n");
  CHECK(listed(desk).at("version") == "0.1.0");
  CHECK_THAT(desk.slipway("plugin remove tiny --yes").err,
             Contains("\nand 0.2.0, which rollback would go back to\n"));
}

TEST_CASE("a plugin is kept from being used, with the reason, until it is enabled") {
  Desk desk;
  const std::string archive = desk.package();
  desk.trust_maker();
  desk.must("plugin install " + archive);
  CHECK(desk.must("plugin disable tiny --reason maintenance") ==
        "tiny is disabled; again: slipway plugin enable tiny\n");
  CHECK(listed(desk).at("state") == "disabled");
  CHECK(listed(desk).at("reason") == "maintenance");
  CHECK(desk.must("plugin enable tiny") == "tiny is enabled\n");
  CHECK(listed(desk).at("state") == "enabled");
  CHECK(listed(desk).at("reason") == "");
  desk.must("plugin quarantine tiny");
  CHECK(listed(desk).at("state") == "quarantined");
  CHECK_THAT(desk.must("plugin show tiny"),
             Contains("\nstate       quarantined\nreason      by the operator\n"));
  desk.must("plugin enable tiny");
  CHECK(listed(desk).at("state") == "enabled");
  CHECK(desk.slipway("plugin enable Not_A_Name").code == 2);
}

TEST_CASE(
    "a plugin without a signature is taken only when that is allowed, and never into a daemon's process") {
  Desk desk;
  const Ended refused = desk.slipway("plugin install tiny");
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, StartsWith("error: tiny 0.1.0 is not signed; nothing was installed"));
  const Ended in_process = desk.slipway("plugin install tiny --allow-unsigned --in-process");
  CHECK(in_process.code == 1);
  CHECK_THAT(in_process.err, Contains("it runs only in a process of its own"));
  CHECK(desk.must("plugin list -q").empty());
  CHECK_THAT(desk.must("plugin install ./tiny/ --allow-unsigned"), StartsWith("  UNSIGNED | ok sha256 | "));
  CHECK(listed(desk).at("signer") == "");
}

TEST_CASE("what is broken is listed with the reason, and an unknown name with one like it") {
  Desk desk;
  desk.variables["SLIPWAY_PLUGIN_PATH"] = "tiny";
  CHECK(listed(desk).at("state") == "DEV");
  const Ended unknown = desk.slipway("plugin show tinny");
  CHECK(unknown.code == 4);
  CHECK(unknown.err ==
        "error: there is no plugin tinny (did you mean \"tiny\"?)\nsee: slipway plugin list\n");
  const Ended no_file = desk.slipway("plugin show ./tinny.so");
  CHECK(no_file.code == 4);
  CHECK(no_file.err == "error: ./tinny.so: there is no such file\n");
  write_text("tiny/plugin.json", "{}");
  const auto broken = listed(desk);
  CHECK(broken.at("state") == "broken");
  CHECK_THAT(std::string(broken.at("reason").as_string()), StartsWith("tiny/plugin.json: "));
  const Ended shown = desk.slipway("plugin show tiny");
  CHECK(shown.code == 2);
  CHECK_THAT(shown.err, StartsWith("error: tiny/plugin.json: "));
  CHECK_FALSE(desk.was_code_run());
}

TEST_CASE("abi says what files were built for, export and need") {
  Desk desk;
  const std::string said = desk.must("plugin abi tiny/tiny.so");
  CHECK_THAT(said,
             StartsWith("tiny/tiny.so\n  built for   plugin ABI 1.0 by SDK 0.1.0; this host speaks 1\n"));
  CHECK_THAT(
      said,
      Contains("\n  needs       libc.so.6 \n  exports     slipway_plugin_entry \n  run paths   none\n"));
  const Ended two = desk.slipway("plugin abi /proc/self/exe tiny/tiny.so tiny/LICENSE");
  CHECK(two.code == 1);
  CHECK_THAT(two.out, Contains("\n  no plugin   ") && Contains("tiny/tiny.so\n  built for"));
  CHECK_THAT(two.err, Contains("tiny/LICENSE"));
  CHECK(desk.slipway("plugin abi").code == 2);
}

TEST_CASE("docs prints a plugin's manual in Markdown") {
  Desk desk;
  Manifest manifest = tiny_manifest();
  manifest.licence = "MIT";
  SettingInfo& token = manifest.settings.emplace_back();
  token.name = "api_token";
  token.doc = "who asks";
  token.secret = true;
  token.env = "TINY_TOKEN";
  desk.write_tiny(manifest);
  const std::string manual = desk.must("plugin docs tiny/tiny.so");
  CHECK_THAT(manual, StartsWith("# tiny 0.1.0\n\ndoes nothing. Licence: MIT.\n\n## Settings\n"));
  CHECK_THAT(manual, Contains("\n| `endpoint` | text |  | where it is; required |\n"
                              "| `api-token` | text |  | who asks; secret; or `TINY_TOKEN` |\n"));
  CHECK_THAT(manual, EndsWith("## Methods\n\n- `account.probe/1`\n- `instances.start/1`\n"));
}

TEST_CASE("what a plugin may do is said in words, from its manifest") {
  Manifest manifest = tiny_manifest();
  CHECK(permissions_of(manifest).may == "https to the host in its setting \"endpoint\"");
  manifest.settings.front().name = "zone";
  CHECK(permissions_of(manifest).may == "nothing but compute");
  manifest.settings.front().name = "auth_url";
  manifest.profile = Profile::net;
  manifest.reads_secrets = true;
  CHECK(permissions_of(manifest).may ==
        "https to the host in its setting \"auth-url\", sockets of its own, read its own secrets");
  CHECK(permissions_of(manifest).may_not == "files, programs, other plugins' secrets");
  manifest.profile = Profile::system;
  CHECK(permissions_of(manifest).may_not.empty());
}

TEST_CASE("a project is not begun under a bad name, nor without the template") {
  Desk desk;
  const Ended bad = desk.slipway("plugin new My_Cloud");
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err,
             StartsWith("error: NAME: expected a letter, then at most 31 letters, digits and dashes in "
                        "lower case, got My_Cloud\n"));
  CHECK(desk.slipway("plugin new cloud --kind storage").code == 2);
  // This program is not installed beside a template.
  const Ended missing = desk.slipway("plugin new cloud");
  CHECK(missing.code == 4);
  CHECK_THAT(missing.err, EndsWith("share/slipway/template: the template is not there; install the SDK\n"));
  CHECK_FALSE(std::filesystem::exists("cloud"));
}

}  // namespace slipway::cli
