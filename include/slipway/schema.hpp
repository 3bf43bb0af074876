// SPDX-License-Identifier: Apache-2.0
// schema.hpp - JSON Schema (a subset of 2020-12) of a described struct, as codec.hpp reads and writes it, and
// what an edit of a struct would break. The schemas of all messages are kept as files, so that an
// incompatible edit is seen. Thread rule: free functions without state.
#pragma once

#include <slipway/codec.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {
namespace detail {

// A type's own name, without namespaces: what $defs is keyed by. Read off the compiler's name of this
// function.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  const std::size_t colons = text.rfind("::");
  return colons == std::string_view::npos ? text : text.substr(colons + 2);
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

// The schema of T; structs go into `defs` once and are referred to.
template <class T>
json::object schema_in(json::object& defs) {
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
    return schema_in<typename T::value_type>(defs);
  } else if constexpr (is_vector<T> || std::is_same_v<T, std::set<std::string>>) {
    return {{"type", "array"}, {"items", schema_in<typename T::value_type>(defs)}};
  } else if constexpr (is_string_map<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_in<typename T::mapped_type>(defs)}};
  } else if constexpr (std::is_enum_v<T>) {
    return enum_schema<T>();
  } else {
    const std::string_view name = type_name<T>();
    json::object reference{{"$ref", message("#/$defs/{}", name)}};
    if (defs.contains(name)) return reference;
    defs[name] = json::object();  // a struct may hold itself
    const json::object defaults = write(T{}, EncodeOptions{}).as_object();
    json::object properties;
    json::array required;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
      using Field = std::remove_cvref_t<decltype(std::declval<T&>().*member.pointer)>;
      json::object property = schema_in<Field>(defs);
      const json::value* value = defaults.if_contains(member.name);
      if (value != nullptr && !is_required<T>(member.name) && !property.contains("$ref"))
        property["default"] = *value;
      properties[member.name] = std::move(property);
      if (is_required<T>(member.name)) required.emplace_back(member.name);
    });
    json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    defs[name] = std::move(schema);
    return reference;
  }
}

inline void pretty(std::string& out, const json::value& v, std::size_t depth) {
  const auto line = [&](std::size_t level) { out.append("\n").append(2 * level, ' '); };
  if (const auto* object = v.if_object(); object != nullptr && !object->empty()) {
    out += '{';
    for (auto it = object->begin(); it != object->end(); ++it) {
      if (it != object->begin()) out += ',';
      line(depth + 1);
      out.append(json::serialize(json::value(it->key()))).append(": ");
      pretty(out, it->value(), depth + 1);
    }
    line(depth);
    out += '}';
  } else {
    out += json::serialize(v);  // arrays are lists of names: one line each
  }
}

// Walks an old and a new schema side by side and notes what a peer that knows only the old one would stumble
// over.
class SchemaComparison {
 public:
  SchemaComparison(const json::object& old_root, const json::object& new_root)
      : old_root_(old_root), new_root_(new_root) {}

  std::vector<std::string> run() {
    compare(old_root_, new_root_, "");
    return std::move(found_);
  }

 private:
  void note(const std::string& at, std::string_view what, std::string_view instead) {
    found_.push_back(message("{}: {}; compatible: {}",
                             at.empty() ? std::string_view("document") : std::string_view(at), what,
                             instead));
  }

  static const json::object& resolved(const json::object& schema, const json::object& root) {
    const auto* reference = schema.if_contains("$ref");
    if (reference == nullptr) return schema;
    const std::string_view path = reference->as_string();
    return root.at("$defs").as_object().at(path.substr(path.rfind('/') + 1)).as_object();
  }

  static std::string text_of(const json::object& schema, std::string_view key) {
    const auto* value = schema.if_contains(key);
    return value == nullptr ? "nothing" : json::serialize(*value);
  }

