// SPDX-License-Identifier: Apache-2.0
#include "abi_layout.hpp"

#include <slipway/abi.h>
#include <slipway/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <type_traits>

namespace slipway::sdk {
namespace {

// Stands for any member of an aggregate, to count them.
struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { T{Members{}..., AnyMember{}}; }) {
    return member_count<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

std::string as_line(const char* value) { return message("\"{}\"", value); }
template <class T>
std::string as_line(T value) {
  return message("{}", value);
}

}  // namespace

#define SLIPWAY_CONSTANT(name) out += message("constant {} {}\n", #name, as_line(name))
#define SLIPWAY_STRUCT(name, members)                                               \
  static_assert(member_count<name>() == (members),                                  \
                #name ": has other members than this list; add the new ones here"); \
  out += message("struct {} {}\n", #name, sizeof(name))
#define SLIPWAY_MEMBER(type, name, ...)                               \
  static_assert(std::is_same_v<decltype(type::name), __VA_ARGS__>,    \
                #type "." #name ": its type is frozen; put it back"); \
  out += message("member {}.{} {} {}\n", #type, #name, offsetof(type, name), #__VA_ARGS__)
#define SLIPWAY_TYPE(name, ...)                                                                      \
  static_assert(std::is_same_v<name, __VA_ARGS__>, #name ": this signature is frozen; put it back"); \
  out += message("type {} {}\n", #name, #__VA_ARGS__)

std::string abi_layout() {
  std::string out;
  SLIPWAY_CONSTANT(SLIPWAY_ABI_MAJOR);
  SLIPWAY_CONSTANT(SLIPWAY_ABI_MINOR);
  SLIPWAY_CONSTANT(SLIPWAY_MESSAGE_MAX_BYTES);
  SLIPWAY_CONSTANT(SLIPWAY_ENTRY_SYMBOL);
  SLIPWAY_CONSTANT(SLIPWAY_NOTE_SECTION);
  SLIPWAY_CONSTANT(SLIPWAY_NOTE_NAME);
  SLIPWAY_CONSTANT(SLIPWAY_NOTE_NAME_BYTES);
  SLIPWAY_CONSTANT(SLIPWAY_NOTE_TYPE);
  for (const auto& [name, value] : {std::pair("SLIPWAY_OK", SLIPWAY_OK),
                                    {"SLIPWAY_INVALID", SLIPWAY_INVALID},
                                    {"SLIPWAY_NOT_FOUND", SLIPWAY_NOT_FOUND},
                                    {"SLIPWAY_CONFLICT", SLIPWAY_CONFLICT},
                                    {"SLIPWAY_UNAUTHENTICATED", SLIPWAY_UNAUTHENTICATED},
                                    {"SLIPWAY_DENIED", SLIPWAY_DENIED},
                                    {"SLIPWAY_EXHAUSTED", SLIPWAY_EXHAUSTED},
                                    {"SLIPWAY_UNAVAILABLE", SLIPWAY_UNAVAILABLE},
                                    {"SLIPWAY_DEADLINE", SLIPWAY_DEADLINE},
                                    {"SLIPWAY_CANCELLED", SLIPWAY_CANCELLED},
                                    {"SLIPWAY_UNSUPPORTED", SLIPWAY_UNSUPPORTED},
                                    {"SLIPWAY_INTERNAL", SLIPWAY_INTERNAL}}) {
    out += message("constant {} {}\n", name, static_cast<int>(value));
  }
  SLIPWAY_TYPE(slipway_status, int32_t);
  SLIPWAY_TYPE(slipway_done, void (*)(void*, slipway_status, slipway_bytes));
  SLIPWAY_TYPE(slipway_entry_fn, const slipway_plugin* (*)(uint32_t, uint32_t, uint32_t*));

  SLIPWAY_STRUCT(slipway_bytes, 2);
  SLIPWAY_MEMBER(slipway_bytes, data, const char*);
  SLIPWAY_MEMBER(slipway_bytes, size, size_t);

  SLIPWAY_STRUCT(slipway_request, 7);
  SLIPWAY_MEMBER(slipway_request, size, uint32_t);
  SLIPWAY_MEMBER(slipway_request, flags, uint32_t);
  SLIPWAY_MEMBER(slipway_request, id, uint64_t);
  SLIPWAY_MEMBER(slipway_request, parent, uint64_t);
  SLIPWAY_MEMBER(slipway_request, deadline_ns, int64_t);
  SLIPWAY_MEMBER(slipway_request, method, slipway_bytes);
  SLIPWAY_MEMBER(slipway_request, body, slipway_bytes);

  SLIPWAY_STRUCT(slipway_host, 6);
  SLIPWAY_MEMBER(slipway_host, size, uint32_t);
  SLIPWAY_MEMBER(slipway_host, abi, uint32_t);
  SLIPWAY_MEMBER(slipway_host, self, void*);
  SLIPWAY_MEMBER(slipway_host, call, void (*)(void*, const slipway_request*, slipway_done, void*));
  SLIPWAY_MEMBER(slipway_host, notify, void (*)(void*, uint64_t, slipway_bytes, slipway_bytes));
  SLIPWAY_MEMBER(slipway_host, cancelled, int32_t(*)(void*, uint64_t));

  SLIPWAY_STRUCT(slipway_plugin, 7);
  SLIPWAY_MEMBER(slipway_plugin, size, uint32_t);
  SLIPWAY_MEMBER(slipway_plugin, abi, uint32_t);
  SLIPWAY_MEMBER(slipway_plugin, describe, void (*)(slipway_done, void*));
  SLIPWAY_MEMBER(slipway_plugin, create,
                 slipway_status(*)(const slipway_host*, slipway_bytes, slipway_done, void*, void**));
  SLIPWAY_MEMBER(slipway_plugin, call, void (*)(void*, const slipway_request*, slipway_done, void*));
  SLIPWAY_MEMBER(slipway_plugin, cancel, void (*)(void*, uint64_t));
  SLIPWAY_MEMBER(slipway_plugin, destroy, void (*)(void*));

  SLIPWAY_STRUCT(slipway_note, 3);
  SLIPWAY_MEMBER(slipway_note, abi_major, uint32_t);
  SLIPWAY_MEMBER(slipway_note, abi_minor, uint32_t);
  SLIPWAY_MEMBER(slipway_note, sdk_version, uint32_t);

  SLIPWAY_STRUCT(slipway_note_record, 4 + SLIPWAY_NOTE_NAME_BYTES);  // of an array each element counts
  SLIPWAY_MEMBER(slipway_note_record, name_size, uint32_t);
  SLIPWAY_MEMBER(slipway_note_record, desc_size, uint32_t);
  SLIPWAY_MEMBER(slipway_note_record, type, uint32_t);
  SLIPWAY_MEMBER(slipway_note_record, name, char[8]);
  SLIPWAY_MEMBER(slipway_note_record, desc, slipway_note);
  return out;
}

#undef SLIPWAY_CONSTANT
#undef SLIPWAY_STRUCT
#undef SLIPWAY_MEMBER
#undef SLIPWAY_TYPE

namespace {

// Lines by their first two words.
using Lines = std::map<std::string, std::string>;

Lines parse_lines(std::string_view text) {
  Lines out;
  std::istringstream in{std::string(text)};
  for (std::string kind, name, rest; in >> kind >> name && std::getline(in >> std::ws, rest);)
    out[message("{} {}", kind, name)] = rest;
  return out;
}

// The first number of a line; 0 if it is not there.
std::uint64_t number_of(const Lines& lines, const std::string& key) {
  const auto it = lines.find(key);
  return it == lines.end() ? 0 : std::strtoull(it->second.c_str(), nullptr, 10);
}

// Of a line that both have, and that differs: nothing if it is growth.
std::string judge_change(const std::string& key, const std::string& was, const std::string& is) {
  if (key == "constant SLIPWAY_ABI_MAJOR") {
    return message(
        "SLIPWAY_ABI_MAJOR: was {}, is {}: that ends every plugin that exists; append what is new and raise "
        "SLIPWAY_ABI_MINOR instead",
        was, is);
  }
  const std::uint64_t old_number = std::strtoull(was.c_str(), nullptr, 10);
  const std::uint64_t new_number = std::strtoull(is.c_str(), nullptr, 10);
  if (key == "constant SLIPWAY_ABI_MINOR" && new_number > old_number) return {};
  const bool grows = key.starts_with("struct ") && new_number > old_number;
  if (grows && key == "struct slipway_bytes")
    return "slipway_bytes: has no size of its own and never grows; put it back, and pass what is new "
           "elsewhere";
  if (grows) return {};
  return message("{}: was {}, is {}; put it back and append a new one beside it",
                 key.substr(key.find(' ') + 1), was, is);
}

}  // namespace

std::vector<std::string> abi_incompatibilities(std::string_view recorded, std::string_view compiled) {
  const Lines before = parse_lines(recorded);
  const Lines after = parse_lines(compiled);
  std::vector<std::string> out;
  for (const auto& [key, was] : before) {
    const auto is = after.find(key);
    if (is == after.end()) {
      out.push_back(message("{}: is gone; plugins that exist were compiled with it: put it back",
                            key.substr(key.find(' ') + 1)));
    } else if (is->second != was) {
      std::string problem = judge_change(key, was, is->second);
      if (!problem.empty()) out.push_back(std::move(problem));
    }
  }
  const std::string minor = "constant SLIPWAY_ABI_MINOR";
  const bool is_raised = number_of(after, minor) > number_of(before, minor);
  for (const auto& [key, is] : after) {
    if (before.count(key) != 0 || !key.starts_with("member ")) continue;
    const std::string member = key.substr(key.find(' ') + 1);
    const std::string owner = member.substr(0, member.find('.'));
    if (before.count("struct " + owner) == 0) continue;
    const std::uint64_t old_size = number_of(before, "struct " + owner);
    if (number_of(after, key) <
        old_size) {  // padding too: an old maker's size covers it, and nothing is in it
      out.push_back(message("{}: stands within the {} bytes that {} had; append it behind them", member,
                            old_size, owner));
    }
    if (!is_raised)
      out.push_back(message("{}: was appended without a higher SLIPWAY_ABI_MINOR; raise it", member));
  }
  return out;
}

}  // namespace slipway::sdk
