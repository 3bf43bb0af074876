// SPDX-License-Identifier: Apache-2.0
#include "plugin/trust_directory.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"
#include "plugin/manifest_rules.hpp"
#include "plugin/safe_open.hpp"

#include <slipway/codec.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxFileBytes = 64U << 10U;
constexpr std::string_view kEveryPlugin = "*";

// KEYID.json.
struct Grant {
  std::string name;
  std::vector<std::string> plugins;
  static constexpr std::array required{std::string_view("plugins")};
};
BOOST_DESCRIBE_STRUCT(Grant, (), (name, plugins))

Status check_grant(const Grant& grant) {
  if (!is_plugin_name(grant.name)) {
    return fail(Code::invalid, "name: expected [a-z][a-z0-9-]{{0,31}}, got \"{}\"",
                text::escaped(grant.name));
  }
  if (grant.plugins.empty()) return fail(Code::invalid, "plugins: expected at least one, or \"*\" for all");
  for (std::size_t i = 0; i < grant.plugins.size(); ++i) {
    if (grant.plugins[i] == kEveryPlugin && grant.plugins.size() == 1) continue;
    if (!is_plugin_name(grant.plugins[i])) {
      return fail(Code::invalid, "plugins[{}]: expected the name of a plugin, got \"{}\"", i,
                  text::escaped(grant.plugins[i]));
    }
  }
  return ok();
}

// Whoever can write the directory decides who is trusted. No directory: nobody is, and that is fine.
Status check_directory(const std::string& path) {
  auto directory = open_safely(path, {});
  if (!directory) {
    if (directory.error().code == Code::not_found) return ok();
    return std::move(directory).error().within("the directory of trusted keys");
  }
  if (!directory->is_directory())
    return fail(Code::invalid, "{}: expected the directory of trusted keys", path);
  return ok();
}

Result<TrustedKey> read_entry(const KeyId& id, const std::string& pem_path, const std::string& json_path) {
  SLIPWAY_TRY(const std::string pem, fs::read_private_file(pem_path, "trusted key", kMaxFileBytes));
  auto key = PublicKey::from_pem(pem);
  if (!key) return std::move(key).error().within(pem_path);
  if (key->id() != id) return fail(Code::invalid, "{}: the key in it is {}", pem_path, key->id().text());
  SLIPWAY_TRY(const std::string text,
              fs::read_private_file(json_path, "grant of a trusted key", kMaxFileBytes));
  auto grant = decode<Grant>(text, {.unknown_fields = UnknownFields::refuse});
  if (!grant) return std::move(grant).error().within(json_path);
  if (auto status = check_grant(*grant); !status) return std::move(status).error().within(json_path);
  return TrustedKey{id, std::move(grant->name), std::move(grant->plugins), *key, {}};
}

}  // namespace

bool TrustedKey::is_for(std::string_view plugin) const {
  return std::any_of(plugins.begin(), plugins.end(), [&](const std::string& granted) {
    return granted == plugin || granted == kEveryPlugin;
  });
}

Result<TrustedKey> TrustDirectory::add(const PublicKey& key, const std::string& name,
                                       const std::vector<std::string>& plugins) const {
  Grant grant{name, plugins};
  SLIPWAY_TRY(check_grant(grant));
  SLIPWAY_TRY(fs::make_directory(path_, 0755));
  SLIPWAY_TRY(check_directory(path_));
  const KeyId id = key.id();
  if (auto before = find(id)) {
    grant.plugins.insert(grant.plugins.end(), before->plugins.begin(), before->plugins.end());
  } else if (before.error().code != Code::not_found) {
    return std::move(before).error();
  }
  auto& names = grant.plugins;
  if (std::find(names.begin(), names.end(), kEveryPlugin) != names.end()) names = {std::string(kEveryPlugin)};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // The grant first: a key without one is not trusted for anything.
  SLIPWAY_TRY(fs::write_file_atomically(json_path(id), encode(grant) + "\n", 0644));
  SLIPWAY_TRY(fs::write_file_atomically(pem_path(id), key.pem(), 0644));
  return TrustedKey{id, grant.name, grant.plugins, key, {}};
}

