// SPDX-License-Identifier: Apache-2.0
#include "plugin/plugin_store.hpp"

#include "support/plugin_artefact.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

namespace stdfs = std::filesystem;

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}

// Versions of tiny that are on disk.
std::vector<std::string> versions(const Site& site) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : stdfs::directory_iterator(site.path("plugins/tiny"), ignored)) {
    out.push_back(entry.path().filename().string().substr(0, 5));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> hidden(const Site& site) {
  std::vector<std::string> out;
  for (const auto& entry : stdfs::directory_iterator(site.path("plugins"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && name != ".lock") out.push_back(name);
  }
  return out;
}

Installed must(Result<Installed> result) {
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

}  // namespace

TEST_CASE("what is installed lies under its version and hash, and nobody can write it") {
  const Site site;
  PluginStore store = site.store();
  const Installed installed = must(store.install(site.archive()));
  const std::string digest = package_digest(hashes_of(tiny_files()));
  CHECK(installed.verified.directory == site.path("plugins/tiny/0.1.0-") + digest.substr(0, 8));
  CHECK(installed.verified.library == installed.verified.directory + "/tiny.so");
  CHECK(mode_of(installed.verified.directory) == 0555U);
  CHECK(mode_of(installed.verified.library) == 0444U);
  CHECK(mode_of(installed.verified.directory + "/helpers") == 0555U);
  CHECK(mode_of(installed.verified.directory + "/helpers/mount.sh") == 0555U);
  CHECK(hidden(site).empty());

  const LockFile lock = store.entries().value();
  REQUIRE(lock.find("tiny") != nullptr);
  REQUIRE(lock.find("tiny")->current);
  CHECK(lock.find("tiny")->current->files == hashes_of(tiny_files()));
  CHECK(lock.find("tiny")->current->digest == digest);
  CHECK(lock.find("tiny")->current->signer == site.key.public_key().id().text());
  CHECK(lock.find("tiny")->isolation == IsolationMode::process);
  CHECK(lock.find("tiny")->may_load());

  const auto loaded = store.load("tiny");
  if (!loaded) FAIL(loaded.error().message);
  CHECK(loaded->verified.library == installed.verified.library);
  CHECK_FALSE(site.was_code_run());
}

TEST_CASE("the keys of lock.json are sorted, and only this form of it is read") {
  const Site site;
  PluginStore store = site.store();
  REQUIRE(store.quarantine("zebra", "5 crashes in 10 min"));
  REQUIRE(store.disable("ape", "not wanted"));
  const std::string path = site.path("plugins/lock.json");
  CHECK(read_text(path) ==
        R"({"format":1,"plugins":{"ape":{"enabled":false,"isolation":"process","quarantined":false,)"
        R"("reason":"not wanted"},"zebra":{"enabled":true,"isolation":"process","quarantined":true,)"
        R"("reason":"5 crashes in 10 min"}}})"
        "\n");
  CHECK(mode_of(path) == 0644U);
  REQUIRE(store.enable("ape"));
  CHECK(store.entries()->find("ape") == nullptr);  // says nothing any more

  write_text(path, R"({"format":2})");
  CHECK(store.entries().error().code == Code::unsupported);
  write_text(path,
             R"({"format":1,"plugins":{"tiny":{"current":{"version":"../x","digest":"","files":{}}}}})");
  CHECK(store.entries().error().message.find("plugins.tiny.current") != std::string::npos);
  write_text(path, "{}", 0666);
  CHECK(store.entries().error().code == Code::denied);
}

TEST_CASE("the same package twice changes nothing, another version wants an upgrade") {
  const Site site;
  PluginStore store = site.store();
  must(store.install(site.archive()));
  const std::string before = read_text(site.path("plugins/lock.json"));
  CHECK(must(store.install(site.archive())).was_there);
  CHECK(read_text(site.path("plugins/lock.json")) == before);
  const auto other = store.install(site.archive("0.2.0"));
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Code::conflict);
  CHECK(other.error().message.find("slipway plugin upgrade") != std::string::npos);
  CHECK(versions(site) == std::vector<std::string>{"0.1.0"});
}

TEST_CASE("a refused package leaves nothing behind and says so") {
  const Site site;
  PluginStore store = site.store();
  REQUIRE(TrustDirectory(site.policy.trust_directory).remove("maker"));
  const auto refused = store.install(site.archive());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.ends_with(
      "which is not trusted here; nothing was installed and none of its code was run"));
  CHECK(hidden(site).empty());
  CHECK_FALSE(stdfs::exists(site.path("plugins/tiny")));
  write_text(site.path("bad.tar.gz"), tar_gz({{"../evil", "x"}}));
  CHECK(store.install(site.path("bad.tar.gz"))
            .error()
            .message.starts_with(site.path("bad.tar.gz") + ": entry \"../evil\""));
  CHECK_FALSE(stdfs::exists(site.path("plugins/evil")));
  CHECK_FALSE(stdfs::exists(site.path("evil")));
}

