// SPDX-License-Identifier: Apache-2.0
#include "plugin/trust.hpp"

#include "support/plugin_artefact.hpp"

#include <slipway/codec.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

std::string check_of(const Error& error) {
  const auto found = error.details.find("check");
  return found == error.details.end() ? "none" : found->second;
}

// tiny in a directory of the site.
std::string placed(const Site& site, bool is_signed, Manifest manifest = tiny_manifest()) {
  PackageBytes files = tiny_files();
  files["plugin.json"] = encode(manifest);
  if (is_signed) sign(files, site.key);
  const std::string path = site.path("tiny");
  write_files(path, files);
  return path;
}

}  // namespace

TEST_CASE("a good plugin is verified with its signer, its facts and the hash of each file") {
  const Site site;
  const auto verified = verify_plugin(placed(site, true), PluginSource::installed, site.policy);
  if (!verified) FAIL(verified.error().message);
  CHECK(verified->library == std::filesystem::canonical(site.path("tiny/tiny.so")).string());
  CHECK(verified->manifest.name == "tiny");
  CHECK(verified->elf.exported == std::vector<std::string>{"slipway_plugin_entry"});
  CHECK(verified->files == hashes_of(tiny_files()));
  REQUIRE(verified->signer);
  CHECK(verified->signer->id == site.key.public_key().id());
  CHECK(verified->signer->name == "maker");
  CHECK(verified->may_run_in_process());
  CHECK_FALSE(site.was_code_run());
}

TEST_CASE("an untrusted key is named with what to do about it") {
  const Site site;
  const std::string id = site.key.public_key().id().text();
  REQUIRE(TrustDirectory(site.policy.trust_directory).remove(id));
  const auto refused = verify_plugin(placed(site, true), PluginSource::installed, site.policy);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::denied);
  CHECK(refused.error().message == "tiny 0.1.0 is signed with " + id + ", which is not trusted here");
  CHECK(refused.error().details.at("to_do") ==
        "compare the key with the one its author publishes, then: slipway plugin trust add KEY.pub --only "
        "tiny");
}

TEST_CASE("an unsigned plugin is verified only if it is allowed by name, and never runs in this process") {
  Site site;
  const std::string path = placed(site, false);
  const auto refused = verify_plugin(path, PluginSource::installed, site.policy);
  REQUIRE_FALSE(refused);
  CHECK(check_of(refused.error()) == "signature");
  site.policy.allowed_unsigned = {"other"};
  CHECK_FALSE(verify_plugin(path, PluginSource::installed, site.policy));
  site.policy.allowed_unsigned = {"tiny"};
  const auto verified = verify_plugin(path, PluginSource::installed, site.policy);
  REQUIRE(verified);
  CHECK_FALSE(verified->signer);
  CHECK_FALSE(verified->may_run_in_process());
}

TEST_CASE("in a build tree the owner vouches, other files do not matter, and run paths do") {
  Site site;
  const std::string path = placed(site, false);
  write_text(path + "/Makefile", "all:\n");
  write_text(path + "/libother.so", "not a plugin");
  const auto verified = verify_plugin(path, PluginSource::build_tree, site.policy);
  if (!verified) FAIL(verified.error().message);
  CHECK(verified->may_run_in_process());
  CHECK_FALSE(verified->files.contains("Makefile"));
  CHECK(verified->files.contains("helpers/mount.sh"));

  chmod(path.c_str(), 0777);
  CHECK(check_of(verify_plugin(path, PluginSource::prefix, site.policy).error()) == "owner");
  chmod(path.c_str(), 0755);
  std::string bytes = tiny_library();
  ElfPatch elf(bytes);
  elf.add_dynamic(DT_RUNPATH, elf.string_offset("slipway_plugin_entry"));
  write_text(path + "/tiny.so", bytes);
  CHECK(check_of(verify_plugin(path, PluginSource::build_tree, site.policy).error()) == "run_path");
}

TEST_CASE("a plugin that makes machines here needs to be allowed, and vouched for") {
  Site site;
  Manifest manifest = tiny_manifest();
  manifest.profile = Profile::system;
  const std::string path = placed(site, true, manifest);
  const auto refused = verify_plugin(path, PluginSource::installed, site.policy);
  REQUIRE_FALSE(refused);
  CHECK(check_of(refused.error()) == "profile");
  CHECK(refused.error().details.at("to_do") == "plugins.allow-system = tiny");
  site.policy.allowed_system.insert("tiny");
  CHECK(verify_plugin(path, PluginSource::installed, site.policy));
  CHECK(TrustPolicy{}.allowed_system == std::set<std::string>{"lxc"});
}