Result<TrustedKey> TrustDirectory::remove(std::string_view key) const {
  SLIPWAY_TRY(const auto keys, list());
  const auto id = KeyId::parse(key);
  const TrustedKey* found = nullptr;
  for (const TrustedKey& entry : keys) {
    if (id ? entry.id != *id : entry.name != key) continue;
    if (found != nullptr) {
      return fail(Code::conflict, "several trusted keys are named {}; name the key by its id", key);
    }
    found = &entry;
  }
  if (found == nullptr) return fail(Code::not_found, "no key {} is trusted here, in {}", key, path_);
  // The key first: without it the grant is worth nothing.
  if (unlink(pem_path(found->id).c_str()) != 0) return fs::error_of(errno, "removing", pem_path(found->id));
  if (unlink(json_path(found->id).c_str()) != 0 && errno != ENOENT) {
    return fs::error_of(errno, "removing", json_path(found->id));
  }
  return *found;
}

Result<std::vector<TrustedKey>> TrustDirectory::list() const {
  SLIPWAY_TRY(check_directory(path_));
  std::vector<TrustedKey> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".pem") continue;
    const std::string stem = it->path().stem().string();
    const auto id = KeyId::parse(stem);
    if (!id) {
      out.push_back({KeyId{stem}, {}, {}, std::nullopt, "its file is not named after a key"});
      continue;
    }
    auto entry = read_entry(*id, pem_path(*id), json_path(*id));
    if (!entry) entry = TrustedKey{*id, {}, {}, std::nullopt, entry.error().message};
    out.push_back(*std::move(entry));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fs::error_of(error.value(), "listing", path_);
  }
  std::sort(out.begin(), out.end(), [](const TrustedKey& a, const TrustedKey& b) { return a.id < b.id; });
  return out;
}

Result<TrustedKey> TrustDirectory::find(const KeyId& id) const {
  SLIPWAY_TRY(check_directory(path_));
  struct stat info {};
  if (stat(pem_path(id).c_str(), &info) != 0 && errno == ENOENT) {
    return fail(Code::not_found, "{} is not trusted here, in {}", id.text(), path_);
  }
  auto entry = read_entry(id, pem_path(id), json_path(id));
  if (!entry && entry.error().code == Code::not_found) {
    return fail(Code::invalid, "{}: the grant of the key is missing", json_path(id));
  }
  return entry;
}

Result<PublicKey> generate_key(const std::string& directory, const std::string& name, Random& random) {
  if (!is_plugin_name(name)) {
    return fail(Code::invalid, "name of the key: expected [a-z][a-z0-9-]{{0,31}}, got \"{}\"", name);
  }
  const std::string base = directory + "/" + name;
  for (const std::string& path : {base + ".key", base + ".pub"}) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0) {
      return fail(Code::conflict, "{} exists; a key is not overwritten, choose another name", path);
    }
  }
  const SigningKey key = SigningKey::make(random);
  const PublicKey public_key = key.public_key();
  SLIPWAY_TRY(fs::write_file_atomically(base + ".key", key.pem().reveal(), 0600));
  SLIPWAY_TRY(fs::write_file_atomically(base + ".pub", public_key.pem(), 0644));
  return public_key;
}

Result<SigningKey> read_signing_key(const std::string& path) {
  SLIPWAY_TRY(const std::string found, fs::read_private_file(path, "signing key", kMaxFileBytes, 0600));
  const Secret pem(found);
  auto key = SigningKey::from_pem(pem.reveal());
  if (!key) return std::move(key).error().within(path);
  return key;
}

Result<PublicKey> read_public_key(const std::string& path) {
  SLIPWAY_TRY(const std::string pem, fs::read_file(path, kMaxFileBytes));
  auto key = PublicKey::from_pem(pem);
  if (!key) return std::move(key).error().within(path);
  return key;
}

}  // namespace slipway::plugin
