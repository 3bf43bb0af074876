// SPDX-License-Identifier: Apache-2.0
// yaml_tree.hpp - YAML of untrusted origin as a tree of values, and back. Over yaml-cpp (libyaml has no tree
// and emits by a C state machine; rapidyaml is not in Debian 12), whose events are used and not its Node:
// that one keeps of two equal keys both and expands aliases without a bound. Pure.
#pragma once

#include <slipway/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::provision {

// Thread rule: value. A plain scalar ("yes", "0644") keeps its lack of quotes, because readers give it a
// type.
struct Yaml {
  enum class Kind { null, plain, text, list, map };
  Kind kind = Kind::null;
  std::string scalar;
  std::vector<Yaml> items;                        // of a list
  std::vector<std::pair<std::string, Yaml>> map;  // keys are text, in their order

  [[nodiscard]] static Yaml text(std::string_view value);
  [[nodiscard]] static Yaml boolean(bool value);
  [[nodiscard]] static Yaml list(std::vector<Yaml> items);
  [[nodiscard]] static Yaml object(std::vector<std::pair<std::string, Yaml>> members);

  [[nodiscard]] bool is_scalar() const { return kind == Kind::plain || kind == Kind::text; }
  [[nodiscard]] const Yaml* find(std::string_view key) const;  // null: not there, or no map
  [[nodiscard]] Yaml* find(std::string_view key);

  bool operator==(const Yaml&) const = default;
};

inline constexpr std::size_t kMaxYamlDepth = 32;

// At most one document; nothing for an empty one. invalid, with line and column: bad syntax, anchors and
// aliases (they can grow without bound), tags, merge keys, keys that are no scalars or come twice, more than
// kMaxYamlDepth levels, a second document, bytes that YAML has no place for.
[[nodiscard]] Result<Yaml> read_yaml(std::string_view text);

// In ASCII: text in double quotes, so that no reader of YAML 1.1 or 1.2 takes it for something else.
[[nodiscard]] Result<std::string> write_yaml(const Yaml& yaml);

}  // namespace slipway::provision
