// SPDX-License-Identifier: Apache-2.0
// plugin_store_verbs.cpp - which plugins are here, and which are let in.
#include "base/text.hpp"
#include "cli/plugin.hpp"
#include "cli/prompt.hpp"
#include "cli/table.hpp"
#include "plugin/manifest_rules.hpp"

#include <slipway/codec.hpp>

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>

namespace slipway::cli {
namespace {

using plugin::Candidate;
using plugin::PluginSource;
using plugin::PluginStore;

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

std::string kinds_of(const Manifest& manifest) {
  std::vector<std::string> kinds;
  for (const Kind kind : manifest.kinds) kinds.emplace_back(boost::describe::enum_to_string(kind, "?"));
  return joined(kinds);
}

std::string isolation_of(const Candidate& candidate) {
  if (candidate.entry && candidate.entry->current) {
    return candidate.entry->isolation == plugin::IsolationMode::in_process ? "in-process" : "process";
  }
  const bool is_ours =
      candidate.source == PluginSource::prefix || candidate.source == PluginSource::build_tree;
  const bool is_system = candidate.manifest && candidate.manifest->profile == Profile::system;
  return is_ours && !is_system ? "in-process" : "process";
}

std::string state_of(const Candidate& candidate) {
  if (candidate.problem) return "broken";
  if (candidate.entry && candidate.entry->quarantined) return "quarantined";
  if (candidate.entry && !candidate.entry->enabled) return "disabled";
  if (candidate.is_shadowed) return "shadowed";
  return candidate.source == PluginSource::development ? "DEV" : "enabled";
}

std::string reason_of(const Candidate& candidate) {
  if (candidate.problem) return candidate.problem->message;
  return candidate.entry ? candidate.entry->reason : std::string();
}

std::string signer_of(const Candidate& candidate) {
  return candidate.entry && candidate.entry->current ? candidate.entry->current->signer : std::string();
}

// The store that a verb changes; --allow-unsigned names the plugin, which is known only from its file.
Result<PluginStore> store_of(Context& context, const Parsed& parsed, const std::string& unsigned_name = {}) {
  SLIPWAY_TRY(PluginPlaces places, plugin_places(context, parsed));
  if (!unsigned_name.empty()) places.policy.allowed_unsigned.insert(unsigned_name);
  return PluginStore(places.search.installed, std::move(places.policy));
}

void say_installed(Context& context, const plugin::Installed& installed, const std::string& verb) {
  const Manifest& manifest = installed.verified.manifest;
  std::vector<std::string> libraries;
  for (const std::string& needed : installed.verified.elf.needed)
    libraries.push_back(needed.substr(0, needed.find(".so")));
  const std::string by = installed.verified.signer ? "ok signature" : "UNSIGNED";
  context.out << "  " << by << " | ok sha256 | ok ABI " << manifest.abi_major << " (host speaks "
              << SLIPWAY_ABI_MAJOR << ") | ok libraries " << joined(libraries)
              << " | ok one exported symbol\n";
  const Permissions permissions = permissions_of(manifest);
  context.out << "  may: " << permissions.may << ".";
  if (!permissions.may_not.empty()) context.out << " may not: " << permissions.may_not;
  context.out << '\n';
  if (installed.was_there) {
    context.out << manifest.name << ' ' << manifest.version << " was installed already; nothing changed\n";
    return;
  }
  context.out << verb << ' ' << manifest.name << ' ' << manifest.version << " in "
              << installed.verified.directory << " (isolation "
              << (installed.entry.isolation == plugin::IsolationMode::in_process ? "in-process" : "process")
              << "); lock file updated\n";
}

// The name of the plugin in a package that may be unsigned: of the file's name up to the first underscore, or
// of the directory.
std::string name_in(const std::string& path) {
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();  // "nimbus/"
  const std::string file = normal.filename();
  return file.substr(0, file.find('_'));
}

void show_settings(Context& context, const Manifest& manifest) {
  if (manifest.settings.empty()) return;
  context.out << "\nsettings\n";
  for (const SettingInfo& setting : manifest.settings) {
    std::vector<std::string> notes;
    notes.emplace_back(boost::describe::enum_to_string(setting.type, "?"));
    if (setting.required) notes.emplace_back("required");
    if (setting.secret) notes.emplace_back("secret");
    if (setting.immutable) notes.emplace_back("cannot be changed later");
    if (!setting.default_value.is_null())
      notes.push_back("default " + boost::json::serialize(setting.default_value));
    if (!setting.env.empty()) notes.push_back("or " + setting.env);
    if (!setting.example.empty()) notes.push_back("example " + setting.example);
    if (!setting.choices.empty()) notes.push_back("one of " + joined(setting.choices, "|"));
    context.out << "  " << kebab(setting.name) << "  " << text::escaped(setting.doc) << " ("
                << text::escaped(joined(notes, ", ")) << ")\n";
  }
}

}  // namespace

Result<ExitCode> plugin_list(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginPlaces places, plugin_places(context, parsed));
  Table table{{{.key = "name", .title = "NAME"},
               {.key = "version", .title = "VERSION"},
               {.key = "kinds", .title = "KINDS"},
               {.key = "profile", .title = "PROFILE"},
               {.key = "isolation", .title = "ISOLATION"},
               {.key = "state", .title = "STATE", .is_state = true},
               {.key = "signer", .title = "SIGNER", .is_wide = true},
               {.key = "directory", .title = "DIRECTORY", .is_wide = true},
               {.key = "reason", .title = "REASON"}},
              {}};
  for (const Candidate& candidate : plugin::discover(places.search)) {
    const Manifest* manifest = candidate.manifest ? &*candidate.manifest : nullptr;
    table.rows.push_back(
        {candidate.name,
         {candidate.name, manifest ? manifest->version : "", manifest ? kinds_of(*manifest) : "",
          manifest ? boost::describe::enum_to_string(manifest->profile, "?") : "", isolation_of(candidate),
          state_of(candidate), signer_of(candidate), candidate.directory, reason_of(candidate)}});
  }
  SLIPWAY_TRY(print(context, output_of(parsed, context), table));
  return ExitCode::ok;
}

