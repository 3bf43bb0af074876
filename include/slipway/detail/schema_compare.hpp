// SPDX-License-Identifier: Apache-2.0
// schema_compare.hpp - what an edit of a schema would break, for schema.hpp. A schema does not say whether it
// is a request's or a reply's, so that the stricter of the two counts. Thread rule: an object is of one
// thread.
#pragma once

#include <slipway/detail/described.hpp>

#include <set>
#include <utility>

namespace slipway::detail {

// Walks an old and a new schema side by side and notes what a peer that knows only the old one would stumble
// over. Throws what Boost.JSON throws if one of them is no schema.
class SchemaComparison {
 public:
  SchemaComparison(const json::object& old_root, const json::object& new_root)
      : old_root_(old_root), new_root_(new_root) {}

  std::vector<std::string> run() {
    compare(old_root_, new_root_, "");
    return std::move(found_);
  }

 private:
  using Names = std::vector<std::string>;

  void note(std::string_view at, std::string_view what, std::string_view instead) {
    found_.push_back(
        message("{}: {}; compatible: {}", at.empty() ? std::string_view("document") : at, what, instead));
  }

  static std::string member_place(const std::string& at, std::string_view name) {
    return at.empty() ? std::string(name) : message("{}.{}", at, name);
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

  static Names names_in(const json::object& schema, std::string_view key) {
    Names names;
    if (const auto* value = schema.if_contains(key)) {
      for (const auto& name : value->as_array()) names.emplace_back(name.as_string());
    }
    return names;
  }

  static bool has(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Each pair of structs once, at the first place where they meet: they may hold themselves.
  void compare(const json::object& old_given, const json::object& new_given, const std::string& at) {
    const json::object& old_schema = resolved(old_given, old_root_);
    const json::object& new_schema = resolved(new_given, new_root_);
    if (!seen_.emplace(&old_schema, &new_schema).second) return;
    for (const std::string_view kind : {"type", "format", "contentEncoding"}) {
      const std::string before = text_of(old_schema, kind);
      const std::string after = text_of(new_schema, kind);
      if (before == after) continue;
      note(at, message("its {} was {} and is {}", kind, before, after),
           "a new member, or a new revision of the method");
      return;
    }
    compare_bounds(old_schema, new_schema, at);
    compare_enums(old_schema, new_schema, at);
    compare_properties(old_schema, new_schema, at);
    compare_elements(old_schema, new_schema, at);
  }

  void compare_bounds(const json::object& old_schema, const json::object& new_schema, const std::string& at) {
    for (const std::string_view bound : {"minimum", "maximum"}) {
      const std::string before = text_of(old_schema, bound);
      const std::string after = text_of(new_schema, bound);
      if (before == after) continue;  // a wider one breaks who reads it, a narrower one who writes it
      note(at, message("its {} was {} and is {}", bound, before, after), "a new member of the other width");
    }
  }

  void compare_enums(const json::object& old_schema, const json::object& new_schema, const std::string& at) {
    const Names old_names = names_in(old_schema, "enum");
    const Names new_names = names_in(new_schema, "enum");
    for (const auto& name : old_names) {
      if (has(new_names, name)) continue;
      note(at, message("the enumerator {} is gone", name), "keep it, even if nothing gives it any more");
    }
    if (has(old_names, "unknown")) return;
    for (const auto& name : new_names) {
      if (has(old_names, name)) continue;
      note(at,
           message("the enumerator {} is new, and an older reader has no \"unknown\" to read it as", name),
           "a new member, or a new revision of the method");
    }
  }

  void compare_properties(const json::object& old_schema, const json::object& new_schema,
                          const std::string& at) {
    const auto* old_properties = old_schema.if_contains("properties");
    const auto* new_properties = new_schema.if_contains("properties");
    if (old_properties == nullptr || new_properties == nullptr) return;
    const Names old_required = names_in(old_schema, "required");
    const Names new_required = names_in(new_schema, "required");
    for (const auto& [name, old_property] : old_properties->as_object()) {
      const std::string place = member_place(at, name);
      const auto* new_property = new_properties->as_object().if_contains(name);
      if (new_property == nullptr) {
        note(place, "it is gone", "keep it and say in its comment that it is not used");
        continue;
      }
      const std::size_t before = found_.size();
      compare(old_property.as_object(), new_property->as_object(), place);
      const bool is_optional = !has(old_required, name) && !has(new_required, name);
      if (is_optional && found_.size() == before)
        compare_defaults(old_property.as_object(), new_property->as_object(), place);
      if (has(old_required, name) && !has(new_required, name)) {
        note(place, "it is no longer required, and an older reader demands it", "leave it required");
      }
    }
    for (const auto& name : new_required) {
      if (has(old_required, name)) continue;
      note(member_place(at, name), "it is required now", "a default that means what its absence meant");
    }
  }

  void compare_defaults(const json::object& old_property, const json::object& new_property,
                        const std::string& at) {
    const std::string before = text_of(old_property, "default");
    const std::string after = text_of(new_property, "default");
    if (before == after) return;
    note(at,
         message("its default was {} and is {}: peers take its absence for different values", before, after),
         "leave it, or a new member");
  }

  void compare_elements(const json::object& old_schema, const json::object& new_schema,
                        const std::string& at) {
    for (const std::string_view inner : {"items", "additionalProperties"}) {
      const auto* old_inner = old_schema.if_contains(inner);
      const auto* new_inner = new_schema.if_contains(inner);
      if (old_inner == nullptr && new_inner == nullptr) continue;
      if (old_inner == nullptr || new_inner == nullptr) {
        note(at, message("it was a struct or map and is the other"), "a new member");
        continue;
      }
      compare(old_inner->as_object(), new_inner->as_object(), at + "[]");
    }
  }

  const json::object& old_root_;
  const json::object& new_root_;
  std::vector<std::string> found_;
  std::set<std::pair<const json::object*, const json::object*>> seen_;
};

}  // namespace slipway::detail
