// SPDX-License-Identifier: Apache-2.0
// bad_artefacts.cpp - how an artefact is delivered, and the spoilers that concern its place, its package and
// its signature. Those of library and manifest are in bad_binaries.cpp.
#include "support/bad_artefacts.hpp"

#include "support/bad_binaries.hpp"

#include <slipway/codec.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace slipway::testing {
namespace {

using plugin::TrustCheck;

constexpr uid_t kStranger = 12'345;

// A spoiler of the directory on disk.
std::function<void(Artefact&)> on_disk(std::function<void(const std::string& path)> change) {
  return [change](Artefact& a) { a.on_disk = change; };
}

std::function<void(Artefact&)> mode(const std::string& below, unsigned bits) {
  return on_disk([=](const std::string& path) { chmod((path + below).c_str(), bits); });
}

std::function<void(Artefact&)> owner(const std::string& below) {
  return on_disk([=](const std::string& path) {
    if (chown((path + below).c_str(), kStranger, kStranger) != 0) throw std::runtime_error("chown");
  });
}

// The file goes elsewhere and a link to it takes its place.
std::function<void(Artefact&)> linked(const std::string& name) {
  return on_disk([=](const std::string& path) {
    std::filesystem::rename(path + "/" + name, path + "-elsewhere");
    std::filesystem::create_symlink(path + "-elsewhere", path + "/" + name);
  });
}

std::function<void(Artefact&)> entry(const TarEntry& added) {
  return [added](Artefact& a) {
    a.vehicle = Vehicle::archive;
    a.more_entries.push_back(added);
  };
}

// Changes a file behind the signature's back.
std::function<void(Artefact&)> after_signing(std::function<void(plugin::PackageBytes&)> change) {
  return [change](Artefact& a) {
    a.sign_now();
    change(a.files);
  };
}

std::function<void(Artefact&)> signature_text(std::function<std::string(std::string)> change) {
  return after_signing(
      [change](plugin::PackageBytes& files) { files["plugin.sig"] = change(files["plugin.sig"]); });
}

// In the trust directory; `id` is the key's file name without its ending.
std::function<void(Artefact&)> trusted(std::function<void(const std::string& base)> change) {
  return [change](Artefact& a) {
    change(a.site.policy.trust_directory + "/" + a.site.key.public_key().id().value);
  };
}

std::function<void(Artefact&)> installed(std::function<void(const std::string& path)> change) {
  return [change](Artefact& a) {
    a.vehicle = Vehicle::installed;
    a.on_disk = change;
  };
}

void overwrite(const std::string& path, const std::string& bytes) {
  chmod(path.c_str(), 0600);
  write_text(path, bytes, 0444);
}

std::vector<BadArtefact> bad_places() {
  const auto check = TrustCheck::owner;
  return {
      {"library that its group may write", check, mode("/tiny.so", 0664)},
      {"library that all may write", check, mode("/tiny.so", 0646)},
      {"manifest that all may write", check, mode("/plugin.json", 0666)},
      {"helper that its group may write", check, mode("/helpers/mount.sh", 0775)},
      {"directory that all may write", check, mode("", 0777)},
      {"helpers that their group may write", check, mode("/helpers", 0775)},
      {"parent that its group may write", check, mode("/..", 0775)},
      {"archive that all may write", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.on_disk = [](const std::string& path) { chmod(path.c_str(), 0666); };
       }},
      {"installed library that all may write", check,
       installed([](const std::string& path) { chmod((path + "/tiny.so").c_str(), 0666); })},
      {"library of somebody else", check, owner("/tiny.so"), true, true},
      {"directory of somebody else", check, owner(""), true, true},
      {"parent of somebody else", check, owner("/.."), true, true},
      {"sticky parent of somebody else", check, on_disk([](const std::string& path) {
         if (chown((path + "/..").c_str(), kStranger, kStranger) == 0) chmod((path + "/..").c_str(), 01777);
       }),
       true, true},
      {"archive of somebody else", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.on_disk = [](const std::string& path) {
           if (chown(path.c_str(), kStranger, kStranger) != 0) throw std::runtime_error("chown");
         };
       },
       true, true},
      {"library that is a link", TrustCheck::file, linked("tiny.so")},
      {"manifest that is a link", TrustCheck::file, linked("plugin.json")},
      {"signature that is a link", TrustCheck::file, linked("plugin.sig")},
      {"licence that is a link", TrustCheck::file, linked("LICENSE")},
      {"helper that is a link", TrustCheck::file, linked("helpers/mount.sh")},
      {"helpers that are a link", TrustCheck::file, linked("helpers")},
      {"readme that is a FIFO", TrustCheck::file, on_disk([](const std::string& path) {
         std::filesystem::remove(path + "/README.md");
         if (mkfifo((path + "/README.md").c_str(), 0644) != 0) throw std::runtime_error("mkfifo");
       }),
       false},
  };
}