  static std::vector<std::string> list_of(const json::object& schema, std::string_view key) {
    std::vector<std::string> names;
    if (const auto* value = schema.if_contains(key)) {
      for (const auto& name : value->as_array()) names.emplace_back(name.as_string());
    }
    return names;
  }

  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void compare(const json::object& old_given, const json::object& new_given, const std::string& at) {
    const json::object& old_schema = resolved(old_given, old_root_);
    const json::object& new_schema = resolved(new_given, new_root_);
    const std::pair pair(&old_schema, &new_schema);
    if (std::find(seen_.begin(), seen_.end(), pair) != seen_.end()) return;
    seen_.push_back(pair);
    for (const std::string_view kind : {"type", "format", "contentEncoding"}) {
      if (text_of(old_schema, kind) == text_of(new_schema, kind)) continue;
      note(at, message("its {} was {} and is {}", kind, text_of(old_schema, kind), text_of(new_schema, kind)),
           "a new member, or a new revision of the method");
      return;
    }
    for (const std::string_view bound : {"minimum", "maximum"}) {
      if (text_of(old_schema, bound) == text_of(new_schema, bound)) continue;
      note(at,
           message("its {} was {} and is {}", bound, text_of(old_schema, bound), text_of(new_schema, bound)),
           "a new member of the other width");
    }
    compare_enums(old_schema, new_schema, at);
    compare_properties(old_schema, new_schema, at);
    for (const std::string_view inner : {"items", "additionalProperties"}) {
      const auto* old_inner = old_schema.if_contains(inner);
      const auto* new_inner = new_schema.if_contains(inner);
      if (old_inner != nullptr && new_inner != nullptr)
        compare(old_inner->as_object(), new_inner->as_object(), at + "[]");
    }
  }

  void compare_enums(const json::object& old_schema, const json::object& new_schema, const std::string& at) {
    const auto old_names = list_of(old_schema, "enum");
    const auto new_names = list_of(new_schema, "enum");
    for (const auto& name : old_names) {
      if (!has(new_names, name))
        note(at, message("the enumerator {} is gone", name), "keep it, even if nothing gives it any more");
    }
    for (const auto& name : new_names) {
      if (!has(old_names, name) && !has(old_names, "unknown")) {
        note(at,
             message("the enumerator {} is new, and an older reader has no \"unknown\" to read it as", name),
             "a new revision of the method");
      }
    }
  }

  void compare_properties(const json::object& old_schema, const json::object& new_schema,
                          const std::string& at) {
    const auto* old_properties = old_schema.if_contains("properties");
    const auto* new_properties = new_schema.if_contains("properties");
    if (old_properties == nullptr || new_properties == nullptr) return;
    const auto old_required = list_of(old_schema, "required");
    for (const auto& [name, old_property] : old_properties->as_object()) {
      const std::string place = at.empty() ? std::string(name) : at + "." + std::string(name);
      const auto* new_property = new_properties->as_object().if_contains(name);
      if (new_property == nullptr) {
        note(place, "it is gone", "keep it and say in its comment that it is not used");
        continue;
      }
      compare(old_property.as_object(), new_property->as_object(), place);
    }
    for (const auto& name : list_of(new_schema, "required")) {
      if (!has(old_required, name)) {
        note(at.empty() ? name : at + "." + name, "it is required now",
             "a default that means what its absence meant");
      }
    }
    const auto new_required = list_of(new_schema, "required");
    for (const auto& name : old_required) {
      if (new_properties->as_object().contains(name) && !has(new_required, name)) {
        note(at.empty() ? name : at + "." + name, "it is no longer required, and an older reader demands it",
             "leave it required");
      }
    }
  }

  const json::object& old_root_;
  const json::object& new_root_;
  std::vector<std::string> found_;
  std::vector<std::pair<const json::object*, const json::object*>> seen_;
};

}  // namespace detail

// The schema of a described struct: members in their order, structs under $defs by their own names.
template <class T>
[[nodiscard]] json::object schema_of() {
  json::object defs;
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  for (auto& [key, value] : detail::schema_in<T>(defs)) schema.emplace(key, value);
  if (!defs.empty()) schema["$defs"] = std::move(defs);
  return schema;
}

// As it is kept in a file: stable, two spaces a level, a line end at the end.
[[nodiscard]] inline std::string schema_text(const json::object& schema) {
  std::string out;
  detail::pretty(out, schema, 0);
  return out + "\n";
}

// What in `new_schema` a peer that was built against `old_schema` cannot live with, as sender or as receiver,
// each with what a compatible edit would be. Empty: the edit only grows. Both must come from schema_of().
[[nodiscard]] inline std::vector<std::string> incompatibilities(const json::object& old_schema,
                                                                const json::object& new_schema) {
  return detail::SchemaComparison(old_schema, new_schema).run();
}

}  // namespace slipway