TEST_CASE("a plugin's directory is installed like its archive") {
  const Site site;
  PackageBytes files = tiny_files();
  sign(files, site.key);
  write_files(site.path("dist"), files);
  PluginStore store = site.store();
  const Installed from_directory = must(store.install(site.path("dist")));
  CHECK(must(store.install(site.archive())).was_there);
  CHECK(from_directory.verified.files == hashes_of(tiny_files()));
}

TEST_CASE("an upgrade lies beside the old version, rollback goes back, and two versions are kept") {
  const Site site;
  PluginStore store = site.store();
  CHECK(store.upgrade(site.archive()).error().code == Code::not_found);
  must(store.install(site.archive()));
  REQUIRE(store.quarantine("tiny", "crashed"));
  const auto old = UseLock::share(store.directory_of("tiny", *store.entries()->find("tiny")->current));
  REQUIRE(old);
  const Installed upgraded = must(store.upgrade(site.archive("0.2.0")));  // although 0.1.0 is in use
  CHECK(upgraded.entry.current->version == "0.2.0");
  CHECK(upgraded.entry.previous->version == "0.1.0");
  CHECK_FALSE(upgraded.entry.quarantined);
  CHECK(versions(site) == std::vector<std::string>{"0.1.0", "0.2.0"});

  const auto refused = store.upgrade(site.archive("0.3.0"));  // 0.1.0 would go
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::conflict);
  CHECK(refused.error().message.find("is in use by process " + std::to_string(getpid())) !=
        std::string::npos);
  CHECK(store.entries()->find("tiny")->current->version == "0.2.0");

  CHECK(store.rollback("tiny")->current->version == "0.1.0");
  CHECK(store.load("tiny")->verified.manifest.version == "0.1.0");
  CHECK(store.rollback("tiny")->current->version == "0.2.0");
}

TEST_CASE("the version before the last goes with an upgrade, and comes back by one") {
  const Site site;
  PluginStore store = site.store();
  must(store.install(site.archive()));
  must(store.upgrade(site.archive("0.2.0")));
  must(store.upgrade(site.archive("0.3.0")));
  CHECK(versions(site) == std::vector<std::string>{"0.2.0", "0.3.0"});
  const Installed back = must(store.upgrade(site.archive("0.2.0")));
  CHECK(back.entry.current->version == "0.2.0");
  CHECK(back.entry.previous->version == "0.3.0");
  CHECK(versions(site) == std::vector<std::string>{"0.2.0", "0.3.0"});
}

TEST_CASE("a plugin that another process has loaded is not removed") {
  const Site site;
  PluginStore store = site.store();
  must(store.install(site.archive()));
  int ready[2] = {-1, -1};
  int end[2] = {-1, -1};
  REQUIRE((pipe(ready) == 0 && pipe(end) == 0));
  const pid_t child = fork();
  if (child == 0) {
    const auto loaded = store.load("tiny");
    char byte = loaded ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    (void)!read(end[0], &byte, 1);
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');
  const auto refused = store.remove("tiny");
  (void)!write(end[1], "x", 1);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  for (const int fd : {ready[0], ready[1], end[0], end[1]}) close(fd);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::conflict);
  CHECK(refused.error().message.find("in use by process " + std::to_string(child)) != std::string::npos);
  CHECK(store.load("tiny"));

  REQUIRE(store.remove("tiny"));
  CHECK_FALSE(stdfs::exists(site.path("plugins/tiny")));
  CHECK(store.entries()->plugins.empty());
  CHECK(store.remove("tiny").error().code == Code::not_found);
  CHECK(store.load("tiny").error().code == Code::not_found);
}

