// SPDX-License-Identifier: Apache-2.0
// keys_test.cpp - slipway.key: made once, protected, refused when it is not; and what is made of it.
#include "store/keys.hpp"

#include "base/crypto.hpp"
#include "engine_support.hpp"
#include "store/files.hpp"

#include <sys/stat.h>

#include <set>

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::store;

namespace {

Keys keys_of(char byte) { return Keys::from_bytes(must(Key32::from_bytes(std::string(Key32::size, byte)))); }

}  // namespace

TEST_CASE("a key file is made once, with mode 0400, and read again") {
  TempDir dir;
  const std::string path = dir.path("slipway.key");
  SeededRandom random(1);
  const Keys made = must(Keys::open(path, true, random));
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0400);
  CHECK(info.st_size == 32);
  const std::string bytes = bytes_of(path);
  const Keys read = must(Keys::open(path, true, random));
  CHECK(read.id() == made.id());
  CHECK(bytes_of(path) == bytes);
  CHECK(made.id().size() == 16);
  CHECK(made.id().find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("a key that is missing, open to others, or no key is refused with path and what to do") {
  TempDir dir;
  const std::string path = dir.path("slipway.key");
  SystemRandom random;
  auto opened = Keys::open(path, false, random);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::not_found);
  CHECK(opened.error().message ==
        "key file " + path +
            " is missing; bring the key file of this controller, or restore a backup that has "
            "its key (backup create --with-key)");
  CHECK_FALSE(files::exists(path));

  put_bytes(path, std::string(32, 'k'));
  REQUIRE(chmod(path.c_str(), 0440) == 0);
  opened = Keys::open(path, true, random);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::denied);
  CHECK(opened.error().message ==
        "key file " + path + ": the mode is 0440, expected 0400; run: chmod 0400 " + path);

  REQUIRE(chmod(path.c_str(), 0600) == 0);
  put_bytes(path, std::string(31, 'k'));
  REQUIRE(chmod(path.c_str(), 0400) == 0);
  opened = Keys::open(path, true, random);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == Code::invalid);
  CHECK(opened.error().message ==
        "key file " + path +
            ": expected 32 bytes, got 31; bring the key file of this controller, or restore a "
            "backup that has its key");
  CHECK(bytes_of(path) == std::string(31, 'k'));
}

TEST_CASE("the keys for different purposes differ, and so do those of different roots") {
  const Keys a = keys_of('a');
  const Keys b = keys_of('b');
  const std::set<std::string> all{std::string(a.root().reveal()), std::string(a.marker_key().reveal()),
                                  std::string(b.root().reveal()), std::string(b.marker_key().reveal())};
  CHECK(all.size() == 4);
  CHECK(a.id() != b.id());
  CHECK(a.row_checksum("row") != b.row_checksum("row"));
}

TEST_CASE("the derivation never changes: a key file of today opens the store of tomorrow") {
  const Keys keys = keys_of('k');
  CHECK(keys.id() == "be1e8a5bac3c91f4");
  CHECK(hex(keys.row_checksum("a row")) == "5445371a363b29c1e0aa070f618c7b7e");
  CHECK(hex(keys.marker_key().reveal()) ==
        "988e1fff95c83c846a1fc7afe0c0bd4f232433c894bd2046a6a20e69b4b97c18");
}

TEST_CASE("a sealed secret opens in its own place, with its own key, unchanged") {
  const Keys keys = keys_of('k');
  SeededRandom random(3);
  const Secret secret("pass phrase");
  const std::string sealed = keys.seal(secret, "secret a", random);
  CHECK(sealed.find("pass") == std::string::npos);
  CHECK(must(keys.unseal(sealed, "secret a")).reveal() == "pass phrase");
  CHECK_FALSE(keys.unseal(sealed, "secret b"));
  CHECK_FALSE(keys_of('x').unseal(sealed, "secret a"));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(keys.unseal(changed, "secret a"));
  }
  CHECK_FALSE(keys.unseal("", "secret a"));
  CHECK(keys.seal(secret, "secret a", random) != sealed);
}

TEST_CASE("a row's checksum has 16 bytes and changes with the row") {
  const Keys keys = keys_of('k');
  CHECK(keys.row_checksum("row").size() == 16);
  CHECK(keys.row_checksum("row") == keys.row_checksum("row"));
  CHECK(keys.row_checksum("row") != keys.row_checksum("rov"));
}
