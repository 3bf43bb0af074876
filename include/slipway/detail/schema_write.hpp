// SPDX-License-Identifier: Apache-2.0
// schema_write.hpp - the JSON Schema of a described type, and a schema as text, for schema.hpp. Thread rule:
// an object is of one thread.
#pragma once

#include <slipway/detail/json_write.hpp>

#include <cctype>
#include <limits>

namespace slipway::detail {

// A type as the compiler spells it, namespaces included: "slipway::Address". Read off this function's own
// name.
template <class T>
constexpr std::string_view full_type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  return text.substr(0, text.find_first_of(";]"));
}

// Fit for $defs and a reference to it: what is no letter or digit becomes "_".
inline std::string definition_name(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return out;
}

// Of a template the arguments belong to the name, and their namespaces do not part it.
constexpr std::string_view unqualified(std::string_view name) {
  const std::size_t colons = name.substr(0, name.find('<')).rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

// 64 bits do not fit into every reader's numbers, so they may also travel as text; "format" says their
// bounds.
template <class T>
json::object integer_schema() {
  if constexpr (sizeof(T) == 8) {
    return {{"type", json::array{"integer", "string"}}, {"format", std::is_signed_v<T> ? "int64" : "uint64"}};
  } else {
    return {{"type", "integer"},
            {"minimum", std::numeric_limits<T>::min()},
            {"maximum", std::numeric_limits<T>::max()}};
  }
}

template <class E>
json::object enum_schema() {
  json::array names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
      [&](auto enumerator) { names.emplace_back(wire_name(enumerator.name)); });
  return {{"type", "string"}, {"enum", std::move(names)}};
}

// Makes one schema; structs go into its definitions once and are referred to.
class SchemaWriter {
 public:
  template <class T>
  json::object schema() {
    if constexpr (std::is_same_v<T, json::value>) {
      return {};
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return integer_schema<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_same_v<T, Bytes>) {
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    } else if constexpr (std::is_same_v<T, std::string> || IdType<T>) {
      return {{"type", "string"}};
    } else if constexpr (is_optional<T>) {
      return schema<typename T::value_type>();
    } else if constexpr (is_vector<T> || is_string_set<T>) {
      return {{"type", "array"}, {"items", schema<typename T::value_type>()}};
    } else if constexpr (is_string_map<T>) {
      return {{"type", "object"}, {"additionalProperties", schema<typename T::mapped_type>()}};
    } else if constexpr (std::is_enum_v<T>) {
      return enum_schema<T>();
    } else {
      return {{"$ref", "#/$defs/" + defined<T>()}};
    }
  }

  // By name, so that the order in which structs were met does not show.
  [[nodiscard]] json::object definitions() && {
    json::object out;
    for (auto& [name, definition] : definitions_) out.emplace(name, std::move(definition.schema));
    return out;
  }

 private:
  struct Definition {
    std::string_view type;  // its full name
    json::object schema;
  };

  // The name of T's definition, which is made when it is not there. Of two structs of one name the one that
  // is met second has its namespaces in it.
  template <class T>
  std::string defined() {
    constexpr std::string_view kType = full_type_name<T>();
    std::string name = definition_name(unqualified(kType));
    const auto same = definitions_.find(name);
    if (same != definitions_.end() && same->second.type != kType) name = definition_name(kType);
    const bool is_new = definitions_.emplace(name, Definition{kType, {}}).second;  // first: T may hold itself
    if (is_new) {
      json::object made = struct_schema<T>();
      definitions_.at(name).schema = std::move(made);
    }
    return name;
  }

  template <class T>
  json::object struct_schema() {
    const T defaults{};
    json::object properties;
    std::set<std::string> required_names;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
      constexpr bool required = is_required<T>(decltype(member)::name);
      const auto& field = defaults.*member.pointer;
      json::object property = schema<std::remove_cvref_t<decltype(field)>>();
      if constexpr (required) {
        required_names.emplace(member.name);
      } else {
        json::value value = Writer(true, {}).write(field);  // of a struct: what differs from its own defaults
        if (!is_empty(value)) property["default"] = std::move(value);
      }
      properties[member.name] = std::move(property);
    });
    json::object out{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required_names.empty()) out["required"] = json::array(required_names.begin(), required_names.end());
    return out;
  }

  static bool is_empty(const json::value& v) {
    return v.is_null() || (v.is_string() && v.get_string().empty()) ||
           (v.is_array() && v.get_array().empty()) || (v.is_object() && v.get_object().empty());
  }

  std::map<std::string, Definition> definitions_;
};

inline void append_pretty(std::string& out, const json::value& v, std::size_t depth) {
  const auto line = [&](std::size_t level) { out.append("\n").append(2 * level, ' '); };
  if (const auto* object = v.if_object(); object != nullptr && !object->empty()) {
    out += '{';
    for (auto it = object->begin(); it != object->end(); ++it) {
      if (it != object->begin()) out += ',';
      line(depth + 1);
      out.append(json::serialize(json::value(it->key()))).append(": ");
      append_pretty(out, it->value(), depth + 1);
    }
    line(depth);
    out += '}';
  } else {
    out += json::serialize(v);  // arrays are lists of names: one line each
  }
}

}  // namespace slipway::detail
