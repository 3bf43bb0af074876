// SPDX-License-Identifier: Apache-2.0
// plugin.cpp - the table of `slipway plugin`, and where it finds things.
#include "cli/plugin.hpp"

#include "base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace slipway::cli {
namespace {

namespace fs = std::filesystem;

Option data_dir() {
  return {.name = "data-dir",
          .takes = Takes::text,
          .value_name = "DIR",
          .variable = "SLIPWAY_DATA_DIR",
          .help = "where the state is (root: /var/lib/slipway)"};
}
Option trust_dir() {
  return {.name = "trust-dir",
          .takes = Takes::text,
          .value_name = "DIR",
          .variable = "SLIPWAY_TRUST_DIR",
          .help = "where trusted keys are (root: /etc/slipway/trust.d)"};
}
Option user() { return {.name = "user", .help = "use the places of this user, also as root"}; }
Option plugin_path() {
  return {.name = "plugin-path",
          .takes = Takes::text,
          .value_name = "PATH",
          .variable = "SLIPWAY_PLUGIN_PATH",
          .repeatable = true,
          .help = "look here first, unchecked and at your own risk"};
}
Option in_process() { return {.name = "in-process", .help = "run it in this process, which its crash ends"}; }
Option config() {
  return {.name = "config",
          .takes = Takes::text,
          .value_name = "FILE",
          .help = "settings and secrets, lines of NAME = VALUE or @FILE"};
}

Verb on_plugin(Verb verb) {
  for (const Option& option : {data_dir(), trust_dir(), user()}) verb.options.push_back(option);
  return verb;
}
Verb on_search_path(Verb verb) {
  verb.options.push_back(plugin_path());
  return on_plugin(std::move(verb));
}

std::vector<Argument> one_name(std::string_view help = "the plugin") {
  return {{.name = "NAME", .help = help}};
}
std::vector<Argument> name_or_file() {
  return {{.name = "PLUGIN", .help = "a plugin's name, its file NAME.so, or its directory"}};
}

std::vector<Verb> operator_verbs() {
  return {
      on_search_path({.name = "list",
                      .help = "list the plugins, and why those that are broken are",
                      .examples = {{"slipway plugin list -o wide", "with signer and place"}},
                      .run = plugin_list}),
      on_search_path({.name = "show",
                      .help = "show a plugin: facts, settings, what it may do",
                      .description = "No code of the plugin is run: all of it is read from its files.",
                      .arguments = name_or_file(),
                      .run = plugin_show}),
      on_plugin({.name = "install",
                 .help = "check and install a plugin",
                 .description =
                     "The package must be signed by a key that is trusted for this plugin, else nothing is "
                     "installed.\nNone of the plugin's code is run.",
                 .arguments = {{.name = "PACKAGE",
                                .help = "an archive of slipway plugin pack, or a plugin's directory"}},
                 .options = {{.name = "in-process", .help = "let the daemon run it in its own process"},
                             {.name = "allow-unsigned",
                              .help = "take it unsigned; it runs in a process of its own only"}},
                 .examples = {{"slipway plugin install nimbus_0.1.0_linux_amd64.tar.gz",
                               "as its author published it"}},
                 .run = plugin_install}),
      on_plugin({.name = "upgrade",
                 .help = "install another version beside this one, and use it",
                 .description =
                     "Instances that run go on with the version they have until the daemon replaces them.",
                 .arguments = {{.name = "PACKAGE",
                                .help = "an archive of slipway plugin pack, or a plugin's directory"}},
                 .options = {{.name = "allow-unsigned", .help = "take it without a trusted signature"}},
                 .run = plugin_upgrade}),
      on_plugin({.name = "rollback",
                 .help = "go back to the version before the upgrade",
                 .arguments = one_name(),
                 .run = plugin_rollback}),
      on_plugin({.name = "enable",
                 .help = "let a plugin be used again; also ends a quarantine",
                 .arguments = one_name(),
                 .run = plugin_enable}),
      on_plugin({.name = "disable",
                 .help = "keep a plugin from being used",
                 .arguments = one_name(),
                 .options = {{.name = "reason",
                              .takes = Takes::text,
                              .value_name = "TEXT",
                              .help = "shown by plugin list"}},
                 .run = plugin_disable}),
      on_plugin({.name = "quarantine",
                 .help = "keep a plugin from being used because it does harm",
                 .arguments = one_name(),
                 .options = {{.name = "reason",
                              .takes = Takes::text,
                              .value_name = "TEXT",
                              .help = "shown by plugin list"}},
                 .run = plugin_quarantine}),
      on_plugin({.name = "remove",
                 .help = "remove an installed plugin",
                 .description = "Refused while a process uses it.",
                 .arguments = one_name(),
                 .run = plugin_remove}),
      on_plugin({.name = "trust",
                 .help = "say whose plugins may be installed",
                 .arguments = {{.name = "ACTION", .choices = {"add", "list", "remove"}, .help = "what to do"},
                               {.name = "KEY",
                                .required = false,
                                .help = "add: a file with the public key; remove: its id or name"}},
                 .options = {{.name = "only",
                              .takes = Takes::text,
                              .value_name = "PLUGIN",
                              .repeatable = true,
                              .help = "trust it for this plugin"},
                             {.name = "all", .help = "trust it for every plugin"},
                             {.name = "name",
                              .takes = Takes::text,
                              .value_name = "NAME",
                              .help = "the key's name (default: the file's)"}},
                 .examples = {{"slipway plugin trust add nimbus-gmbh.pub --only nimbus",
                               "for this plugin and no other"}},
                 .run = plugin_trust}),
  };
}

std::vector<Verb> author_verbs() {
  return {
      {.name = "new",
       .help = "write a project that builds and passes its tests",
       .arguments = {{.name = "NAME", .help = "the plugin: a letter, then letters, digits and dashes"}},
       .options = {{.name = "kind",
                    .takes = Takes::text,
                    .value_name = "KIND",
                    .choices = {"provider"},
                    .fallback = "provider",
                    .help = "what it is for"}},
       .examples = {{"slipway plugin new nimbus --kind provider", "then: cd nimbus, cmake --preset dev"}},
       .run = plugin_new},
      {.name = "call",
       .help = "call one method of a plugin, without a daemon",
       .description =
           "The file is loaded without a check of owner or signature: at your own risk, and in a process of "
           "its own unless --in-process is given.",
       .arguments = {{.name = "FILE", .help = "the plugin's file NAME.so, with plugin.json beside it"},
                     {.name = "METHOD", .help = "instances.list/1, or short: probe, types, list"}},
       .options = {config(),
                   {.name = "body",
                    .takes = Takes::text,
                    .value_name = "JSON",
                    .fallback = "{}",
                    .help = "the request, or @FILE"},
                   {.name = "trace", .help = "print every HTTP request; secrets are ***"},
                   {.name = "timeout",
                    .takes = Takes::number,
                    .value_name = "SECONDS",
                    .fallback = "60",
                    .help = "give up after this"},
                   in_process()},
       .examples = {{"slipway plugin call build/nimbus.so probe --config dev.conf",
                     "does the account work?"}},
       .run = plugin_call},
      {.name = "pack",
       .help = "make the signed package that others install",
       .arguments = {{.name = "FILE", .help = "the plugin's file NAME.so, with plugin.json beside it"}},
       .options = {{.name = "key",
                    .takes = Takes::text,
                    .value_name = "KEY",
                    .help = "the private key, NAME.key or its name here"},
                   {.name = "output-dir",
                    .takes = Takes::text,
                    .value_name = "DIR",
                    .fallback = ".",
                    .help = "where the package goes"}},
       .run = plugin_pack},
      {.name = "key",
       .help = "make a key to sign packages with",
       .arguments = {{.name = "ACTION", .choices = {"new", "show"}, .help = "what to do"},
                     {.name = "NAME", .help = "new: of the files NAME.key and NAME.pub; show: a file"}},
       .run = plugin_key},
      {.name = "abi",
       .help = "say what a file was built for and what it needs",
       .arguments = {{.name = "FILE", .repeatable = true, .help = "shared objects"}},
       .run = plugin_abi},
      on_search_path({.name = "docs",
                      .help = "print a plugin's manual: settings, secrets, limits",
                      .arguments = name_or_file(),
                      .examples = {{"slipway plugin docs openstack | less", "Markdown"}},
                      .run = plugin_docs}),
  };
}

std::string home_of(const Context& context) { return context.value_of("HOME").value_or("/root"); }

}  // namespace

