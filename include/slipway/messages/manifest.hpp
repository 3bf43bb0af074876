// SPDX-License-Identifier: Apache-2.0
// manifest.hpp - a plugin's static facts: what its author says in info() and schema(), and what the SDK adds.
// The build writes it to plugin.json; describe answers it; the two must agree. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

enum class Kind { unknown, provider, network, storage };
BOOST_DESCRIBE_ENUM(Kind, unknown, provider, network, storage)

// What the plugin needs of the machine (SECURITY: isolated host). pure: only the host's services. net: also
// sockets of its own. system: makes machines on this host.
enum class Profile { unknown, pure, net, system };
BOOST_DESCRIBE_ENUM(Profile, unknown, pure, net, system)

// Where the cloud keeps a marker.
enum class MarkerPlace { unknown, labels, tags, metadata, name };
BOOST_DESCRIBE_ENUM(MarkerPlace, unknown, labels, tags, metadata, name)

struct MarkerForm {
  MarkerPlace place = MarkerPlace::labels;
  std::uint32_t max_entries = 8;
  std::uint32_t max_value_bytes = 255;
};
BOOST_DESCRIBE_STRUCT(MarkerForm, (), (place, max_entries, max_value_bytes))

// What the command reads in the operator's home and process and gives to config.import/1.
struct ImportSources {
  std::vector<std::string> files;      // "~/.config/openstack/clouds.yaml"
  std::vector<std::string> variables;  // "OS_AUTH_URL"; "OS_*" for all that begin so
  std::vector<std::string> arguments;  // "cloud": --cloud NAME
};
BOOST_DESCRIBE_STRUCT(ImportSources, (), (files, variables, arguments))

enum class SettingType { unknown, text, integer, number, boolean, list, map };
BOOST_DESCRIBE_ENUM(SettingType, unknown, text, integer, number, boolean, list, map)

struct SettingInfo {
  std::string name;  // snake_case
  SettingType type = SettingType::text;
  std::string doc;
  bool required = false;
  bool secret = false;  // the value is a SecretRef
  bool immutable = false;
  std::string env;  // environment variable that the command takes it from
  std::string example;
  json::value default_value;         // null: none
  std::vector<std::string> choices;  // empty: any
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};
BOOST_DESCRIBE_STRUCT(SettingInfo, (),
                      (name, type, doc, required, secret, immutable, env, example, default_value, choices,
                       min, max))

// What an author says in info().
struct PluginInfo {
  std::string name;     // [a-z][a-z0-9-]{0,31}
  std::string version;  // MAJOR.MINOR.PATCH
  std::string summary;
  std::string licence;  // SPDX
  std::string url;
  std::vector<Kind> kinds;
  Profile profile = Profile::pure;
  // A second start with a nonce makes no second machine: the core may send a start again.
  bool start_is_idempotent = false;
  std::int64_t visibility_lag_ms = 10'000;  // a new resource may be absent from lists this long
  std::int64_t late_accept_ms = 60'000;     // a request may still be accepted this long after it was given up
  MarkerForm marker;
  std::uint32_t max_name_bytes = 63;
  std::uint32_t max_user_data_bytes = 16'384;
  std::uint32_t max_concurrency = 16;  // calls that go on at once
  bool reads_secrets = false;          // secret.get/1
  ImportSources import;
};
BOOST_DESCRIBE_STRUCT(PluginInfo, (),
                      (name, version, summary, licence, url, kinds, profile, start_is_idempotent,
                       visibility_lag_ms, late_accept_ms, marker, max_name_bytes, max_user_data_bytes,
                       max_concurrency, reads_secrets, import))

// All of plugin.json.
struct Manifest : PluginInfo {
  std::vector<SettingInfo> settings;
  std::vector<std::string> methods;  // "instances.start/1", sorted
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;
  std::string sdk;  // version of the SDK that it was built with

  static constexpr std::array required{std::string_view("name"), std::string_view("version"),
                                       std::string_view("kinds"), std::string_view("methods"),
                                       std::string_view("abi_major")};
};
BOOST_DESCRIBE_STRUCT(Manifest, (PluginInfo), (settings, methods, abi_major, abi_minor, sdk))

struct EnvironmentRef {
  std::string name;
  std::string uuid;
};
BOOST_DESCRIBE_STRUCT(EnvironmentRef, (), (name, uuid))

// What create gets (abi.h).
struct CreateMessage {
  json::value settings;  // an object: name to value by the schema; secrets as SecretRef
  EnvironmentRef environment;
  std::string controller;  // UUID
  std::string plugin_dir;  // where helpers/ is
  std::string state_dir;   // for a plugin of profile system: its own directory on this host; else empty

  static constexpr std::array required{std::string_view("settings")};
};
BOOST_DESCRIBE_STRUCT(CreateMessage, (), (settings, environment, controller, plugin_dir, state_dir))

}  // namespace slipway
