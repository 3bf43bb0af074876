// SPDX-License-Identifier: Apache-2.0
// plugin_author_verbs.cpp - what the author of a plugin needs: a project, a package, a key, its manual. The
// call is in plugin_call.cpp.
#include "base/fs.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/plugin.hpp"
#include "cli/run.hpp"
#include "plugin/manifest_rules.hpp"

#include <boost/json/serialize.hpp>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace slipway::cli {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kMaxTemplateFile = std::size_t{1} << 20U;

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// "cloud-nine" as a C++ class: CloudNine.
std::string camel(std::string_view text) {
  std::string out;
  bool is_start = true;
  for (const char c : text) {
    if (c != '-') out += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = c == '-';
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// The marks of the template's files and of their names.
std::string instantiated(std::string text, const std::string& name) {
  text = replaced(std::move(text), "@name@", name);
  text = replaced(std::move(text), "@Name@", camel(name));
  text = replaced(std::move(text), "@NAME@", upper(name));
  return text;
}

// Fills `target` from the template; the paths that were written.
Result<std::vector<std::string>> fill_project(const files::path& source, const files::path& target,
                                              const std::string& name) {
  std::vector<std::string> written;
  std::error_code ec;
  files::recursive_directory_iterator entry(source, ec);
  for (; !ec && entry != files::recursive_directory_iterator(); entry.increment(ec)) {
    if (!entry->is_regular_file(ec)) continue;
    const std::string relative = instantiated(entry->path().lexically_relative(source).string(), name);
    SLIPWAY_TRY(const std::string text, fs::read_file(entry->path(), kMaxTemplateFile));
    SLIPWAY_TRY(fs::make_directory((target / relative).parent_path(), 0755));
    const bool is_program =
        (entry->status(ec).permissions() & files::perms::owner_exec) != files::perms::none;
    SLIPWAY_TRY(
        fs::write_file_atomically(target / relative, instantiated(text, name), is_program ? 0755 : 0644));
    written.push_back(relative);
  }
  if (ec) return fail(Code::unavailable, "{}: {}", source.string(), ec.message());
  return written;
}

// Whole or not at all: made beside, then renamed.
Result<std::vector<std::string>> write_project(const files::path& source, const std::string& name) {
  const files::path staging = name + ".new-" + std::to_string(::getpid());
  auto written = fill_project(source, staging, name);
  std::error_code ec;
  if (written) {
    files::rename(staging, name, ec);
    if (!ec) return written;
    written = fail(Code::unavailable, "{}: {}; nothing was written", name, ec.message());
  }
  files::remove_all(staging, ec);
  return written;
}

}  // namespace

Result<ExitCode> plugin_new(Context& context, const Parsed& parsed) {
  const std::string name(parsed.argument("NAME"));
  if (!plugin::is_plugin_name(name)) {
    return fail(Code::invalid,
                "NAME: expected a letter, then at most 31 letters, digits and dashes in lower case, got {}",
                name);
  }
  std::error_code ec;
  const files::path source = files::path(program_root()) / "share/slipway/template";
  if (!files::is_directory(source, ec)) {
    return fail(Code::not_found, "{}: the template is not there; install the SDK", source.string());
  }
  if (files::exists(name, ec)) return fail(Code::conflict, "{} exists; nothing was written", name);
  SLIPWAY_TRY(std::vector<std::string> written, write_project(source, name));
  std::sort(written.begin(), written.end());
  context.out << "created " << name << "/:";
  for (std::size_t i = 0; i < written.size(); ++i) context.out << (i == 0 ? " " : ", ") << written[i];
  context.out << "\nnext: cd " << name
              << " && cmake --preset dev && cmake --build --preset dev && ctest --preset dev\n";
  return ExitCode::ok;
}

Result<ExitCode> plugin_pack(Context& context, const Parsed& parsed) {
  if (!parsed.has("key")) {
    return fail(Code::invalid,
                "--key: a package is always signed; make a key with slipway plugin key new NAME");
  }
  std::string key_path(parsed.value("key"));
  std::error_code ec;
  if (!files::exists(key_path, ec) && files::exists(key_path + ".key", ec)) key_path += ".key";
  SLIPWAY_TRY(const SigningKey key, plugin::read_signing_key(key_path));
  const std::string library(parsed.argument("FILE"));
  SLIPWAY_TRY(const plugin::PackageSources sources,
              plugin::collect_package(
                  library, {files::current_path(ec).string(), files::absolute(library).parent_path()}));
  SLIPWAY_TRY(const plugin::PackReport report,
              plugin::pack(sources, key, std::string(parsed.value("output-dir"))));
  context.out << report.archive << ':';
  for (std::size_t i = 0; i < report.files.size(); ++i)
    context.out << (i == 0 ? " " : ", ") << report.files[i];
  context.out << "; sha256 " << report.archive_sha256 << "; signed " << report.signer.text() << '\n';
  return ExitCode::ok;
}

Result<ExitCode> plugin_key(Context& context, const Parsed& parsed) {
  const std::string name(parsed.argument("NAME"));
  if (parsed.argument("ACTION") == "show") {
    SLIPWAY_TRY(const PublicKey key, plugin::read_public_key(name));
    context.out << key.id().text() << '\n';
    return ExitCode::ok;
  }
  SystemRandom random;
  SLIPWAY_TRY(const PublicKey key, plugin::generate_key(".", name, random));
  context.out << "made " << name << ".key (keep it to yourself) and " << name
              << ".pub (publish it): " << key.id().text() << '\n';
  return ExitCode::ok;
}

Result<ExitCode> plugin_abi(Context& context, const Parsed& parsed) {
  bool are_all_good = true;
  for (const std::string& path : parsed.arguments("FILE")) {
    auto facts = plugin::read_elf(path);
    if (!facts) {
      report(context, facts.error());
      are_all_good = false;
      continue;
    }
    context.out << text::escaped(path) << '\n';
    if (facts->note) {
      context.out << "  built for   plugin ABI " << facts->note->abi_major << '.' << facts->note->abi_minor
                  << " by SDK " << facts->sdk_version() << "; this host speaks " << SLIPWAY_ABI_MAJOR << '\n';
      const Status speaks = plugin::check_abi(*facts->note, path);
      if (!speaks) {
        report(context, speaks.error());
        are_all_good = false;
      }
    } else {
      context.out << "  no plugin   " << text::escaped(facts->note_problem) << '\n';
      are_all_good = false;
    }
    const auto list = [&](std::string_view title, const std::vector<std::string>& words) {
      context.out << "  " << title << std::string(12 - title.size(), ' ');
      for (const std::string& word : words) context.out << text::escaped(word) << ' ';
      context.out << (words.empty() ? "none\n" : "\n");
    };
    list("needs", facts->needed);
    list("exports", facts->exported);
    list("run paths", facts->run_paths);
  }
  return are_all_good ? ExitCode::ok : ExitCode::failed;
}

Result<ExitCode> plugin_docs(Context& context, const Parsed& parsed) {
  SLIPWAY_TRY(const PluginPlaces places, plugin_places(context, parsed));
  SLIPWAY_TRY(const plugin::Candidate found, find_plugin(places, std::string(parsed.argument("PLUGIN"))));
  if (!found.manifest) return *found.problem;
  const Manifest& manifest = *found.manifest;
  const auto line = [&](const std::string& text) { context.out << text::escaped(text) << '\n'; };
  line("# " + manifest.name + " " + manifest.version);
  line("");
  line(manifest.summary + ". Licence: " + manifest.licence + ".");
  line("");
  line("## Settings");
  line("");
  line("Set with `slipway environment add NAME --provider " + manifest.name +
       " --set setting=value`; secrets with `--secret setting=@FILE`.");
  line("");
  line("| setting | type | default | what |");
  line("|---|---|---|---|");
  for (const SettingInfo& setting : manifest.settings) {
    std::string what = setting.doc;
    if (setting.required) what += "; required";
    if (setting.secret) what += "; secret";
    if (setting.immutable) what += "; cannot be changed later";
    if (!setting.env.empty()) what += "; or `" + setting.env + "`";
    if (!setting.example.empty()) what += "; for example `" + setting.example + "`";
    const std::string fallback =
        setting.default_value.is_null() ? "" : "`" + json::serialize(setting.default_value) + "`";
    line(message("| `{}` | {} | {} | {} |", kebab(setting.name),
                 boost::describe::enum_to_string(setting.type, "?"), fallback, what));
  }
  const Permissions permissions = permissions_of(manifest);
  line("");
  line("## What it may do");
  line("");
  line("May: " + permissions.may + "." +
       (permissions.may_not.empty() ? "" : " May not: " + permissions.may_not + "."));
  line("");
  line("## Limits");
  line("");
  line("- names up to " + std::to_string(manifest.max_name_bytes) + " bytes, user data up to " +
       std::to_string(manifest.max_user_data_bytes) + " bytes");
  line("- " + std::to_string(manifest.max_concurrency) + " calls at once");
  line("- a new resource may be missing from lists for " + std::to_string(manifest.visibility_lag_ms) +
       " ms");
  line("");
  line("## Methods");
  line("");
  for (const std::string& method : manifest.methods) line("- `" + method + "`");
  return ExitCode::ok;
}

}  // namespace slipway::cli