Noun plugin_noun() {
  std::vector<Verb> verbs = operator_verbs();
  for (Verb& verb : author_verbs()) verbs.push_back(std::move(verb));
  return {"plugin", "install, trust and look at plugins; write your own", std::move(verbs)};
}

std::string program_root() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec).parent_path().parent_path();
}

Result<PluginPlaces> plugin_places(const Context& context, const Parsed& parsed) {
  const auto& options = parsed.verb()->options;
  const bool has_search_path =
      std::any_of(options.begin(), options.end(), [](const Option& o) { return o.name == "plugin-path"; });
  PluginPlaces places;
  const bool is_system = ::geteuid() == 0 && !parsed.has("user");
  const std::string home = home_of(context);
  std::string data = std::string(parsed.value("data-dir"));
  if (data.empty()) {
    data = is_system ? "/var/lib/slipway"
                     : context.value_of("XDG_DATA_HOME").value_or(home + "/.local/share") + "/slipway";
  }
  places.search.installed = data + "/plugins";
  places.policy.trust_directory = std::string(parsed.value("trust-dir"));
  if (places.policy.trust_directory.empty()) {
    places.policy.trust_directory =
        is_system ? "/etc/slipway/trust.d"
                  : context.value_of("XDG_CONFIG_HOME").value_or(home + "/.config") + "/slipway/trust.d";
  }
  if (const auto caller = context.value_of("SUDO_UID"); is_system && caller) {
    places.policy.owners.insert(static_cast<uid_t>(std::strtoul(caller->c_str(), nullptr, 10)));
  }
  const fs::path root = program_root();
  places.search.prefix = root / "lib/slipway/plugins";
  places.search.build_tree = root / "plugins";
  if (has_search_path) {
    std::string paths;
    for (const std::string& path : parsed.values("plugin-path")) paths += path + ":";
    places.search.development = plugin::development_paths({}, paths);
  }
  return places;
}

