// SPDX-License-Identifier: Apache-2.0
#include "store/keys.hpp"

#include "base/fs.hpp"

#include <utility>

namespace slipway::store {
namespace {

// What each key is for: HKDF's info. A change of one of these makes every store unreadable.
constexpr std::string_view kSealingLabel = "slipway sealing 1";
constexpr std::string_view kRowLabel = "slipway row checksum 1";
constexpr std::string_view kMarkerLabel = "slipway marker 1";
constexpr std::string_view kIdLabel = "slipway key id 1";

constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kChecksumBytes = 16;
constexpr mode_t kMode = 0400;

Result<Key32> make_key_file(const std::string& path, Random& random) {
  Key32 root = Key32::make(random);
  SLIPWAY_TRY(fs::write_file_atomically(path, root.reveal(), kMode));
  return root;
}

Result<Key32> read_key_file(const std::string& path) {
  constexpr std::size_t kMaxBytes = 4096;  // enough to say how many there are instead
  SLIPWAY_TRY(std::string content, fs::read_private_file(path, "key file", kMaxBytes, kMode));
  const Secret bytes(std::move(content));
  auto root = Key32::from_bytes(bytes.reveal());
  if (root) return root;
  return fail(Code::invalid,
              "key file {}: expected {} bytes, got {}; bring the key file of this controller, or "
              "restore a backup that has its key",
              path, Key32::size, bytes.reveal().size());
}

}  // namespace

Keys::Keys(Key32 root, Key32 sealing, Key32 row, Key32 marker, std::string id)
    : root_(std::move(root)),
      sealing_(std::move(sealing)),
      row_(std::move(row)),
      marker_(std::move(marker)),
      id_(std::move(id)) {}

Keys Keys::from_bytes(const Key32& root) {
  return Keys(root.copy(), root.derive(kSealingLabel), root.derive(kRowLabel), root.derive(kMarkerLabel),
              hex(root.derive(kIdLabel).reveal().substr(0, kIdBytes)));
}

// Whoever may create is alone in the directory (DataDir has its lock), so nobody makes the file meanwhile.
Result<Keys> Keys::open(const std::string& path, bool may_create, Random& random) {
  auto root = read_key_file(path);
  if (!root && root.error().code == Code::not_found) {
    if (!may_create) {
      return fail(
          Code::not_found,
          "key file {} is missing; bring the key file of this controller, or restore a backup that has "
          "its key (backup create --with-key)",
          path);
    }
    root = make_key_file(path, random);
  }
  if (!root) return std::move(root).error();
  return from_bytes(*root);
}

std::string Keys::seal(const Secret& secret, std::string_view identity, Random& random) const {
  return sealing_.seal(secret.reveal(), identity, random);
}

Result<Secret> Keys::unseal(std::string_view sealed, std::string_view identity) const {
  return sealing_.open(sealed, identity);
}

std::string Keys::row_checksum(std::string_view row_bytes) const {
  return hmac_sha256(row_.reveal(), row_bytes).substr(0, kChecksumBytes);
}

}  // namespace slipway::store
