// SPDX-License-Identifier: Apache-2.0
#include "plugin/manifest_rules.hpp"

#include "base/text.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <set>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxSettings = 128;
constexpr std::size_t kMaxMethods = 256;
constexpr std::size_t kMaxListed = 256;  // choices, and what may be imported
constexpr std::int64_t kMaxLagMs = 3'600'000;
constexpr std::uint32_t kMaxNameBytes = 1024;
constexpr std::uint32_t kMaxUserDataBytes = 16U << 20U;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A first character and then any number of the others, at most `max` in all.
template <class First, class Rest>
bool has_form(std::string_view text, std::size_t max, First first, Rest rest) {
  return !text.empty() && text.size() <= max && first(text.front()) &&
         std::all_of(text.begin() + 1, text.end(), rest);
}

bool is_snake_case(std::string_view text) {
  return has_form(text, 63, is_lower, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_variable(std::string_view text) {
  return has_form(text, 127, is_upper, [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 && std::all_of(text.begin(), text.end(), is_digit) &&
         (text.size() == 1 || text.front() != '0');
}

bool is_version(std::string_view text) {
  const auto parts = text::split(text, '.');
  return parts.size() == 3 && std::all_of(parts.begin(), parts.end(), is_number);
}

bool is_method(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::size_t slash = text.find('/');
  if (dot == std::string_view::npos || slash == std::string_view::npos || slash < dot) return false;
  const std::string_view revision = text.substr(slash + 1);
  return is_snake_case(text.substr(0, dot)) && is_snake_case(text.substr(dot + 1, slash - dot - 1)) &&
         is_number(revision) && revision != "0";
}

// One line of text, without what could make a terminal show something else, in all members and keys.
Status check_plain(const json::value& value, const std::string& place) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      const std::string_view key(member.key().data(), member.key().size());
      if (!text::is_plain(key)) {
        return fail(Code::invalid, "{}: a member's name has control characters: {}", place,
                    text::escaped(key));
      }
      SLIPWAY_TRY(
          check_plain(member.value(), place.empty() ? std::string(key) : message("{}.{}", place, key)));
    }
  } else if (const auto* array = value.if_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      SLIPWAY_TRY(check_plain((*array)[i], message("{}[{}]", place, i)));
    }
  } else if (const auto* string = value.if_string()) {
    const std::string_view text(string->data(), string->size());
    if (!text::is_plain(text)) {
      return fail(Code::invalid, "{}: expected one line without control or bidirectional characters, got {}",
                  place, text::escaped(text.substr(0, 64)));
    }
  }
  return ok();
}

template <class T>
Status check_range(std::string_view place, T value, T min, T max) {
  if (value >= min && value <= max) return ok();
  return fail(Code::invalid, "{}: expected {} to {}, got {}", place, min, max, value);
}

Status check_identity(const Manifest& manifest) {
  if (!is_plugin_name(manifest.name)) {
    return fail(Code::invalid, "name: expected [a-z][a-z0-9-]{{0,31}}, got \"{}\"", manifest.name);
  }
  if (!is_version(manifest.version)) {
    return fail(Code::invalid, "version: expected MAJOR.MINOR.PATCH, got \"{}\"", manifest.version);
  }
  if (!manifest.sdk.empty() && !is_version(manifest.sdk)) {
    return fail(Code::invalid, "sdk: expected MAJOR.MINOR.PATCH, got \"{}\"", manifest.sdk);
  }
  if (!manifest.url.empty() && !manifest.url.starts_with("https://") &&
      !manifest.url.starts_with("http://")) {
    return fail(Code::invalid, "url: expected https://..., got \"{}\"", manifest.url);
  }
  if (manifest.kinds.empty())
    return fail(Code::invalid, "kinds: expected at least one of provider, network, storage");
  std::set<Kind> seen;
  for (std::size_t i = 0; i < manifest.kinds.size(); ++i) {
    if (manifest.kinds[i] == Kind::unknown) {
      return fail(Code::invalid, "kinds[{}]: expected provider, network or storage", i);
    }
    if (!seen.insert(manifest.kinds[i]).second) {
      return fail(Code::invalid, "kinds[{}]: {} stands twice", i, manifest.kinds[i]);
    }
  }
  if (manifest.profile == Profile::unknown)
    return fail(Code::invalid, "profile: expected pure, net or system");
  if (manifest.abi_major == 0) return fail(Code::invalid, "abi_major: expected at least 1");
  return ok();
}