Result<plugin::Candidate> find_plugin(const PluginPlaces& places, const std::string& name_or_path) {
  std::error_code ec;
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".so")) {
    if (!fs::exists(name_or_path, ec))
      return fail(Code::not_found, "{}: there is no such file", name_or_path);
    return plugin::examine(name_or_path, plugin::PluginSource::development);
  }
  std::vector<std::string> found;
  for (plugin::Candidate& candidate : plugin::discover(places.search)) {
    if (candidate.name == name_or_path && !candidate.is_shadowed) return std::move(candidate);
    found.push_back(candidate.name);
  }
  const std::vector<std::string_view> names(found.begin(), found.end());
  return fail(Code::not_found, "there is no plugin {}{}", name_or_path,
              text::did_you_mean(name_or_path, names))
      .detail("see", "slipway plugin list");
}

std::string kebab(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

Permissions permissions_of(const Manifest& manifest) {
  std::vector<std::string> hosts;
  for (const SettingInfo& setting : manifest.settings) {
    const bool has_url_name =
        setting.name.find("endpoint") != std::string::npos || setting.name.ends_with("url");
    if (has_url_name) hosts.push_back("\"" + kebab(setting.name) + "\"");
  }
  std::string where;
  for (const std::string& host : hosts) where += (where.empty() ? "" : ", ") + host;
  Permissions permissions;
  if (!where.empty()) permissions.may = "https to the host in its setting " + where;
  const auto also = [&](const std::string& what) {
    permissions.may += (permissions.may.empty() ? "" : ", ") + what;
  };
  switch (manifest.profile) {
    case Profile::system:
      also("everything that its user may on this host: files, sockets, programs");
      break;
    case Profile::net:
      also("sockets of its own");
      permissions.may_not = "files, programs, other plugins' secrets";
      break;
    case Profile::pure:
    case Profile::unknown:
      permissions.may_not = "files, sockets, programs, other plugins' secrets";
      break;
  }
  if (manifest.reads_secrets) also("read its own secrets");
  if (permissions.may.empty()) permissions.may = "nothing but compute";
  return permissions;
}

}  // namespace slipway::cli