std::vector<BadArtefact> bad_sizes() {
  const auto check = TrustCheck::size;
  const auto bytes = [](const std::string& name, std::size_t count) {
    return [=](Artefact& a) { a.files[name] = std::string(count, '#'); };
  };
  return {
      {"readme of more than 1 MiB", check, bytes("README.md", (1U << 20U) + 1)},
      {"licence of more than 1 MiB, packed to a few", check,
       [=](Artefact& a) {
         a.vehicle = Vehicle::archive;
         bytes("LICENSE", 3U << 20U)(a);
       }},
      {"library above the limit", check, [](Artefact& a) { a.site.policy.limits.file_bytes = 4096; }},
      {"archive above the limit", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.site.policy.limits.archive_bytes = 100;
       }},
      {"files above the limit together", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.site.policy.limits.total_bytes = 8192;
       }},
  };
}

std::vector<BadArtefact> bad_packages() {
  const auto check = TrustCheck::package;
  return {
      {"entry with an absolute path", check, entry({"/etc/slipway/evil", "x"})},
      {"entry that leaves by ..", check, entry({"../evil", "x"})},
      {"entry that leaves by .. below helpers", check, entry({"helpers/../../evil", "x"})},
      {"entry below a directory that is not of a package", check, entry({"helpers/deep/file", "x"})},
      {"entry with a name that hides", check, entry({"helpers/.profile", "x"})},
      {"entry that is a symbolic link", check, entry({"helpers/link", "", S_IFLNK, "/etc/passwd", ""})},
      {"entry that is a hard link", check, entry({"helpers/hard", "", S_IFREG, "", "tiny.so"})},
      {"entry that is a device", check, entry({"helpers/null", "", S_IFCHR, "", ""})},
      {"entry that is a FIFO", check, entry({"helpers/fifo", "", S_IFIFO, "", ""})},
      {"entry that is a directory", check, entry({"helpers", "", S_IFDIR, "", ""})},
      {"entry that stands twice", check, entry({"LICENSE", "another\n"})},
      {"entry that nobody expects", check, entry({"install.sh", "#!/bin/sh\n"})},
      {"entry with control characters", check, entry({"helpers/\x1b[2J", "x"})},
      {"more entries than the limit", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.site.policy.limits.files = 3;
       }},
      {"file that nobody expects", check,
       on_disk([](const std::string& path) { write_text(path + "/Makefile", ""); })},
      {"directory that nobody expects", check,
       on_disk([](const std::string& path) { std::filesystem::create_directory(path + "/lib"); })},
      {"second library", check,
       on_disk([](const std::string& path) { write_text(path + "/zebra.so", tiny_library()); })},
      {"archive that is none", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.on_disk = [](const std::string& path) { write_text(path, "PK\x03\x04, but no tar.gz"); };
       },
       false},
      {"archive that ends in the middle", check,
       [](Artefact& a) {
         a.vehicle = Vehicle::archive;
         a.on_disk = [](const std::string& path) { std::filesystem::resize_file(path, 900); };
       },
       false},
      {"package without a library", check, [](Artefact& a) { a.files.erase("tiny.so"); }, false},
  };
}

std::vector<BadArtefact> bad_hashes() {
  const auto check = TrustCheck::sha256;
  return {
      {"library with one byte changed after signing", check,
       after_signing([](plugin::PackageBytes& files) { files["tiny.so"].back() ^= 1; })},
      {"manifest written anew after signing", check,
       after_signing([](plugin::PackageBytes& files) { files["plugin.json"] += "\n"; })},
      {"helper exchanged after signing", check,
       after_signing([](plugin::PackageBytes& files) { files["helpers/mount.sh"] = "#!/bin/sh\nid\n"; })},
      {"helper added after signing", check,
       after_signing([](plugin::PackageBytes& files) { files["helpers/more.sh"] = "#!/bin/sh\n"; })},
      {"licence missing after signing", check,
       after_signing([](plugin::PackageBytes& files) { files.erase("LICENSE"); })},
      {"library changed after installing", check, installed([](const std::string& path) {
         std::string bytes = tiny_library();
         bytes.back() ^= 1;
         overwrite(path + "/tiny.so", bytes);
       })},
      {"readme changed after installing", check,
       installed([](const std::string& path) { overwrite(path + "/README.md", "# other\n"); })},
      {"licence missing after installing", check, installed([](const std::string& path) {
         chmod(path.c_str(), 0755);
         std::filesystem::remove(path + "/LICENSE");
       })},
  };
}

std::vector<BadArtefact> bad_signers() {
  const auto check = TrustCheck::signer;
  return {
      {"key that is not trusted", check,
       trusted([](const std::string& base) { std::filesystem::remove(base + ".pem"); })},
      {"key that is trusted for other plugins", check, trusted([](const std::string& base) {
         write_text(base + ".json", R"({"name":"maker","plugins":["hello"]})");
       })},
      {"key without a grant", check,
       trusted([](const std::string& base) { std::filesystem::remove(base + ".json"); })},
      {"key with a grant for nothing", check, trusted([](const std::string& base) {
         write_text(base + ".json", R"({"name":"maker","plugins":[]})");
       })},
      {"key whose file holds another key", check, trusted([](const std::string& base) {
         SeededRandom random(8);
         write_text(base + ".pem", SigningKey::make(random).public_key().pem());
       })},
      {"key whose file all may write", check,
       trusted([](const std::string& base) { chmod((base + ".pem").c_str(), 0666); })},
      {"grant that all may write", check,
       trusted([](const std::string& base) { chmod((base + ".json").c_str(), 0666); })},
      {"trust directory that all may write", check,
       [](Artefact& a) { chmod(a.site.policy.trust_directory.c_str(), 0777); }},
      {"no trust directory", check,
       [](Artefact& a) { std::filesystem::remove_all(a.site.policy.trust_directory); }},
  };
}

