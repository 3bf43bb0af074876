// SPDX-License-Identifier: Apache-2.0
// setting_value.hpp - one setting's value: from JSON or from an operator's text to its member, for
// settings.hpp. Thread rule: pure.
#pragma once

#include <slipway/codec.hpp>
#include <slipway/messages/host.hpp>
#include <slipway/messages/manifest.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::detail {

template <class T>
constexpr SettingType setting_type() {
  if constexpr (is_optional<T>) {
    return setting_type<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, SecretRef>) {
    return SettingType::text;
  } else if constexpr (std::is_same_v<T, bool>) {
    return SettingType::boolean;
  } else if constexpr (std::is_integral_v<T>) {
    return sizeof(T) > 1 ? SettingType::integer : SettingType::unknown;  // a char is no number
  } else if constexpr (std::is_floating_point_v<T>) {
    return SettingType::number;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return SettingType::list;
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    return SettingType::map;
  } else {
    return SettingType::unknown;
  }
}
template <class T>
inline constexpr SettingType kSettingType = setting_type<T>();

inline std::string join(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) out.append(out.empty() ? "" : between).append(text);
  return out;
}

inline bool is_unset(const json::value* value) {
  if (value == nullptr || value->is_null()) return true;
  const auto* text = value->if_string();
  return text != nullptr && text->empty();
}

inline std::string is_required_text(const SettingInfo& info) {
  if (info.env.empty()) return message("{}: is required", info.name);
  return message("{}: is required (setting {}, or {})", info.name, info.name, info.env);
}

inline void refuse_unknown_settings(const json::object& object, const std::vector<SettingInfo>& infos,
                                    std::vector<std::string>& problems) {
  std::vector<std::string_view> names;
  for (const SettingInfo& info : infos) names.push_back(info.name);
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string_view near = near_name(key, names);
    const std::string hint = near.empty() ? std::string() : message(" (did you mean \"{}\"?)", near);
    problems.push_back(message("{}: unknown setting{}", excerpt(key), hint));
  }
}

// "a,b,c"
inline json::array split_list(std::string_view text) {
  json::array list;
  while (true) {
    const std::size_t comma = text.find(',');
    list.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

// An operator's --set and a file of lines give text for everything: it becomes the JSON that T wants, or
// stays as it is, for the reader to complain about. Integers in text are the reader's own.
template <class T>
json::value typed(const json::value& value) {
  constexpr SettingType kType = kSettingType<T>;
  const auto* string = value.if_string();
  if (string == nullptr || kType == SettingType::text) return value;
  const std::string_view text = *string;
  if constexpr (kType == SettingType::boolean) {
    if (text == "true" || text == "false") return text == "true";
  } else if constexpr (kType == SettingType::number) {
    double number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec == std::errc() && end == text.data() + text.size()) return number;
  } else if constexpr (kType == SettingType::list) {
    return split_list(text);
  } else if constexpr (kType == SettingType::map) {
    json::object object;
    for (const json::value& pair : split_list(text)) {
      const std::string_view entry = pair.get_string();
      const std::size_t sign = entry.find('=');
      if (sign == std::string_view::npos) return value;
      object[entry.substr(0, sign)] = entry.substr(sign + 1);
    }
    return object;
  }
  return value;
}

inline void check_choice(const SettingInfo& info, const std::string& value,
                         std::vector<std::string>& problems) {
  if (info.choices.empty() ||
      std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end())
    return;
  const std::vector<std::string_view> names(info.choices.begin(), info.choices.end());
  const std::string_view near = near_name(value, names);
  const std::string hint = near.empty() ? std::string() : message(" (did you mean \"{}\"?)", near);
  problems.push_back(message("{}: expected one of {}, got \"{}\"{}", info.name, join(info.choices, ", "),
                             excerpt(value), hint));
}

template <class T>
void check_setting(const SettingInfo& info, const T& value, std::vector<std::string>& problems) {
  if constexpr (is_optional<T>) {
    if (value) check_setting(info, *value, problems);
  } else if constexpr (std::is_same_v<T, std::string>) {
    check_choice(info, value, problems);
  } else if constexpr (is_vector<T>) {
    for (const std::string& element : value) check_choice(info, element, problems);
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto is_less = [](auto a, auto b) {
      if constexpr (std::is_integral_v<decltype(a)> && std::is_integral_v<decltype(b)>) {
        return std::cmp_less(a, b);
      } else {
        return static_cast<double>(a) < static_cast<double>(b);
      }
    };
    if (info.min && is_less(value, *info.min)) {
      problems.push_back(message("{}: expected at least {}, got {}", info.name, *info.min, value));
    }
    if (info.max && is_less(*info.max, value)) {
      problems.push_back(message("{}: expected at most {}, got {}", info.name, *info.max, value));
    }
  }
}

// Into `out`, unless something is wrong: then it is added to the problems.
template <class T>
void read_setting(const SettingInfo& info, const json::value& value, T& out,
                  std::vector<std::string>& problems) {
  T read{};
  const Status status = Reader(false).read_member(typed<T>(value), info.name, read);
  if (!status) {
    problems.push_back(status.error().message);
    return;
  }
  const std::size_t before = problems.size();
  check_setting(info, read, problems);
  if (problems.size() == before) out = std::move(read);
}

// For the manifest; null where there is none: a required setting has none, and an empty text says nothing.
template <class T>
json::value default_of(const SettingInfo& info, const T& value) {
  if (info.required) return nullptr;
  if constexpr (is_optional<T>) {
    return value ? default_of(info, *value) : json::value();
  } else {
    json::value out = to_json(value);
    const bool is_empty = (out.is_string() && out.get_string().empty()) ||
                          (out.is_array() && out.get_array().empty()) ||
                          (out.is_object() && out.get_object().empty());
    return is_empty ? json::value() : out;
  }
}

}  // namespace slipway::detail