TEST_CASE("what is disabled or quarantined is not loaded, with the reason and the way out") {
  const Site site;
  PluginStore store = site.store();
  must(store.install(site.archive()));
  REQUIRE(store.quarantine("tiny", "5 crashes in 10 min"));
  const auto refused = store.load("tiny");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "tiny is quarantined: 5 crashes in 10 min");
  CHECK(refused.error().details.at("to_do") == "slipway plugin enable tiny");
  REQUIRE(store.enable("tiny"));
  CHECK(store.load("tiny"));
  REQUIRE(store.disable("tiny"));
  CHECK(store.load("tiny").error().message == "tiny is disabled");
  CHECK(store.disable("../x").error().code == Code::invalid);
}

TEST_CASE("a damaged installation is repaired by the same package, and a removed key ends what it signed") {
  const Site site;
  PluginStore store = site.store();
  const std::string library = must(store.install(site.archive())).verified.library;
  chmod(library.c_str(), 0600);
  write_text(library, "damaged", 0444);
  CHECK_FALSE(store.load("tiny"));
  CHECK_FALSE(must(store.install(site.archive())).was_there);
  CHECK(store.load("tiny"));
  REQUIRE(TrustDirectory(site.policy.trust_directory).remove("maker"));
  CHECK(store.load("tiny").error().details.at("check") == "signer");
}

TEST_CASE("an unsigned plugin is never set to run in the host's process") {
  Site site;
  PackageBytes files = tiny_files();
  write_text(site.path("tiny.tar.gz"), write_archive(files).value());
  site.policy.allowed_unsigned = {"tiny"};
  PluginStore store = site.store();
  CHECK(store.install(site.path("tiny.tar.gz"), {IsolationMode::in_process}).error().code == Code::denied);
  CHECK(must(store.install(site.path("tiny.tar.gz"))).entry.current->signer.empty());
  CHECK(store.set_isolation("tiny", IsolationMode::in_process).error().code == Code::denied);
  CHECK(store.entries()->find("tiny")->isolation == IsolationMode::process);
}

TEST_CASE("what a kill leaves is swept, what is in use or not ours stays") {
  const Site site;
  PluginStore store = site.store();
  must(store.install(site.archive()));
  const auto make = [&](const std::string& name) { stdfs::create_directories(site.path("plugins/" + name)); };
  make(".staging-dead00");
  write_text(site.path("plugins/.staging-dead00/tiny.so"), "half");
  make(".staging-live00");
  const auto live = UseLock::own(site.path("plugins/.staging-live00"));
  REQUIRE(live);
  make("tiny/0.0.9-0123abcd/helpers");  // published, not recorded
  chmod(site.path("plugins/tiny/0.0.9-0123abcd").c_str(), 0555);
  make("tiny/notes");
  make("gone");
  write_text(site.path("plugins/.slipway-abc"), "half");
  write_text(site.path("plugins/NOTES"), "by an operator");

  auto swept = store.sweep();
  REQUIRE(swept);
  std::sort(swept->begin(), swept->end());
  CHECK(*swept == std::vector<std::string>{site.path("plugins/.slipway-abc"),
                                           site.path("plugins/.staging-dead00"),
                                           site.path("plugins/tiny/0.0.9-0123abcd")});
  CHECK(stdfs::exists(site.path("plugins/.staging-live00")));
  CHECK(stdfs::exists(site.path("plugins/tiny/notes")));
  CHECK(stdfs::exists(site.path("plugins/NOTES")));
  CHECK_FALSE(stdfs::exists(site.path("plugins/gone")));
  CHECK(store.load("tiny"));
}

TEST_CASE("installs at the same time end in one installation") {
  const Site site;
  const std::string archive = site.archive();
  std::vector<std::thread> threads;
  std::array<int, 4> outcomes{};
  for (int& outcome : outcomes) {
    threads.emplace_back([&] {
      const auto result = site.store().install(archive);
      outcome = !result ? -1 : result->was_there ? 1 : 2;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::count(outcomes.begin(), outcomes.end(), 2) == 1);
  CHECK(std::count(outcomes.begin(), outcomes.end(), 1) == 3);
  CHECK(versions(site).size() == 1);
  CHECK(hidden(site).empty());
}