std::vector<BadArtefact> bad_signatures() {
  const auto check = TrustCheck::signature;
  return {
      {"no signature", check, [](Artefact& a) { a.is_signed = false; }},
      {"empty signature", check, signature_text([](const std::string&) { return std::string(); })},
      {"signature that is cut", check,
       signature_text([](const std::string& text) { return text.substr(0, 120); })},
      {"signature of another format", check, signature_text([](std::string text) {
         return text.replace(text.find("signature 1"), 11, "signature 2");
       })},
      {"signature with a line behind it", check,
       signature_text([](const std::string& text) { return text + "\n"; })},
      {"signature with ends of line of another system", check,
       signature_text([](std::string text) { return text.insert(text.find('\n'), "\r"); })},
      {"signature with one bit changed", check, signature_text([](std::string text) {
         const std::size_t at = text.rfind("signature ") + 20;
         text[at] = text[at] == 'A' ? 'B' : 'A';
         return text;
       })},
      {"signature by another key in the name of a trusted one", check,
       [](Artefact& a) {
         SeededRandom random(9);
         const auto other = SigningKey::make(random);
         auto forged = plugin::sign_package(other, "tiny", "0.1.0", hashes_of(a.files));
         forged.key = a.site.key.public_key().id();
         a.files["plugin.sig"] = forged.text();
       }},
      {"signature that was made for other files", check,
       [](Artefact& a) {
         auto old = plugin::sign_package(a.site.key, "tiny", "0.1.0", {{"tiny.so", std::string(64, '0')}});
         old.files = hashes_of(a.files);
         a.files["plugin.sig"] = old.text();
       }},
      {"signature whose files are not sorted", check, signature_text([](std::string text) {
         const std::size_t first = text.find("file ");
         const std::size_t second = text.find("file ", first + 1);
         const std::string line = text.substr(first, second - first);
         text.erase(first, line.size());
         return text.insert(text.find("signature ", first), line);
       })},
      {"plugin of profile system that is not allowed", TrustCheck::profile,
       [](Artefact& a) { a.edit_manifest([](Manifest& m) { m.profile = Profile::system; }); }},
      {"plugin of profile system that nobody signed", TrustCheck::profile,
       [](Artefact& a) {
         a.site.policy.allowed_system = {"tiny"};
         a.site.policy.allowed_unsigned = {"tiny"};
         a.is_signed = false;
         a.edit_manifest([](Manifest& m) { m.profile = Profile::system; });
       }},
  };
}

}  // namespace

Artefact::Artefact() = default;

void Artefact::edit_manifest(const std::function<void(Manifest&)>& change) {
  Manifest manifest = tiny_manifest();
  change(manifest);
  files["plugin.json"] = encode(manifest);
}

void Artefact::sign_now(const std::string& name, const std::string& version) {
  sign(files, site.key, name, version);
}

Result<plugin::Verified> Artefact::deliver() {
  if (is_signed && !files.contains("plugin.sig")) sign_now();
  if (vehicle == Vehicle::directory) {
    const std::string path = site.path("place/" + directory_name);
    write_files(path, files);
    chmod(site.path("place").c_str(), 0755);
    if (on_disk) on_disk(path);
    return verify_plugin(path, plugin::PluginSource::installed, site.policy);
  }
  std::vector<TarEntry> entries;
  for (const auto& [path, bytes] : files) entries.push_back({path, bytes});
  entries.insert(entries.end(), more_entries.begin(), more_entries.end());
  const std::string path = site.path("tiny.tar.gz");
  write_text(path, tar_gz(entries));
  if (on_disk && vehicle == Vehicle::archive) on_disk(path);
  auto installed = site.store().install(path);
  if (!installed) return std::move(installed).error();
  is_installed = true;
  if (vehicle == Vehicle::archive) return installed->verified;
  if (on_disk) on_disk(installed->verified.directory);
  auto loaded = site.store().load("tiny");
  if (!loaded) return std::move(loaded).error();
  return loaded->verified;
}

std::vector<BadArtefact> bad_artefacts() {
  std::vector<BadArtefact> out;
  for (auto part : {bad_places, bad_sizes, bad_packages, bad_hashes, bad_signers, bad_signatures,
                    bad_libraries, bad_notes, bad_manifests, bad_agreements, bad_loading}) {
    for (BadArtefact& bad : part()) out.push_back(std::move(bad));
  }
  return out;
}

}  // namespace slipway::testing
