// SPDX-License-Identifier: Apache-2.0
#include "plugin/package.hpp"

#include "plugin/signature.hpp"
#include "support/plugin_artefact.hpp"

#include <slipway/base64.hpp>
#include <slipway/codec.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

SigningKey key_of(std::uint64_t seed) {
  SeededRandom random(seed);
  return SigningKey::make(random);
}

std::string bytes_of(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return out;
}

// A build directory of tiny, with LICENSE and README.md in the directory of its sources.
struct Project {
  Project() {
    PackageBytes files = tiny_files();
    const PackageBytes sources{{"LICENSE", files["LICENSE"]}, {"README.md", files["README.md"]}};
    files.erase("LICENSE");
    files.erase("README.md");
    write_files(dir.path("build"), files);
    write_files(dir.path("source"), sources);
  }
  [[nodiscard]] Result<PackageSources> collect() const {
    return collect_package(dir.path("build/tiny.so"), {dir.path("source")});
  }
  TempDir dir;
};

}  // namespace

TEST_CASE("an Ed25519 key makes the signature that RFC 8032 prints, and PEM keeps the key") {
  // 7.1, test 2, behind the 16 bytes that PKCS #8 puts before a key of this kind.
  const std::string der = bytes_of(
      "302e020100300506032b657004220420"
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const auto key =
      SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\n" + base64(der) + "\n-----END PRIVATE KEY-----\n");
  REQUIRE(key);
  CHECK(hex(key->sign("\x72")) ==
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  const SigningKey own = key_of(1);
  const auto again = SigningKey::from_pem(own.pem().reveal());
  REQUIRE(again);
  CHECK(again->sign("abc") == own.sign("abc"));
  const PublicKey public_key = own.public_key();
  CHECK(PublicKey::from_pem(public_key.pem()).value() == public_key);
  CHECK(public_key.has_signed("abc", own.sign("abc")));
  CHECK_FALSE(public_key.has_signed("abd", own.sign("abc")));
  CHECK_FALSE(public_key.has_signed("abc", key_of(2).sign("abc")));
  CHECK_FALSE(public_key.has_signed("abc", ""));
  CHECK(public_key.id().value.size() == 22);
  CHECK(KeyId::parse(public_key.id().text()).value() == public_key.id());
}

TEST_CASE("what is no Ed25519 key in PEM is refused without showing it") {
  CHECK(PublicKey::from_pem("").error().message.starts_with("expected an Ed25519 public key"));
  CHECK_FALSE(PublicKey::from_pem(key_of(1).pem().reveal()));
  CHECK_FALSE(SigningKey::from_pem(key_of(1).public_key().pem()));
  const std::string secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
  CHECK(SigningKey::from_pem(secret).error().message.find("c2VjcmV0") == std::string::npos);
  CHECK_FALSE(KeyId::parse("ed25519:../../../../etc/passwd"));
  CHECK_FALSE(KeyId::parse("rsa:0123456789012345678901"));
}

TEST_CASE(
    "packing the same files with the same key gives the same bytes, and they unpack to the same files") {
  const Project project;
  const auto sources = project.collect();
  if (!sources) FAIL(sources.error().message);
  CHECK(sources->size() == 5);
  std::filesystem::create_directories(project.dir.path("one"));
  std::filesystem::create_directories(project.dir.path("two"));
  const SigningKey key = key_of(1);
  const auto first = pack(*sources, key, project.dir.path("one"));
  if (!first) FAIL(first.error().message);
  // Times and modes of the sources do not matter.
  std::filesystem::last_write_time(project.dir.path("build/tiny.so"), std::filesystem::file_time_type::min());
  chmod(project.dir.path("build/plugin.json").c_str(), 0600);
  const auto second = pack(*sources, key, project.dir.path("two"));
  REQUIRE(second);
  CHECK(read_text(first->archive) == read_text(second->archive));
  CHECK(first->archive == project.dir.path("one/tiny_0.1.0_linux_") + std::string(host_arch()) + ".tar.gz");
  CHECK(first->archive_sha256 == hex(sha256(read_text(first->archive))));
  CHECK(first->signer == key.public_key().id());
  CHECK(first->files == std::vector<std::string>{"LICENSE", "README.md", "helpers/mount.sh", "plugin.json",
                                                 "plugin.sig", "tiny.so"});

  std::filesystem::create_directories(project.dir.path("out"));
  const fs::FileDescriptor archive(open(first->archive.c_str(), O_RDONLY | O_CLOEXEC));
  const fs::FileDescriptor out(open(project.dir.path("out").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(unpack(archive.get(), first->archive, out.get(), {}));
  PackageBytes files = tiny_files();
  for (const auto& [path, bytes] : files) CHECK(read_text(project.dir.path("out/" + path)) == bytes);
  CHECK(parse_signature(read_text(project.dir.path("out/plugin.sig")))->files == hashes_of(files));
  CHECK(package_digest(hashes_of(files)) == first->digest);
}

TEST_CASE("other tools read a package, too") {
  const Project project;
  const auto report = pack(project.collect().value(), key_of(1), project.dir.path());
  REQUIRE(report);
  const std::string command = "tar tzvf '" + report->archive + "' > '" + project.dir.path("list") + "' 2>&1";
  if (std::system("tar --version > /dev/null 2>&1") != 0) {
    WARN("SKIPPED: tar is not installed");
    return;
  }
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string list = read_text(project.dir.path("list"));
  CHECK(list.find("tiny.so") != std::string::npos);
  CHECK(list.find("0/0") != std::string::npos);
  CHECK(list.find("1970-01-01") != std::string::npos);
}

TEST_CASE("packing says what is missing, and refuses what no host would install") {
  const Project project;
  CHECK(collect_package(project.dir.path("build/tiny.so"), {}).error().message ==
        "LICENSE is missing; looked in " + project.dir.path("build"));
  CHECK_FALSE(collect_package(project.dir.path("build/plugin.json"), {}));
  std::filesystem::remove(project.dir.path("build/plugin.json"));
  CHECK(project.collect().error().message.find("slipway_add_plugin() makes it") != std::string::npos);
  write_text(project.dir.path("build/plugin.json"), "{}");
  CHECK(pack(project.collect().value(), key_of(1), project.dir.path()).error().message ==
        project.dir.path("build/plugin.json") + ": name: is required");

  write_text(project.dir.path("build/plugin.json"), encode(tiny_manifest()));
  write_text(project.dir.path("build/tiny.so"), loud_library());
  const auto loud = pack(project.collect().value(), key_of(1), project.dir.path());
  REQUIRE_FALSE(loud);
  CHECK(loud.error().details.at("check") == "exports");
  CHECK(std::filesystem::directory_iterator(project.dir.path())->path().extension() != ".gz");
}

TEST_CASE("only one text of a signature is read") {
  const SigningKey key = key_of(1);
  const PackageSignature made = sign_package(
      key, "tiny", "0.1.0", {{"LICENSE", std::string(64, 'a')}, {"tiny.so", std::string(64, 'b')}});
  const auto read = parse_signature(made.text());
  if (!read) FAIL(read.error().message);
  CHECK(read->text() == made.text());
  CHECK(key.public_key().has_signed(read->signed_text(), read->signature));
  // Any change is refused, or breaks the signature.
  for (std::size_t at = 0; at < made.text().size(); ++at) {
    std::string changed = made.text();
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    const auto other = parse_signature(changed);
    if (other && key.public_key().has_signed(other->signed_text(), other->signature)) FAIL("byte " << at);
  }
  CHECK(parse_signature("slipway-plugin-signature 2\n").error().code == Code::unsupported);
  CHECK(parse_signature("").error().message ==
        "line 1: expected \"slipway-plugin-signature ...\" and an end of line");
}

TEST_CASE("paths of a package are these and no others") {
  for (const char* good :
       {"nimbus.so", "plugin.json", "plugin.sig", "LICENSE", "README.md", "helpers/a", "helpers/A-b_c.d"}) {
    INFO(good);
    CHECK(package_file_kind(good));
  }
  for (const char* bad :
       {"", ".", "..", "/", "Nimbus.so", ".so", "a/b.so", "plugin.json/", "helpers", "helpers/", "helpers/..",
        "helpers/.x", "helpers/a/b", "./LICENSE", "/LICENSE", "helpers/\xc3\xa4"}) {
    INFO(bad);
    CHECK_FALSE(package_file_kind(bad));
  }
}
