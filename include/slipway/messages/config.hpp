// SPDX-License-Identifier: Apache-2.0
// config.hpp - config/1: settings beyond what a schema can say, and settings that an operator has elsewhere.
// Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// No network, no effect. The host has held both against the schema.
struct ConfigValidateRequest {
  json::value old_settings;  // null: the environment is new
  json::value new_settings;

  static constexpr std::array required{std::string_view("new_settings")};
  static constexpr std::string_view method = "config.validate/1";
  using Reply = struct ConfigValidateReply;
};
BOOST_DESCRIBE_STRUCT(ConfigValidateRequest, (), (old_settings, new_settings))

struct ConfigProblem {
  std::string setting;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(ConfigProblem, (), (setting, message))

struct ConfigValidateReply {
  std::vector<ConfigProblem> problems;  // empty: good
};
BOOST_DESCRIBE_STRUCT(ConfigValidateReply, (), (problems))

// What the manifest named under `import`, read by the command in the operator's home and process.
struct ConfigImportRequest {
  std::map<std::string, std::string> files;  // path as in the manifest: its text; absent ones are missing
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> arguments;  // of the command: cloud=demo

  static constexpr std::string_view method = "config.import/1";
  using Reply = struct ConfigImportReply;
};
BOOST_DESCRIBE_STRUCT(ConfigImportRequest, (), (files, variables, arguments))

struct ImportedSetting {
  std::string name;
  json::value value;
  std::string source;  // for people: "~/.config/openstack/clouds.yaml, cloud demo"
};
BOOST_DESCRIBE_STRUCT(ImportedSetting, (), (name, value, source))

struct ConfigImportReply {
  std::vector<ImportedSetting> settings;  // a secret one holds the secret itself; the host seals it
  std::vector<std::string> notes;         // for people: "OS_CLOUD=test ignored: cloud was given"
};
BOOST_DESCRIBE_STRUCT(ConfigImportReply, (), (settings, notes))

}  // namespace slipway