Result<ExitCode> plugin_show(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(const PluginPlaces places, plugin_places(context, parsed));
  SLIPWAY_TRY(const Candidate found, find_plugin(places, std::string(parsed.argument("PLUGIN"))));
  if (!found.manifest) return *found.problem;
  const Manifest& manifest = *found.manifest;
  if (output_of(parsed, context).is_json()) {
    boost::json::object value = to_json(manifest).as_object();
    value["state"] = state_of(found);
    value["reason"] = reason_of(found);
    value["directory"] = found.directory;
    value["isolation"] = isolation_of(found);
    value["signer"] = signer_of(found);
    context.out << boost::json::serialize(value) << '\n';
    return ExitCode::ok;
  }
  const Permissions permissions = permissions_of(manifest);
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty())
      context.out << name << std::string(12 - name.size(), ' ') << text::escaped(value) << '\n';
  };
  line("plugin", manifest.name + " " + manifest.version);
  line("summary", manifest.summary);
  line("licence", manifest.licence);
  line("home", manifest.url);
  line("kinds", kinds_of(manifest));
  line("groups", joined(plugin::method_groups(manifest)));
  line("state", state_of(found));
  line("reason", reason_of(found));
  line("directory", found.directory);
  line("signer", signer_of(found));
  line("isolation", isolation_of(found));
  line("ABI", message("{}.{}, SDK {}; this host speaks {}", manifest.abi_major, manifest.abi_minor,
                      manifest.sdk, SLIPWAY_ABI_MAJOR));
  line("may", permissions.may);
  line("may not", permissions.may_not);
  line("creates", manifest.start_is_idempotent ? "a start may be sent again: the cloud knows it by its nonce"
                                               : "looked for by their marker before another try");
  show_settings(context, manifest);
  return ExitCode::ok;
}

Result<ExitCode> plugin_install(Context& context, const Parsed& parsed) {
  const std::string path(parsed.argument("PACKAGE"));
  SLIPWAY_TRY(PluginStore store,
              store_of(context, parsed, parsed.has("allow-unsigned") ? name_in(path) : ""));
  const bool in_process = parsed.has("in-process");
  SLIPWAY_TRY(
      const plugin::Installed installed,
      store.install(path, {in_process ? plugin::IsolationMode::in_process : plugin::IsolationMode::process}));
  say_installed(context, installed, "installed");
  return ExitCode::ok;
}

Result<ExitCode> plugin_upgrade(Context& context, const Parsed& parsed) {
  const std::string path(parsed.argument("PACKAGE"));
  SLIPWAY_TRY(PluginStore store,
              store_of(context, parsed, parsed.has("allow-unsigned") ? name_in(path) : ""));
  SLIPWAY_TRY(const plugin::Installed installed, store.upgrade(path));
  say_installed(context, installed, "upgraded to");
  if (installed.entry.previous && !installed.was_there) {
    context.out << "  back: slipway plugin rollback " << installed.verified.manifest.name << " (to "
                << installed.entry.previous->version << ")\n";
  }
  return ExitCode::ok;
}

Result<ExitCode> plugin_rollback(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginStore store, store_of(context, parsed));
  const std::string name(parsed.argument("NAME"));
  SLIPWAY_TRY(const plugin::LockEntry entry, store.rollback(name));
  context.out << name << " is " << entry.current->version << " again; " << entry.previous->version
              << " stays on disk: slipway plugin rollback " << name << " goes forward\n";
  return ExitCode::ok;
}

