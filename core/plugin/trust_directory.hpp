// SPDX-License-Identifier: Apache-2.0
// trust_directory.hpp - whose plugins run here: /etc/slipway/trust.d/KEYID.pem, and KEYID.json beside it with
// the plugins that the key is trusted for. Only root (or the daemon's user) may write there; a directory or
// file that others can write counts for nothing and is an error. Thread-safe; nothing is cached, so a key
// that is removed ends what it signed at the next load.
#pragma once

#include "base/signing.hpp"

#include <boost/describe/class.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

struct TrustedKey {
  KeyId id;
  std::string name;                  // for people: "nimbus-gmbh"
  std::vector<std::string> plugins;  // sorted; "*" alone: all
  std::optional<PublicKey> key;      // absent only beside a problem
  std::string problem;               // why this entry counts for nothing; only list() gives such

  [[nodiscard]] bool is_for(std::string_view plugin) const;
};

class TrustDirectory {
 public:
  explicit TrustDirectory(std::string path) : path_(std::move(path)) {}

  // Trusts the key for the plugins ("*" alone: for all), also for those it was trusted for before. `name`
  // (a plugin's name or like one) is for people. invalid: no plugin, a name that is none.
  [[nodiscard]] Result<TrustedKey> add(const PublicKey& key, const std::string& name,
                                       const std::vector<std::string>& plugins) const;
  // By id ("ed25519:..." or without) or by name. not_found; conflict: several keys have the name.
  [[nodiscard]] Result<TrustedKey> remove(std::string_view key) const;
  // Sorted by id; entries that count for nothing too, with their problem. No directory: none.
  [[nodiscard]] Result<std::vector<TrustedKey>> list() const;
  // not_found: no such key is trusted; denied: others may write the directory or the files.
  [[nodiscard]] Result<TrustedKey> find(const KeyId& id) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string pem_path(const KeyId& id) const { return path_ + "/" + id.value + ".pem"; }

 private:
  [[nodiscard]] std::string json_path(const KeyId& id) const { return path_ + "/" + id.value + ".json"; }
  std::string path_;
};

// Makes DIRECTORY/NAME.key (0600, private, PEM) and DIRECTORY/NAME.pub (0644). conflict: one of them exists.
[[nodiscard]] Result<PublicKey> generate_key(const std::string& directory, const std::string& name,
                                             Random& random);
// denied: others may read it.
[[nodiscard]] Result<SigningKey> read_signing_key(const std::string& path);
[[nodiscard]] Result<PublicKey> read_public_key(const std::string& path);

}  // namespace slipway::plugin
