// SPDX-License-Identifier: Apache-2.0
#include "provision/yaml_tree.hpp"

#include <slipway/result.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

namespace slipway::provision {
namespace {

// Thrown from within yaml-cpp's events, which have no other way to end.
[[noreturn]] void refuse(const YAML::Mark& mark, const std::string& problem) {
  throw YAML::ParserException(mark, problem);
}

// Builds the tree from the events of one document. One user, on the stack of read_yaml().
class Builder final : public YAML::EventHandler {
 public:
  Yaml take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    put(mark, Yaml{});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "aliases are not taken; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    // DEL is what YAML 1.1 cannot hold and the emitter does not escape.
    if (value.find_first_of(std::string("\0\x7f", 2)) != std::string::npos)
      refuse(mark, "a text has the character NUL or DEL; encode it (write_files: encoding: b64)");
    Yaml yaml;
    yaml.kind = tag == "?" ? Yaml::Kind::plain : Yaml::Kind::text;
    yaml.scalar = value;
    put(mark, std::move(yaml));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    start(mark, tag, anchor, Yaml::Kind::list);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    start(mark, tag, anchor, Yaml::Kind::map);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    Yaml yaml;
    std::optional<std::string> key;  // of a map: read, its value comes next
  };

  static void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "anchors are not taken; write the value out");
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(mark, "the tag " + tag + " is not taken; bytes go as base64 (write_files: encoding: b64)");
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Yaml::Kind kind) {
    check(mark, tag, anchor);
    if (open_.size() >= kMaxYamlDepth)
      refuse(mark, message("more than {} levels inside of each other", kMaxYamlDepth));
    if (!open_.empty() && open_.back().yaml.kind == Yaml::Kind::map && !open_.back().key)
      refuse(mark, "a key must be a text");
    open_.emplace_back();
    open_.back().yaml.kind = kind;
  }

  void end() {
    Yaml done = std::move(open_.back().yaml);
    open_.pop_back();
    put(YAML::Mark::null_mark(), std::move(done));
  }

  void put(const YAML::Mark& mark, Yaml yaml) {
    if (open_.empty()) {
      root_ = std::move(yaml);
      return;
    }
    auto& [parent, key] = open_.back();
    if (parent.kind == Yaml::Kind::list) {
      parent.items.push_back(std::move(yaml));
    } else if (key) {
      parent.map.emplace_back(*std::move(key), std::move(yaml));
      key.reset();
    } else {
      set_key(mark, yaml);
    }
  }

  void set_key(const YAML::Mark& mark, const Yaml& yaml) {
    auto& [parent, key] = open_.back();
    if (!yaml.is_scalar()) refuse(mark, "a key must be a text");
    if (yaml.scalar == "<<") refuse(mark, "merge keys (<<) are not taken; write the values out");
    if (parent.find(yaml.scalar) != nullptr) refuse(mark, "the key " + yaml.scalar + " comes twice");
    key = yaml.scalar;
  }

  Yaml root_;
  std::vector<Open> open_;
};

// What YAML has no place for, and what its readers decode differently.
Status check_bytes(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return fail(Code::invalid, "it has a NUL byte");
  if (text.starts_with("\xef\xbb\xbf")) return fail(Code::invalid, "it begins with a byte order mark");
  return ok();
}

void emit_text(YAML::Emitter& out, const std::string& text) { out << YAML::DoubleQuoted << text; }

void emit(YAML::Emitter& out, const Yaml& yaml) {
  switch (yaml.kind) {
    case Yaml::Kind::null:
      out << YAML::Null;
      break;
    case Yaml::Kind::plain:
      out << yaml.scalar;  // the emitter leaves it plain, or quotes what cannot be
      break;
    case Yaml::Kind::text:
      emit_text(out, yaml.scalar);
      break;
    case Yaml::Kind::list:
      out << YAML::BeginSeq;
      for (const Yaml& item : yaml.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Yaml::Kind::map:
      out << YAML::BeginMap;
      for (const auto& [key, value] : yaml.map) {
        out << YAML::Key;
        emit_text(out, key);
        out << YAML::Value;
        emit(out, value);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

Yaml Yaml::text(std::string_view value) { return {Kind::text, std::string(value), {}, {}}; }
Yaml Yaml::boolean(bool value) { return {Kind::plain, value ? "true" : "false", {}, {}}; }
Yaml Yaml::list(std::vector<Yaml> items) { return {Kind::list, {}, std::move(items), {}}; }
Yaml Yaml::object(std::vector<std::pair<std::string, Yaml>> members) {
  return {Kind::map, {}, {}, std::move(members)};
}

const Yaml* Yaml::find(std::string_view key) const {
  const auto it =
      std::find_if(map.begin(), map.end(), [&](const auto& member) { return member.first == key; });
  return it == map.end() ? nullptr : &it->second;
}
Yaml* Yaml::find(std::string_view key) {
  const auto it =
      std::find_if(map.begin(), map.end(), [&](const auto& member) { return member.first == key; });
  return it == map.end() ? nullptr : &it->second;
}

Result<Yaml> read_yaml(std::string_view text) {
  SLIPWAY_TRY(check_bytes(text));
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder builder;
    if (!parser.HandleNextDocument(builder)) return Yaml{};
    Yaml yaml = builder.take();
    Builder more;
    if (parser.HandleNextDocument(more))
      return fail(Code::invalid, "it has a second document (---); one is expected");
    return yaml;
  } catch (const YAML::Exception& error) {
    return fail(Code::invalid, "line {}, column {}: {}", error.mark.line + 1, error.mark.column + 1,
                error.msg);
  }
}

Result<std::string> write_yaml(const Yaml& yaml) {
  YAML::Emitter out;
  out.SetOutputCharset(YAML::EscapeNonAscii);
  emit(out, yaml);
  if (!out.good()) return fail(Code::internal, "YAML could not be written: {}", out.GetLastError());
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace slipway::provision