Result<ExitCode> plugin_enable(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginStore store, store_of(context, parsed));
  SLIPWAY_TRY(store.enable(std::string(parsed.argument("NAME"))));
  context.out << parsed.argument("NAME") << " is enabled\n";
  return ExitCode::ok;
}

Result<ExitCode> plugin_disable(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginStore store, store_of(context, parsed));
  SLIPWAY_TRY(store.disable(std::string(parsed.argument("NAME")), std::string(parsed.value("reason"))));
  context.out << parsed.argument("NAME") << " is disabled; again: slipway plugin enable "
              << parsed.argument("NAME") << '\n';
  return ExitCode::ok;
}

Result<ExitCode> plugin_quarantine(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginStore store, store_of(context, parsed));
  const std::string reason = parsed.has("reason") ? std::string(parsed.value("reason")) : "by the operator";
  SLIPWAY_TRY(store.quarantine(std::string(parsed.argument("NAME")), reason));
  context.out << parsed.argument("NAME") << " is quarantined; again: slipway plugin enable "
              << parsed.argument("NAME") << '\n';
  return ExitCode::ok;
}

Result<ExitCode> plugin_remove(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(PluginStore store, store_of(context, parsed));
  const std::string name(parsed.argument("NAME"));
  SLIPWAY_TRY(const plugin::LockFile lock, store.entries());
  const plugin::LockEntry* entry = lock.find(name);
  if (entry == nullptr || !entry->current) {
    return fail(Code::not_found, "{} is not installed in {}", name, store.directory())
        .detail("see", "slipway plugin list");
  }
  std::vector<std::string> lines{"will remove " + name + " " + entry->current->version + " from " +
                                 store.directory_of(name, *entry->current)};
  if (entry->previous)
    lines.push_back("and " + entry->previous->version + ", which rollback would go back to");
  SLIPWAY_TRY(const Answer answer, confirm(context, parsed, lines, "Remove it?"));
  if (answer == Answer::no) return ExitCode::failed;
  SLIPWAY_TRY(store.remove(name));
  context.out << "removed " << name << '\n';
  return ExitCode::ok;
}

Result<ExitCode> plugin_trust(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(const PluginPlaces places, plugin_places(context, parsed));
  const plugin::TrustDirectory directory(places.policy.trust_directory);
  const std::string_view action = parsed.argument("ACTION");
  const std::string key(parsed.argument("KEY"));
  if (action == "list") {
    SLIPWAY_TRY(const std::vector<plugin::TrustedKey> keys, directory.list());
    Table table{{{.key = "key", .title = "KEY"},
                 {.key = "name", .title = "NAME"},
                 {.key = "plugins", .title = "PLUGINS"},
                 {.key = "problem", .title = "PROBLEM"}},
                {}};
    for (const plugin::TrustedKey& trusted : keys) {
      table.rows.push_back(
          {trusted.id.text(), {trusted.id.text(), trusted.name, joined(trusted.plugins), trusted.problem}});
    }
    SLIPWAY_TRY(print(context, output_of(parsed, context), table));
    return ExitCode::ok;
  }
  if (key.empty())
    return fail(Code::invalid, "KEY: expected {}",
                action == "add" ? "a file with a public key" : "a key's id or name");
  if (action == "remove") {
    SLIPWAY_TRY(const plugin::TrustedKey removed, directory.remove(key));
    context.out << removed.id.text() << " (" << removed.name
                << ") is not trusted any more; what it signed is refused from "
                << "the next load on\n";
    return ExitCode::ok;
  }
  std::vector<std::string> plugins(parsed.values("only").begin(), parsed.values("only").end());
  if (parsed.has("all") == !plugins.empty()) {
    return fail(Code::invalid,
                "--only: name the plugin that the key is trusted for, or --all for every plugin");
  }
  if (plugins.empty()) plugins = {"*"};
  SLIPWAY_TRY(const PublicKey read, plugin::read_public_key(key));
  const std::string name =
      parsed.has("name") ? std::string(parsed.value("name")) : std::filesystem::path(key).stem().string();
  SLIPWAY_TRY(const plugin::TrustedKey trusted, directory.add(read, name, plugins));
  const bool is_for_all = trusted.plugins == std::vector<std::string>{"*"};
  context.out << "trusted " << trusted.id.text() << " (" << trusted.name << ") for "
              << (is_for_all                     ? std::string("every plugin")
                  : trusted.plugins.size() == 1U ? "the plugin " + trusted.plugins.front() + " only"
                                                 : "the plugins " + joined(trusted.plugins))
              << ": " << directory.pem_path(trusted.id) << '\n';
  return ExitCode::ok;
}

}  // namespace slipway::cli
