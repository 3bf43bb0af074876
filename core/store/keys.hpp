// SPDX-License-Identifier: Apache-2.0
// keys.hpp - slipway.key: 32 random bytes from which all keys of a controller are made by HKDF-SHA256 with
// labels. Whoever has this file and the database has the secrets; a backup holds it only under a passphrase
// (SECURITY 2). Thread-safe: immutable once made.
#pragma once

#include "base/crypto.hpp"
#include "base/random.hpp"

#include <slipway/result.hpp>

#include <string>
#include <string_view>

namespace slipway::store {

class Keys {
 public:
  // Reads the file, or makes it (0400) when `may_create` and it is absent. Errors name the path and what to
  // do: not_found (absent), denied (owner or mode), invalid (not 32 bytes).
  [[nodiscard]] static Result<Keys> open(const std::string& path, bool may_create, Random& random);
  [[nodiscard]] static Keys from_bytes(const Key32& root);

  // 16 hex digits that tell one key file from another and say nothing of it.
  [[nodiscard]] const std::string& id() const { return id_; }

  // AES-256-GCM. `identity` is the row's own (table, column, key): a sealed value works in its own place
  // only.
  [[nodiscard]] std::string seal(const Secret& secret, std::string_view identity, Random& random) const;
  [[nodiscard]] Result<Secret> unseal(std::string_view sealed, std::string_view identity) const;
  // HMAC-SHA256 over a row's canonical bytes, cut to 16 bytes.
  [[nodiscard]] std::string row_checksum(std::string_view row_bytes) const;
  // For signing markers in the cloud (provision).
  [[nodiscard]] const Key32& marker_key() const { return marker_; }
  // The root itself, for a backup under a passphrase only.
  [[nodiscard]] const Key32& root() const { return root_; }

 private:
  Keys(Key32 root, Key32 sealing, Key32 row, Key32 marker, std::string id);

  Key32 root_;
  AeadKey sealing_;
  Key32 row_;
  Key32 marker_;
  std::string id_;
};

}  // namespace slipway::store
