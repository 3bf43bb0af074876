// SPDX-License-Identifier: Apache-2.0
// settings.hpp - the one list of a plugin's settings: Schema<Config> reads what an operator set, with all
// mistakes in one error, and describes it for plugin.json, from which the command makes help and checks.
//   static Schema<Config> schema() {
//     return {field("region", &Config::region).required().doc("region name").example("eu-1"),
//             secret("token", &Config::token).required().env("NIMBUS_TOKEN")};
//   }
// Thread rule: immutable once made.
#pragma once

#include <slipway/detail/setting_value.hpp>
#include <slipway/messages/host.hpp>
#include <slipway/messages/manifest.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace slipway {

template <class Config>
class Schema;

// One setting, under construction by field() or secret().
template <class Config, class T>
class Setting {
 public:
  Setting(std::string name, T Config::*member, SettingType type) : member_(member) {
    info_.name = std::move(name);
    info_.type = type;
    info_.secret = std::is_same_v<T, SecretRef>;
  }

  // Must be given, and not as an empty text.
  Setting&& required() && { return std::move(*this).set(&SettingInfo::required, true); }
  // Cannot be changed once the environment exists.
  Setting&& immutable() && { return std::move(*this).set(&SettingInfo::immutable, true); }
  Setting&& doc(std::string text) && { return std::move(*this).set(&SettingInfo::doc, std::move(text)); }
  Setting&& example(std::string text) && {
    return std::move(*this).set(&SettingInfo::example, std::move(text));
  }
  // The environment variable that the command takes it from.
  Setting&& env(std::string name) && { return std::move(*this).set(&SettingInfo::env, std::move(name)); }
  // Nothing else is taken; of a list each element.
  Setting&& choices(std::vector<std::string> values) && {
    static_assert(
        detail::kSettingType<T> == SettingType::text || detail::kSettingType<T> == SettingType::list,
        "choices() is for settings that are a text or a list of texts");
    return std::move(*this).set(&SettingInfo::choices, std::move(values));
  }
  // Bounds, both taken.
  Setting&& min(std::int64_t value) && {
    check_is_number();
    return std::move(*this).set(&SettingInfo::min, std::optional(value));
  }
  Setting&& max(std::int64_t value) && {
    check_is_number();
    return std::move(*this).set(&SettingInfo::max, std::optional(value));
  }

 private:
  friend class Schema<Config>;

  static constexpr void check_is_number() {
    static_assert(
        detail::kSettingType<T> == SettingType::integer || detail::kSettingType<T> == SettingType::number,
        "min() and max() are for settings that are a number");
  }
  template <class V>
  Setting&& set(V SettingInfo::*what, V value) && {
    info_.*what = std::move(value);
    return std::move(*this);
  }

  T Config::*member_;
  SettingInfo info_;
};

template <class Config, class T>
[[nodiscard]] Setting<Config, T> field(std::string name, T Config::*member) {
  static_assert(!std::is_same_v<T, SecretRef>, "a SecretRef is listed by secret(), not by field()");
  static_assert(detail::kSettingType<T> != SettingType::unknown,
                "a setting is a std::string, an integer, a bool, a double, a std::vector<std::string>, a "
                "std::map<std::string, std::string>, or an optional of one of these");
  return Setting<Config, T>(std::move(name), member, detail::kSettingType<T>);
}

// The name of a secret: a plugin gets no secret's value, the host puts it where a request wants it.
template <class Config, class T>
[[nodiscard]] Setting<Config, T> secret(std::string name, T Config::*member) {
  static_assert(std::is_same_v<T, SecretRef>, "secret() is for members of the type slipway::SecretRef");
  return Setting<Config, T>(std::move(name), member, SettingType::text);
}

template <class Config>
class Schema {
 public:
  // A setting whose type only its two functions know.
  class Entry {
   public:
    template <class T>
    Entry(Setting<Config, T> setting)  // NOLINT(google-explicit-constructor): for the list in braces
        : info_(std::move(setting.info_)),
          read_([member = setting.member_](const SettingInfo& info, const json::value& value, Config& config,
                                           std::vector<std::string>& problems) {
            detail::read_setting(info, value, config.*member, problems);
          }) {
      info_.default_value = detail::default_of(info_, Config{}.*setting.member_);
    }

   private:
    friend class Schema;
    SettingInfo info_;
    std::function<void(const SettingInfo&, const json::value&, Config&, std::vector<std::string>&)> read_;
  };

  Schema() = default;
  Schema(std::initializer_list<Entry> entries) : entries_(entries) {}

  [[nodiscard]] std::vector<SettingInfo> infos() const {
    std::vector<SettingInfo> infos;
    infos.reserve(entries_.size());
    for (const Entry& entry : entries_) infos.push_back(entry.info_);
    return infos;
  }

  // invalid, with every problem by the setting's name: "region: is required; count: expected an unsigned
  // integer, got a string". Settings that are not listed are refused with what was probably meant.
  [[nodiscard]] Result<Config> read(const json::value& settings) const {
    const json::object none;
    const auto* object = settings.is_null() ? &none : settings.if_object();
    if (object == nullptr) {
      return fail(Code::invalid, "settings: expected an object, got {}", detail::kind_name(settings));
    }
    Config config;
    std::vector<std::string> problems;
    for (const Entry& entry : entries_) {
      const json::value* value = object->if_contains(entry.info_.name);
      if (detail::is_unset(value)) {
        if (entry.info_.required) problems.push_back(detail::is_required_text(entry.info_));
      } else {
        entry.read_(entry.info_, *value, config, problems);
      }
    }
    detail::refuse_unknown_settings(*object, infos(), problems);
    if (problems.empty()) return config;
    return fail(Code::invalid, "{}", detail::join(problems, "; ")).rejected();
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace slipway