Status check_methods(const std::vector<std::string>& methods) {
  if (methods.empty() || methods.size() > kMaxMethods) {
    return fail(Code::invalid, "methods: expected 1 to {}, got {}", kMaxMethods, methods.size());
  }
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (!is_method(methods[i])) {
      return fail(Code::invalid, "methods[{}]: expected group.method/revision, got \"{}\"", i, methods[i]);
    }
    if (i > 0 && methods[i] == methods[i - 1]) {
      return fail(Code::invalid, "methods[{}]: {} stands twice", i, methods[i]);
    }
    if (i > 0 && methods[i] < methods[i - 1]) {
      return fail(Code::invalid, "methods[{}]: expected them sorted, {} stands behind {}", i, methods[i],
                  methods[i - 1]);
    }
  }
  return ok();
}

Status check_limits(const Manifest& manifest) {
  SLIPWAY_TRY(check_range<std::int64_t>("visibility_lag_ms", manifest.visibility_lag_ms, 0, kMaxLagMs));
  SLIPWAY_TRY(check_range<std::int64_t>("late_accept_ms", manifest.late_accept_ms, 0, kMaxLagMs));
  if (manifest.marker.place == MarkerPlace::unknown) {
    return fail(Code::invalid, "marker.place: expected labels, tags, metadata or name");
  }
  SLIPWAY_TRY(check_range("marker.max_entries", manifest.marker.max_entries, 1U, 256U));
  SLIPWAY_TRY(check_range("marker.max_value_bytes", manifest.marker.max_value_bytes, 1U, 65'536U));
  SLIPWAY_TRY(check_range("max_name_bytes", manifest.max_name_bytes, 1U, kMaxNameBytes));
  SLIPWAY_TRY(check_range("max_user_data_bytes", manifest.max_user_data_bytes, 0U, kMaxUserDataBytes));
  return check_range("max_concurrency", manifest.max_concurrency, 1U, 256U);
}

bool has_type(const json::value& value, SettingType type) {
  switch (type) {
    case SettingType::text:
      return value.is_string();
    case SettingType::integer:
      return value.is_int64() || value.is_uint64();
    case SettingType::number:
      return value.is_number();
    case SettingType::boolean:
      return value.is_bool();
    case SettingType::list:
      return value.is_array();
    case SettingType::map:
      return value.is_object();
    case SettingType::unknown:
      break;
  }
  return false;
}

Status check_default(const SettingInfo& setting, const std::string& place) {
  const json::value& value = setting.default_value;
  if (value.is_null()) return ok();
  if (setting.secret) return fail(Code::invalid, "{}.default_value: a secret has none", place);
  if (setting.required) return fail(Code::invalid, "{}.default_value: what is required has none", place);
  if (!has_type(value, setting.type)) {
    return fail(Code::invalid, "{}.default_value: expected a value of type {}, got {}", place, setting.type,
                detail::kind_name(value));
  }
  if (!setting.choices.empty() && value.is_string()) {
    const std::string_view chosen(value.get_string().data(), value.get_string().size());
    if (std::find(setting.choices.begin(), setting.choices.end(), chosen) == setting.choices.end()) {
      return fail(Code::invalid, "{}.default_value: \"{}\" is none of the choices", place, chosen);
    }
  }
  if (value.is_int64()) {
    const std::int64_t number = value.get_int64();
    if ((setting.min && number < *setting.min) || (setting.max && number > *setting.max)) {
      return fail(Code::invalid, "{}.default_value: {} is not between min and max", place, number);
    }
  }
  return ok();
}

Status check_setting(const SettingInfo& setting, const std::string& place) {
  if (!is_snake_case(setting.name)) {
    return fail(Code::invalid, "{}.name: expected snake_case, [a-z][a-z0-9_]*, got \"{}\"", place,
                setting.name);
  }
  if (setting.type == SettingType::unknown) {
    return fail(Code::invalid, "{}.type: expected text, integer, number, boolean, list or map", place);
  }
  if (setting.secret && setting.type != SettingType::text) {
    return fail(Code::invalid, "{}.secret: only a setting of type text can be secret", place);
  }
  if (!setting.env.empty() && !is_variable(setting.env)) {
    return fail(Code::invalid, "{}.env: expected the name of an environment variable, got \"{}\"", place,
                setting.env);
  }
  if (setting.choices.size() > kMaxListed ||
      (!setting.choices.empty() && setting.type != SettingType::text)) {
    return fail(Code::invalid, "{}.choices: expected at most {}, and only of type text", place, kMaxListed);
  }
  const bool is_numeric = setting.type == SettingType::integer || setting.type == SettingType::number;
  if ((setting.min || setting.max) && !is_numeric) {
    return fail(Code::invalid, "{}.{}: only a number has bounds", place, setting.min ? "min" : "max");
  }
  if (setting.min && setting.max && *setting.min > *setting.max) {
    return fail(Code::invalid, "{}.min: {} is above max, {}", place, *setting.min, *setting.max);
  }
  return check_default(setting, place);
}

Status check_settings(const std::vector<SettingInfo>& settings) {
  if (settings.size() > kMaxSettings) {
    return fail(Code::invalid, "settings: expected at most {}, got {}", kMaxSettings, settings.size());
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    SLIPWAY_TRY(check_setting(settings[i], message("settings[{}]", i)));
    if (!seen.insert(settings[i].name).second) {
      return fail(Code::invalid, "settings[{}].name: {} stands twice", i, settings[i].name);
    }
  }
  return ok();
}

// What the command reads for the plugin: whole names only, so that a person sees what it will be given.
Status check_import(const ImportSources& import) {
  if (import.files.size() + import.variables.size() + import.arguments.size() > kMaxListed) {
    return fail(Code::invalid, "import: expected at most {} sources", kMaxListed);
  }
  for (std::size_t i = 0; i < import.files.size(); ++i) {
    const auto parts = text::split(import.files[i], '/');
    const bool is_rooted = import.files[i].starts_with("~/") || import.files[i].starts_with('/');
    if (!is_rooted || std::find(parts.begin(), parts.end(), "..") != parts.end()) {
      return fail(Code::invalid, "import.files[{}]: expected a path from / or ~/ without .., got \"{}\"", i,
                  import.files[i]);
    }
  }
  for (std::size_t i = 0; i < import.variables.size(); ++i) {
    std::string_view name = import.variables[i];
    if (name.ends_with('*')) name.remove_suffix(1);
    if (!is_variable(name)) {
      return fail(Code::invalid, "import.variables[{}]: expected NAME or PREFIX_*, got \"{}\"", i,
                  import.variables[i]);
    }
  }
  for (std::size_t i = 0; i < import.arguments.size(); ++i) {
    if (!is_plugin_name(import.arguments[i])) {
      return fail(Code::invalid, "import.arguments[{}]: expected [a-z][a-z0-9-]*, got \"{}\"", i,
                  import.arguments[i]);
    }
  }
  return ok();
}

// "nimbus" of "build/nimbus.so".
std::string_view stem_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.ends_with(".so")) name.remove_suffix(3);
  return name;
}

}  // namespace

