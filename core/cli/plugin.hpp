// SPDX-License-Identifier: Apache-2.0
// plugin.hpp - the noun `plugin`: which plugins there are and who is trusted (plugin_store_verbs.cpp), and
// what their authors need (plugin_author_verbs.cpp, plugin_call.cpp). All of it works without a daemon.
// Thread rule: one thread.
#pragma once

#include "cli/command.hpp"
#include "cli/parse.hpp"
#include "plugin/discovery.hpp"
#include "plugin/plugin_store.hpp"

#include <string>

namespace slipway::cli {

[[nodiscard]] Noun plugin_noun();

// Where plugins and trust are, from --data-dir, --trust-dir, --user, --plugin-path, the environment and who
// runs this.
struct PluginPlaces {
  plugin::SearchPath search;
  plugin::TrustPolicy policy;
};
[[nodiscard]] Result<PluginPlaces> plugin_places(const Context& context, const Parsed& parsed);

// A plugin by its name on the search path, or a file NAME.so, or a plugin's directory. not_found, with a
// suggestion.
[[nodiscard]] Result<plugin::Candidate> find_plugin(const PluginPlaces& places,
                                                    const std::string& name_or_path);

// Where Slipway is installed, or the build tree: the directory above the executable's own.
[[nodiscard]] std::string program_root();

// kebab-case, as settings are written in command and manual.
[[nodiscard]] std::string kebab(std::string_view name);

// What a plugin may and may not do, from its manifest: the words of `install` and `show`.
struct Permissions {
  std::string may;
  std::string may_not;
};
[[nodiscard]] Permissions permissions_of(const Manifest& manifest);

Result<ExitCode> plugin_list(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_show(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_install(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_upgrade(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_rollback(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_enable(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_disable(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_quarantine(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_remove(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_trust(Context& context, const Parsed& parsed);

Result<ExitCode> plugin_new(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_call(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_pack(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_key(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_abi(Context& context, const Parsed& parsed);
Result<ExitCode> plugin_docs(Context& context, const Parsed& parsed);

}  // namespace slipway::cli
