// SPDX-License-Identifier: Apache-2.0
// plugin_author_verbs.cpp - what the author of a plugin needs: a project, a call, a package, a key, its
// manual.
#include "base/fs.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/plugin.hpp"
#include "cli/run.hpp"
#include "cli/table.hpp"
#include "plugin/manifest_rules.hpp"
#include "plugin/standalone.hpp"

#include <slipway/codec.hpp>
#include <slipway/schema.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <mutex>
#include <ostream>
#include <sstream>

namespace slipway::cli {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kMaxTemplateFile = std::size_t{1} << 20U;
constexpr std::size_t kMaxBody = std::size_t{16} << 20U;

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

// A method by its whole name, or by what is unmistakable of it: "probe", "types", "volumes.list".
Result<std::string> method_named(const Manifest& manifest, std::string_view wanted) {
  std::vector<std::string> fits;
  std::vector<std::string_view> short_names;
  for (const std::string& method : manifest.methods) {
    const std::string_view whole = method;
    const std::string_view without_revision = whole.substr(0, whole.find('/'));
    const std::string_view group = whole.substr(0, whole.find('.'));
    const std::string_view verb =
        without_revision.substr(std::min(group.size() + 1, without_revision.size()));
    short_names.push_back(without_revision);
    if (wanted == whole || wanted == without_revision) return method;
    // "list" is everybody's: alone it is instances.list, and of another group the group's name says it.
    const bool is_verb = verb != "list" ? wanted == verb : wanted == "list" && group == "instances";
    if (is_verb || (verb == "list" && wanted == group)) fits.push_back(method);
  }
  if (fits.size() == 1) return fits.front();
  if (fits.size() > 1) {
    std::string all;
    for (const std::string& method : fits) all += (all.empty() ? "" : ", ") + method;
    return fail(Code::invalid, "METHOD: {} may be {}", wanted, all);
  }
  return fail(Code::invalid, "METHOD: {} has no method {}{}", manifest.name, wanted,
              text::did_you_mean(wanted, short_names))
      .detail("see", "slipway plugin show " + manifest.name);
}

std::string trace_text(const plugin::HttpTrace& trace) {
  std::ostringstream out;
  out << "  " << trace.request.verb << ' ' << trace.request.url;
  if (!trace.request.auth.bearer.is_empty()) out << "  authorization: Bearer ***";
  if (!trace.request.auth.user.empty()) out << "  authorization: Basic " << trace.request.auth.user << ":***";
  if (trace.request.once) out << "  (once)";
  if (trace.reply) {
    const std::size_t size =
        trace.reply->body_base64 ? trace.reply->body_base64->data.size() : trace.reply->body.size();
    out << " -> " << trace.reply->status << ", " << size << " bytes, " << trace.reply->elapsed_ms << " ms";
  } else {
    out << " -> " << trace.error->message;
  }
  return text::escaped(out.str());
}

// A reply for people: lists as tables of their plain members, else the JSON.
void print_reply(Context& context, const Output& output, std::string_view method, const json::value& reply) {
  const json::array* rows = nullptr;
  if (const auto* object = reply.if_object(); object != nullptr && !output.is_json()) {
    for (const auto& [key, value] : *object) {
      if (value.is_array() && !value.get_array().empty() && value.get_array().front().is_object())
        rows = &value.get_array();
    }
  }
  if (output.is_json() || rows == nullptr) {
    if (output.is_json()) {
      context.out << json::serialize(reply) << '\n';
    } else {
      std::string pretty;
      detail::append_pretty(pretty, reply, 0);
      context.out << method << ": " << pretty << '\n';
    }
    return;
  }
  std::vector<std::string> keys;
  for (const json::value& row : *rows) {
    for (const auto& [key, value] : row.as_object()) {
      const bool is_plain = !value.is_object() && !value.is_array() && !value.is_null();
      if (is_plain && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
    }
  }
  std::vector<std::string> titles;
  for (const std::string& key : keys) titles.push_back(upper(key));
  Table table;
  for (std::size_t i = 0; i < keys.size(); ++i) table.columns.push_back({.key = keys[i], .title = titles[i]});
  for (const json::value& row : *rows) {
    Row shown;
    for (const std::string& key : keys) {
      const json::value* value = row.as_object().if_contains(key);
      if (value == nullptr) {
        shown.cells.emplace_back("");
      } else {
        shown.cells.emplace_back(
            value->is_string() ? std::string(value->get_string()) : json::serialize(*value), *value);
      }
    }
    shown.id = shown.cells.empty() ? "" : shown.cells.front().text;
    table.rows.push_back(std::move(shown));
  }
  static_cast<void>(
      print(context, Output{.format = output.format, .has_header = output.has_header}, table).has_value());
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
  // Whole or not at all: made beside, then renamed.
  const files::path staging = name + ".new-" + std::to_string(::getpid());
  std::vector<std::string> written;
  const auto write_all = [&]() -> Status {
    for (const auto& entry : files::recursive_directory_iterator(source)) {
      if (!entry.is_regular_file()) continue;
      const std::string relative = instantiated(files::relative(entry.path(), source).string(), name);
      SLIPWAY_TRY(const std::string text, fs::read_file(entry.path(), kMaxTemplateFile));
      SLIPWAY_TRY(fs::make_directory((staging / relative).parent_path(), 0755));
      const bool is_program = (entry.status().permissions() & files::perms::owner_exec) != files::perms::none;
      SLIPWAY_TRY(
          fs::write_file_atomically(staging / relative, instantiated(text, name), is_program ? 0755 : 0644));
      written.push_back(relative);
    }
    return ok();
  };
  const Status made = write_all();
  if (!made) {
    files::remove_all(staging, ec);
    return made.error();
  }
  files::rename(staging, name, ec);
  if (ec) {
    const std::string why = ec.message();
    files::remove_all(staging, ec);
    return fail(Code::unavailable, "{}: {}; nothing was written", name, why);
  }
  std::sort(written.begin(), written.end());
  context.out << "created " << name << "/:";
  for (std::size_t i = 0; i < written.size(); ++i) context.out << (i == 0 ? " " : ", ") << written[i];
  context.out << "\nnext: cd " << name
              << " && cmake --preset dev && cmake --build --preset dev && ctest --preset dev\n";
  return ExitCode::ok;
}

Result<ExitCode> plugin_call(Context& context, const Parsed& parsed) {
  const std::string path(parsed.argument("FILE"));
  const plugin::Candidate found = plugin::examine(path, plugin::PluginSource::development);
  if (found.problem) return *found.problem;
  SLIPWAY_TRY(const std::string method, method_named(*found.manifest, parsed.argument("METHOD")));
  plugin::StandaloneSpec spec;
  spec.library = files::absolute(found.library);
  spec.manifest = *found.manifest;
  std::string config;
  if (parsed.has("config")) {
    SLIPWAY_TRY(config, fs::read_file(std::string(parsed.value("config")), kMaxTemplateFile));
  }
  auto read = plugin::read_plugin_config(config, spec.manifest, context.variable);
  if (!read)
    return std::move(read).error().within(parsed.has("config") ? parsed.value("config") : "settings");
  spec.config = *std::move(read);
  spec.in_process = parsed.has("in-process");
  if (!spec.in_process) {
    SLIPWAY_TRY(spec.host_program, plugin::find_plugin_host());
  }
  std::string body(parsed.value("body"));
  if (body.starts_with('@')) {
    SLIPWAY_TRY(body, fs::read_file(body.substr(1), kMaxBody));
  }
  std::mutex err_mutex;  // guards context.err: traces and log lines come on threads of the plugin's services
  const auto say = [&](const std::string& line) {
    const std::lock_guard lock(err_mutex);
    context.err << line << '\n';
  };
  if (parsed.has("trace")) spec.trace = [&](const plugin::HttpTrace& trace) { say(trace_text(trace)); };
  spec.log = [&](const LogNote& note) { say("  log: " + text::escaped(note.text)); };
  say("note: " + path + " is run at your own risk: nothing about its owner or signature was checked" +
      (spec.in_process ? ", and it runs in this process" : ""));
  SLIPWAY_TRY(const auto standalone, plugin::Standalone::open(std::move(spec)));
  const std::int64_t timeout =
      static_cast<std::int64_t>(std::min<std::uint64_t>(parsed.number("timeout"), 86'400));
  SystemClock clock;
  const std::int64_t began = clock.monotonic_ns();
  auto reply = standalone->call(method, body, std::chrono::seconds(timeout));
  const auto took_ms = (clock.monotonic_ns() - began) / 1'000'000;
  if (!reply) {
    const Error& error = reply.error();
    report(context, error);
    context.err << "  code " << boost::describe::enum_to_string(error.code, "?") << ", scope "
                << boost::describe::enum_to_string(error.scope, "?") << ", outcome "
                << boost::describe::enum_to_string(error.outcome, "?");
    if (error.retry_after_ms) context.err << ", retry after " << *error.retry_after_ms << " ms";
    if (error.quota)
      context.err << ", quota " << text::escaped(error.quota->resource) << ' ' << error.quota->used << '/'
                  << error.quota->limit;
    context.err << '\n';
    return ExitCode::failed;
  }
  json::error_code ec;
  const json::value value = json::parse(*reply, ec);
  if (ec) return fail(Code::internal, "the plugin's reply is not JSON: {}", detail::excerpt(*reply));
  print_reply(context, output_of(parsed, context), method, value);
  const unsigned requests = standalone->requests();
  say("  " + std::to_string(requests) + (requests == 1 ? " request, " : " requests, ") +
      std::to_string(took_ms) + " ms, " + standalone->place());
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
    line("| `" + kebab(setting.name) + "` | " + boost::describe::enum_to_string(setting.type, "?") + " | " +
         fallback + " | " + what + " |");
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