TEST_CASE("owners besides root and this user are strangers unless the policy names them") {
  if (geteuid() != 0) {
    WARN("SKIPPED: giving a file away needs root");
    return;
  }
  Site site;
  const std::string path = placed(site, true);
  REQUIRE(chown((path + "/tiny.so").c_str(), 4711, 4711) == 0);
  const auto refused = verify_plugin(path, PluginSource::installed, site.policy);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("the owner is uid 4711, expected root") != std::string::npos);
  site.policy.owners = {4711};
  CHECK(verify_plugin(path, PluginSource::installed, site.policy));
}

TEST_CASE("a path through links is resolved, and what was examined is what is open") {
  const Site site;
  placed(site, true);
  std::filesystem::create_symlink(site.path("tiny"), site.path("link"));
  const auto opened = open_safely(site.path("link/tiny.so"), {});
  REQUIRE(opened);
  CHECK(opened->path == std::filesystem::canonical(site.path("tiny/tiny.so")).string());
  CHECK_FALSE(opened->is_directory());
  CHECK(open_safely(site.path("nothing"), {}).error().code == Code::not_found);
  const auto device = open_safely("/dev/null", {});
  REQUIRE_FALSE(device);
  CHECK(check_of(device.error()) != "none");
  const auto directory = open_safely(site.path("tiny"), {});
  REQUIRE(directory);
  std::filesystem::create_symlink("tiny.so", site.path("tiny/more.so"));
  CHECK(check_of(open_safely_at(directory->descriptor.get(), directory->path, "more.so", {}).error()) ==
        "file");
}

TEST_CASE(
    "trusting a key twice trusts it for both, and an entry that counts for nothing is listed with why") {
  const Site site;
  const TrustDirectory trust(site.policy.trust_directory);
  SeededRandom random(3);
  const PublicKey key = SigningKey::make(random).public_key();
  REQUIRE(trust.add(key, "nimbus-gmbh", {"nimbus"}));
  const auto both = trust.add(key, "nimbus-gmbh", {"cirrus"});
  REQUIRE(both);
  CHECK(both->plugins == std::vector<std::string>{"cirrus", "nimbus"});
  CHECK(trust.find(key.id())->is_for("nimbus"));
  CHECK_FALSE(trust.find(key.id())->is_for("tiny"));
  CHECK(trust.add(key, "nimbus-gmbh", {"*"})->plugins == std::vector<std::string>{"*"});
  CHECK(trust.find(key.id())->is_for("tiny"));
  CHECK_FALSE(trust.add(key, "nimbus-gmbh", {}));
  CHECK_FALSE(trust.add(key, "../x", {"nimbus"}));
  CHECK_FALSE(trust.add(key, "nimbus-gmbh", {"*", "x"}));

  write_text(site.policy.trust_directory + "/stray.pem", "x");
  chmod(trust.pem_path(key.id()).c_str(), 0666);
  const auto keys = trust.list();
  REQUIRE(keys);
  REQUIRE(keys->size() == 3);
  unsigned problems = 0;
  for (const TrustedKey& entry : *keys) problems += entry.problem.empty() ? 0 : 1;
  CHECK(problems == 2);
  CHECK(trust.find(key.id()).error().code == Code::denied);

  CHECK(trust.remove("maker")->id == site.key.public_key().id());
  CHECK(trust.remove("maker").error().code == Code::not_found);
  CHECK(trust.find(site.key.public_key().id()).error().code == Code::not_found);
  CHECK(TrustDirectory(site.path("none")).list()->empty());
}

TEST_CASE("a new key is written once, the private half for its owner only") {
  const TempDir dir;
  SystemRandom random;
  const auto made = generate_key(dir.path(), "nimbus-gmbh", random);
  REQUIRE(made);
  CHECK(read_public_key(dir.path("nimbus-gmbh.pub")).value() == *made);
  CHECK(read_signing_key(dir.path("nimbus-gmbh.key"))->public_key() == *made);
  struct stat info {};
  REQUIRE(stat(dir.path("nimbus-gmbh.key").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777U) == 0600U);
  CHECK(generate_key(dir.path(), "nimbus-gmbh", random).error().code == Code::conflict);
  CHECK(generate_key(dir.path(), "a/b", random).error().code == Code::invalid);
  chmod(dir.path("nimbus-gmbh.key").c_str(), 0640);
  CHECK(read_signing_key(dir.path("nimbus-gmbh.key")).error().code == Code::denied);
}
