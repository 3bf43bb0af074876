// SPDX-License-Identifier: Apache-2.0
#include "provision/cloud_config.hpp"

#include "base/text.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

namespace slipway::provision {
namespace {

// What a user may set: nothing here keeps anybody from the machine, or Slipway's part from being done.
constexpr std::array<std::string_view, 33> kAllowed = {"apt",
                                                       "bootcmd",
                                                       "ca_certs",
                                                       "disk_setup",
                                                       "final_message",
                                                       "fs_setup",
                                                       "groups",
                                                       "growpart",
                                                       "keyboard",
                                                       "locale",
                                                       "manage_etc_hosts",
                                                       "mount_default_fields",
                                                       "mounts",
                                                       "no_ssh_fingerprints",
                                                       "ntp",
                                                       "package_reboot_if_required",
                                                       "package_update",
                                                       "package_upgrade",
                                                       "packages",
                                                       "resize_rootfs",
                                                       "resolv_conf",
                                                       "rsyslog",
                                                       "runcmd",
                                                       "snap",
                                                       "ssh_authorized_keys",
                                                       "ssh_import_id",
                                                       "swap",
                                                       "timezone",
                                                       "users",
                                                       "write_files",
                                                       "yum_repos",
                                                       "zypper",
                                                       "ubuntu_advantage"};

struct Refused {
  std::string_view key;
  std::string_view reason;
};
constexpr std::string_view kNaming = "the machine's name is set with --name";
constexpr std::string_view kHostKeys = "each machine makes its own host keys, so that none is there twice";
constexpr std::string_view kModules =
    "without cloud-init's modules neither ssh keys nor the agent's nonce are there";
constexpr std::string_view kLogin = "it would take the ssh keys away from the user who logs in";
constexpr Refused kRefused[] = {
    {"hostname", kNaming},
    {"fqdn", kNaming},
    {"preserve_hostname", kNaming},
    {"prefer_fqdn_over_hostname", kNaming},
    {"ssh_deletekeys", kHostKeys},
    {"ssh_keys", kHostKeys},
    {"ssh_genkeytypes", kHostKeys},
    {"cloud_init_modules", kModules},
    {"cloud_config_modules", kModules},
    {"cloud_final_modules", kModules},
    {"unverified_modules", kModules},
    {"user", kLogin},
    {"system_info", kLogin},
    {"disable_root", kLogin},
    {"disable_root_opts", kLogin},
    {"datasource", "where the machine's data comes from is the provider's"},
    {"datasource_list", "where the machine's data comes from is the provider's"},
    {"network", "addresses and routes are the provider's; another network could not be reached"},
    {"power_state", "a machine that turns itself off is shown as down; use machine remove"},
    {"phone_home", "it sends the machine's keys and ids elsewhere"},
    {"merge_how", "there is one document only, nothing is merged on the machine"},
    {"merge_type", "there is one document only, nothing is merged on the machine"},
};

Status check_key(std::string_view key) {
  if (std::find(kAllowed.begin(), kAllowed.end(), key) != kAllowed.end()) return ok();
  for (const Refused& refused : kRefused) {
    if (refused.key == key) return fail(Code::invalid, "{} is not taken: {}", key, refused.reason);
  }
  return fail(Code::invalid, "{} is not a known key{}; known are {}", text::escaped(key),
              text::did_you_mean(key, kAllowed),
              text::join(std::vector<std::string>(kAllowed.begin(), kAllowed.end()), ", "));
}

Status check_list(std::string_view key, const Yaml& yaml) {
  if (yaml.kind == Yaml::Kind::list) return ok();
  return fail(Code::invalid, "{}: expected a list", key);
}

Status check_file(std::size_t index, const Yaml& file) {
  const Yaml* path = file.find("path");
  if (path == nullptr || !path->is_scalar())
    return fail(Code::invalid, "write_files[{}].path: expected a path", index);
  const std::string plain = std::filesystem::path("/" + path->scalar).lexically_normal().string();
  // A path that begins with two slashes is one of its own to the library.
  const std::string_view from_root = std::string_view(plain).substr(plain.find_first_not_of('/') - 1);
  if (from_root == kAgentDirectory || from_root.starts_with(std::string(kAgentDirectory) + "/"))
    return fail(Code::invalid, "write_files[{}].path: {} is kept for Slipway's agent", index,
                kAgentDirectory);
  return ok();
}

Status merge_keys(Yaml& own, const Yaml& users) {
  for (std::size_t i = 0; i < users.items.size(); ++i) {
    const Yaml& key = users.items[i];
    if (auto checked = model::check_ssh_key(key.scalar); !checked)
      return std::move(checked).error().within(message("ssh_authorized_keys[{}]", i));
    const auto is_same = [&](const Yaml& there) { return there.scalar == key.scalar; };
    if (std::none_of(own.items.begin(), own.items.end(), is_same))
      own.items.push_back(Yaml::text(key.scalar));
  }
  return ok();
}

Status merge_files(Yaml& own, Yaml users) {
  for (std::size_t i = 0; i < users.items.size(); ++i) SLIPWAY_TRY(check_file(i, users.items[i]));
  users.items.insert(users.items.end(), own.items.begin(), own.items.end());
  own = std::move(users);
  return ok();
}

// "default" is the user whom the image has and the ssh keys go to.
void keep_default_user(Yaml& users) {
  const auto is_default = [](const Yaml& user) { return user.is_scalar() && user.scalar == "default"; };
  if (std::none_of(users.items.begin(), users.items.end(), is_default))
    users.items.insert(users.items.begin(), Yaml::text("default"));
}

Status merge_apt(Yaml& own, Yaml users) {
  if (users.kind != Yaml::Kind::map) return fail(Code::invalid, "apt: expected a map");
  for (auto& [key, value] : own.map) {
    if (users.find(key) == nullptr) users.map.emplace_back(key, std::move(value));
  }
  own = std::move(users);
  return ok();
}

Status merge_member(Yaml& own, const std::string& key, Yaml value) {
  Yaml* there = own.find(key);
  if (there == nullptr) {
    own.map.emplace_back(
        key, Yaml{value.kind == Yaml::Kind::map ? Yaml::Kind::map : Yaml::Kind::list, {}, {}, {}});
    there = &own.map.back().second;
  }
  if (key == "apt") return merge_apt(*there, std::move(value));
  if (key == "ssh_authorized_keys" || key == "write_files" || key == "users")
    SLIPWAY_TRY(check_list(key, value));
  if (key == "ssh_authorized_keys") return merge_keys(*there, value);
  if (key == "write_files") return merge_files(*there, std::move(value));
  if (key == "users") keep_default_user(value);
  *there = std::move(value);
  return ok();
}

}  // namespace

Yaml own_cloud_config(const UserDataInput& input) {
  std::vector<Yaml> keys;
  for (const std::string& key : input.ssh_keys) keys.push_back(Yaml::text(key));
  std::string variables;
  for (const auto& [name, value] : {std::pair("http_proxy", &input.http_proxy),
                                    {"https_proxy", &input.https_proxy},
                                    {"no_proxy", &input.no_proxy}}) {
    if (!value->empty()) variables += message("{}={}\n", name, *value);
  }
  std::vector<Yaml> files;
  if (!variables.empty()) {
    files.push_back(Yaml::object({{"path", Yaml::text("/etc/environment")},
                                  {"append", Yaml::boolean(true)},
                                  {"content", Yaml::text(variables)}}));
  }
  files.push_back(Yaml::object({{"path", Yaml::text(std::string(kAgentDirectory) + "/nonce")},
                                {"permissions", Yaml::text("0600")},
                                {"content", Yaml::text(input.nonce + "\n")}}));
  Yaml config = Yaml::object({{"hostname", Yaml::text(input.hostname)},
                              {"ssh_authorized_keys", Yaml::list(std::move(keys))},
                              {"package_update", Yaml::boolean(input.refresh_packages)},
                              {"package_upgrade", Yaml::boolean(input.upgrade_packages)},
                              {"write_files", Yaml::list(std::move(files))}});
  if (!input.apt_proxy.empty())
    config.map.emplace_back("apt", Yaml::object({{"proxy", Yaml::text(input.apt_proxy)}}));
  return config;
}

Result<Yaml> merge_cloud_config(Yaml own, Yaml users) {
  if (users.kind == Yaml::Kind::null) return own;
  if (users.kind != Yaml::Kind::map)
    return fail(Code::invalid, "expected a map of cloud-config keys at the top");
  for (auto& [key, value] : users.map) {
    SLIPWAY_TRY(check_key(key));
    SLIPWAY_TRY(merge_member(own, key, std::move(value)));
  }
  return own;
}

}  // namespace slipway::provision