bool is_plugin_name(std::string_view name) {
  return has_form(name, 32, is_lower, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

Result<Manifest> read_manifest(std::string_view text) {
  SLIPWAY_TRY(auto manifest, decode<Manifest>(text, {.max_bytes = kManifestMaxBytes}));
  SLIPWAY_TRY(check_manifest(manifest));
  return manifest;
}

Status check_manifest(const Manifest& manifest) {
  SLIPWAY_TRY(check_plain(to_json(manifest), {}));
  SLIPWAY_TRY(check_identity(manifest));
  SLIPWAY_TRY(check_methods(manifest.methods));
  SLIPWAY_TRY(check_limits(manifest));
  SLIPWAY_TRY(check_settings(manifest.settings));
  return check_import(manifest.import);
}

Status agree(const Manifest& manifest, const ElfFacts& elf, std::string_view library_path) {
  if (stem_of(library_path) != manifest.name) {
    return fail(Code::invalid, "{}: plugin.json says that the plugin's name is {}, so expected {}.so",
                library_path, manifest.name, manifest.name);
  }
  if (!elf.note) return ok();
  if (elf.note->abi_major != manifest.abi_major || elf.note->abi_minor != manifest.abi_minor) {
    return fail(Code::invalid,
                "{}: it was built for ABI {}.{}, but plugin.json says {}.{}; they are of different builds",
                library_path, elf.note->abi_major, elf.note->abi_minor, manifest.abi_major,
                manifest.abi_minor);
  }
  if (!manifest.sdk.empty() && elf.sdk_version() != manifest.sdk) {
    return fail(Code::invalid,
                "{}: it was built with SDK {}, but plugin.json says {}; they are of different builds",
                library_path, elf.sdk_version(), manifest.sdk);
  }
  return ok();
}

Status check_abi(const slipway_note& note, std::string_view path, const AbiRange& host) {
  if (note.abi_major >= host.min_major && note.abi_major <= host.max_major) return ok();
  const std::string spoken = host.min_major == host.max_major
                                 ? message("ABI {}", host.max_major)
                                 : message("ABI {} to {}", host.min_major, host.max_major);
  const bool is_newer = note.abi_major > host.max_major;
  const std::string to_do =
      is_newer ? message("install a Slipway that speaks ABI {}, or a build of the plugin for ABI {}",
                         note.abi_major, host.max_major)
               : message("rebuild the plugin with an SDK of ABI {}", host.max_major);
  return fail(Code::unsupported, "{}: it was built for ABI {}.{}, this host speaks {}; {}", path,
              note.abi_major, note.abi_minor, spoken, to_do);
}

std::vector<std::string> method_groups(const Manifest& manifest) {
  std::set<std::string> groups;
  for (const std::string& method : manifest.methods) groups.insert(method.substr(0, method.find('.')));
  return {groups.begin(), groups.end()};
}

}  // namespace slipway::plugin
