// SPDX-License-Identifier: Apache-2.0
// plugin_call.cpp - `slipway plugin call`: one method of the author's own file, and what it did on the way.
#include "base/fs.hpp"
#include "base/text.hpp"
#include "cli/plugin.hpp"
#include "cli/run.hpp"
#include "cli/table.hpp"
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
#include <utility>
#include <vector>

namespace slipway::cli {
namespace {

constexpr std::size_t kMaxConfig = std::size_t{1} << 20U;
constexpr std::size_t kMaxBody = std::size_t{16} << 20U;
constexpr std::uint64_t kMaxTimeoutSeconds = 86'400;

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

bool is_plain(const json::value& value) {
  return !value.is_object() && !value.is_array() && !value.is_null();
}

std::string plain_text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// Objects, each with something to be shown in a cell.
bool is_list_of_rows(const json::value& value) {
  const json::array* list = value.if_array();
  return list != nullptr && !list->empty() &&
         std::all_of(list->begin(), list->end(), [](const json::value& row) {
           const json::object* members = row.if_object();
           return members != nullptr && std::any_of(members->begin(), members->end(), [](const auto& member) {
                    return is_plain(member.value());
                  });
         });
}

// MEM_MIB of "hardware.mem_mib".
std::string title_of(std::string_view path) {
  std::string out(path.substr(path.find('.') + 1));
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_empty(const json::value& value) {
  if (const json::array* list = value.if_array()) return list->empty();
  if (const json::object* object = value.if_object()) return object->empty();
  return value.is_null() || value == "";
}

// A row's plain members by their path, one level deep: "id", "hardware.mem_mib".
std::vector<std::pair<std::string, std::string>> cells_of(const json::object& row) {
  std::vector<std::pair<std::string, std::string>> cells;
  for (const auto& [key, value] : row) {
    if (is_plain(value)) cells.emplace_back(key, plain_text(value));
    const json::object* inner = value.if_object();
    if (inner == nullptr) continue;
    for (const auto& [inner_key, inner_value] : *inner) {
      if (is_plain(inner_value))
        cells.emplace_back(std::string(key) + "." + std::string(inner_key), plain_text(inner_value));
    }
  }
  return cells;
}

// Columns in which no row says anything are left out.
void print_list(Context& context, const Output& output, const json::array& rows) {
  std::vector<std::string> paths;
  for (const json::value& row : rows) {
    for (const auto& [path, text] : cells_of(row.get_object())) {
      if (!text.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  std::vector<std::string> titles;
  for (const std::string& path : paths) titles.push_back(title_of(path));
  Table table;
  for (std::size_t i = 0; i < paths.size(); ++i)
    table.columns.push_back({.key = paths[i], .title = titles[i]});
  for (const json::value& row : rows) {
    Row shown;
    const auto cells = cells_of(row.get_object());
    for (const std::string& path : paths) {
      const auto cell =
          std::find_if(cells.begin(), cells.end(), [&](const auto& c) { return c.first == path; });
      shown.cells.emplace_back(cell == cells.end() ? std::string() : cell->second);
    }
    table.rows.push_back(std::move(shown));
  }
  // Without --columns there is none that could be unknown.
  static_cast<void>(
      print(context, Output{.format = output.format, .has_header = output.has_header}, table).has_value());
}

// A reply for people: its plain members in a line, its lists as tables. One that has more in it, and one
// without lists, is shown as JSON.
void print_reply(Context& context, const Output& output, std::string_view method, const json::value& reply) {
  if (output.is_json()) {
    context.out << json::serialize(reply) << '\n';
    return;
  }
  std::string plain;
  std::vector<const json::array*> lists;
  bool is_deep = !reply.is_object();
  if (const json::object* members = reply.if_object()) {
    for (const auto& [key, value] : *members) {
      if (is_empty(value)) continue;
      if (is_list_of_rows(value)) {
        lists.push_back(&value.get_array());
      } else if (is_plain(value)) {
        plain += (plain.empty() ? " " : ", ") + std::string(key) + " " + json::serialize(value);
      } else {
        is_deep = true;
      }
    }
  }
  if (is_deep || lists.empty()) {
    std::string pretty;
    detail::append_pretty(pretty, reply, 0);
    context.out << method << ": ";
    for (const std::string_view line : text::split(pretty, '\n')) context.out << text::escaped(line) << '\n';
    return;
  }
  if (!plain.empty()) context.out << method << ':' << text::escaped(plain) << '\n';
  for (const json::array* list : lists) print_list(context, output, *list);
}

// What the command line and the config file say of the plugin; who is told of what it does comes later.
Result<plugin::StandaloneSpec> spec_of(const Context& context, const Parsed& parsed,
                                       const plugin::Candidate& found) {
  plugin::StandaloneSpec spec;
  spec.library = std::filesystem::absolute(found.library);
  spec.manifest = *found.manifest;
  std::string config;
  if (parsed.has("config")) {
    SLIPWAY_TRY(config, fs::read_file(std::string(parsed.value("config")), kMaxConfig));
  }
  auto read = plugin::read_plugin_config(config, spec.manifest,
                                         [&](const std::string& name) { return context.value_of(name); });
  if (!read)
    return std::move(read).error().within(parsed.has("config") ? parsed.value("config") : "settings");
  spec.config = *std::move(read);
  spec.in_process = parsed.has("in-process");
  if (!spec.in_process) {
    SLIPWAY_TRY(spec.host_program, plugin::find_plugin_host());
  }
  return spec;
}

// All of an error that the core would go by.
void report_refusal(Context& context, const Error& error) {
  report(context, error);
  context.err << "  code " << boost::describe::enum_to_string(error.code, "?") << ", scope "
              << boost::describe::enum_to_string(error.scope, "?") << ", outcome "
              << boost::describe::enum_to_string(error.outcome, "?");
  if (error.retry_after_ms) context.err << ", retry after " << *error.retry_after_ms << " ms";
  if (error.quota) {
    context.err << ", quota " << text::escaped(error.quota->resource) << ' ' << error.quota->used << '/'
                << error.quota->limit;
  }
  context.err << '\n';
}

}  // namespace

Result<ExitCode> plugin_call(Context& context, const Parsed& parsed) {
  const std::string path(parsed.argument("FILE"));
  const plugin::Candidate found = plugin::examine(path, plugin::PluginSource::development);
  if (found.problem) return *found.problem;
  SLIPWAY_TRY(const std::string method, method_named(*found.manifest, parsed.argument("METHOD")));
  SLIPWAY_TRY(plugin::StandaloneSpec spec, spec_of(context, parsed, found));
  std::string body(parsed.value("body"));
  if (body.starts_with('@')) {
    SLIPWAY_TRY(body, fs::read_file(body.substr(1), kMaxBody));
  }
  context.err << "note: " << path
              << " is run at your own risk: nothing about its owner or signature was checked"
              << (spec.in_process ? ", and it runs in this process" : "") << '\n';
  std::mutex err_mutex;  // guards context.err while the plugin lives: traces and log lines come on any thread
  const auto say = [&](const std::string& line) {
    const std::lock_guard lock(err_mutex);
    context.err << line << '\n';
  };
  if (parsed.has("trace")) spec.trace = [&](const plugin::HttpTrace& trace) { say(trace_text(trace)); };
  spec.log = [&](const LogNote& note) { say("  log: " + text::escaped(note.text)); };
  SLIPWAY_TRY(auto standalone, plugin::Standalone::open(std::move(spec)));
  const auto timeout = static_cast<std::int64_t>(std::min(parsed.number("timeout"), kMaxTimeoutSeconds));
  SystemClock clock;
  const std::int64_t began = clock.monotonic_ns();
  const auto reply = standalone->call(method, body, std::chrono::seconds(timeout));
  const std::int64_t took_ms = (clock.monotonic_ns() - began) / 1'000'000;
  const unsigned requests = standalone->requests();
  const std::string place = standalone->place();
  standalone.reset();
  if (!reply) {
    report_refusal(context, reply.error());
    return ExitCode::failed;
  }
  json::error_code ec;
  const json::value value = json::parse(*reply, ec);
  if (ec) return fail(Code::internal, "the plugin's reply is not JSON: {}", detail::excerpt(*reply));
  print_reply(context, output_of(parsed, context), method, value);
  context.err << "  " << requests << (requests == 1 ? " request, " : " requests, ") << took_ms << " ms, "
              << place << '\n';
  return ExitCode::ok;
}

}  // namespace slipway::cli
