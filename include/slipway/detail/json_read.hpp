// SPDX-License-Identifier: Apache-2.0
// json_read.hpp - text to a JSON value and that to a described struct, for codec.hpp. The first error ends
// the reading and names its place. Thread rule: an object is of one thread.
#pragma once

#include <slipway/detail/described.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

namespace slipway::detail {

inline std::string_view kind_name(const json::value& v) {
  switch (v.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "?";
}

// Boost.JSON's parser makes 1e400 infinite and 0e400 undefined; neither could be written again.
inline bool has_finite_numbers(const json::value& v) {
  if (const auto* array = v.if_array()) return std::all_of(array->begin(), array->end(), has_finite_numbers);
  if (const auto* object = v.if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [](const auto& member) { return has_finite_numbers(member.value()); });
  }
  return !v.is_double() || std::isfinite(v.get_double());
}

// The beginning of a text from outside, fit for a message: at most `limit` bytes, cut between characters,
// control characters as "?".
inline std::string excerpt(std::string_view text, std::size_t limit = 64) {
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  std::string out(text.substr(0, limit));
  if (text.size() > limit) {
    while (!out.empty() && is_continuation(text[out.size()])) out.pop_back();
    out += "...";
  }
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return out;
}

// Whether one letter more, less or other, or two swapped, makes a into b.
constexpr bool is_one_edit(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  std::size_t same = 0;
  while (same < a.size() && a[same] == b[same]) ++same;
  if (same == a.size()) return true;
  const std::string_view rest_a = a.substr(same);
  const std::string_view rest_b = b.substr(same);
  if (a.size() < b.size()) return rest_a == rest_b.substr(1);
  if (rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a.size() > 1 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] &&
         rest_a.substr(2) == rest_b.substr(2);
}

// The name that a mistyped one most likely meant: one edit away, or with one as the other's beginning. Empty:
// none.
inline std::string_view near_name(std::string_view word, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    if (is_one_edit(word, name)) return name;
  }
  for (const std::string_view name : names) {
    const bool is_beginning = name.starts_with(word) || word.starts_with(name);
    if (is_beginning && std::min(word.size(), name.size()) >= 3) return name;
  }
  return {};
}

// Where in the document a reader is: a chain of parents on the stack, made into text only for an error.
struct Place {
  const Place* parent = nullptr;
  std::string_view name;  // of a member
  std::size_t index = 0;  // of an element
  bool is_element = false;

  [[nodiscard]] std::string text() const {
    if (parent == nullptr) return {};
    std::string out = parent->text();
    if (is_element) return out + message("[{}]", index);
    if (!out.empty()) out += '.';
    return out + excerpt(name);
  }
};

// The document; invalid if it is none, too large or too deep. The value lives in `memory`.
inline Result<json::value> parse(std::string_view text, std::size_t max_bytes, std::size_t max_depth,
                                 json::storage_ptr memory = {}) {
  if (text.size() > max_bytes) {
    return fail(Code::invalid, "document: {} bytes, at most {} are taken", text.size(), max_bytes);
  }
  json::parse_options options;
  options.max_depth = max_depth;
  std::array<unsigned char, 2048>
      scratch;  // NOLINT(cppcoreguidelines-pro-type-member-init): the parser's stack
  json::parser parser({}, options, scratch.data(), scratch.size());
  parser.reset(std::move(memory));
  json::error_code ec;
  const std::size_t taken = parser.write_some(text.data(), text.size(), ec);
  if (!ec && taken < text.size()) {
    return fail(Code::invalid, "document: not JSON: something stands behind its end, at byte {}", taken);
  }
  if (ec == json::error::too_deep)
    return fail(Code::invalid, "document: nested deeper than {} levels", max_depth);
  if (ec) return fail(Code::invalid, "document: not JSON: {}, at byte {}", ec.message(), taken);
  return parser.release();
}

// Reads one document.
class Reader {
 public:
  explicit Reader(bool refuses_unknown_fields) : refuses_unknown_fields_(refuses_unknown_fields) {}

  template <class T>
  Status read_document(const json::value& v, T& out) {
    if (read(v, out, Place{})) return ok();
    return fail(Code::invalid, "{}", error_);
  }
  // A value that is no document of its own: errors begin with its name.
  template <class T>
  Status read_member(const json::value& v, std::string_view name, T& out) {
    const Place document;
    if (read(v, out, Place{&document, name})) return ok();
    return fail(Code::invalid, "{}", error_);
  }

 private:
  bool wrong(const Place& at, std::string_view what) {
    const std::string place = at.text();
    error_ = message("{}: {}", at.parent == nullptr ? std::string_view("document") : std::string_view(place),
                     what);
    return false;
  }
  bool wrong_kind(const Place& at, std::string_view wanted, const json::value& got) {
    return wrong(at, message("expected {}, got {}", wanted, kind_name(got)));
  }

  // False after an error, which is then in error_.
  template <class T>
  bool read(const json::value& v, T& out, const Place& at) {
    if constexpr (std::is_same_v<T, json::value>) {
      if (!has_finite_numbers(v)) return wrong(at, "holds a number that is out of range");
      out = v;
      return true;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!v.is_bool()) return wrong_kind(at, "a boolean", v);
      out = v.get_bool();
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      return read_integer(v, out, at);
    } else if constexpr (std::is_floating_point_v<T>) {
      return read_number(v, out, at);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return read_string(v, out, at);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      return read_bytes(v, out, at);
    } else if constexpr (is_optional<T>) {
      out.reset();
      return v.is_null() || read(v, out.emplace(), at);
    } else if constexpr (is_vector<T>) {
      return read_vector(v, out, at);
    } else if constexpr (is_string_set<T>) {
      std::vector<std::string> elements;
      if (!read_vector(v, elements, at)) return false;
      out = T(std::make_move_iterator(elements.begin()), std::make_move_iterator(elements.end()));
      return true;
    } else if constexpr (is_string_map<T>) {
      return read_map(v, out, at);
    } else if constexpr (std::is_enum_v<T>) {
      return read_enum(v, out, at);
    } else if constexpr (IdType<T>) {
      return read_string(v, out.value, at);
    } else {
      static_assert(DescribedStruct<T>,
                    "the codec does not take this type: describe it, or see include/README.md");
      return read_struct(v, out, at);
    }
  }

  bool read_string(const json::value& v, std::string& out, const Place& at) {
    const auto* text = v.if_string();
    if (text == nullptr) return wrong_kind(at, "a string", v);
    out.assign(text->data(), text->size());
    return true;
  }

  bool read_bytes(const json::value& v, Bytes& out, const Place& at) {
    const auto* text = v.if_string();
    if (text == nullptr) return wrong_kind(at, "a string", v);
    auto bytes = parse_base64(*text);
    if (!bytes) return wrong(at, bytes.error().message);
    out.data = *std::move(bytes);
    return true;
  }

  template <class T>
  bool read_integer(const json::value& v, T& out, const Place& at) {
    if (const auto* text = v.if_string()) {  // how integers beyond 2^53 travel
      const char* end = text->data() + text->size();
      const auto [stop, ec] = std::from_chars(text->data(), end, out);
      if (ec == std::errc::result_out_of_range && stop == end) return wrong(at, "is out of range");
      if (ec == std::errc() && stop == end) return true;
    }
    const bool is_beyond_64_bits = v.is_double() && std::abs(v.get_double()) >= 0x1p63;
    if (is_beyond_64_bits) return wrong(at, "is out of range");
    if (!v.is_int64() && !v.is_uint64()) {
      return wrong_kind(at, std::is_unsigned_v<T> ? "an unsigned integer" : "an integer", v);
    }
    json::error_code ec;
    out = v.to_number<T>(ec);
    return !ec || wrong(at, "is out of range");
  }

  template <class T>
  bool read_number(const json::value& v, T& out, const Place& at) {
    if (!v.is_number()) return wrong_kind(at, "a number", v);
    json::error_code ec;
    const auto number = v.to_number<double>(ec);
    const bool fits = std::abs(number) <= static_cast<double>(std::numeric_limits<T>::max());
    if (ec || !fits) return wrong(at, "is out of range");
    out = static_cast<T>(number);
    return true;
  }

  template <class T>
  bool read_vector(const json::value& v, std::vector<T>& out, const Place& at) {
    const auto* array = v.if_array();
    if (array == nullptr) return wrong_kind(at, "an array", v);
    out.clear();
    out.reserve(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (!read_element((*array)[i], out, Place{&at, {}, i, true})) return false;
    }
    return true;
  }
  template <class T>
  bool read_element(const json::value& v, std::vector<T>& out, const Place& at) {
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> gives no reference to its elements
      bool element = false;
      const bool good = read(v, element, at);
      out.push_back(element);
      return good;
    } else {
      return read(v, out.emplace_back(), at);
    }
  }

  template <class T>
  bool read_map(const json::value& v, std::map<std::string, T>& out, const Place& at) {
    const auto* object = v.if_object();
    if (object == nullptr) return wrong_kind(at, "an object", v);
    out.clear();
    for (const auto& [key, element] : *object) {
      if (!read(element, out[std::string(key)], Place{&at, key})) return false;
    }
    return true;
  }

  template <class E>
  bool read_enum(const json::value& v, E& out, const Place& at) {
    using Enumerators = boost::describe::describe_enumerators<E>;
    const auto* text = v.if_string();
    if (text == nullptr) return wrong_kind(at, "a string", v);
    bool found = false;
    boost::mp11::mp_for_each<Enumerators>([&](auto enumerator) {
      if (found || wire_name(enumerator.name) != std::string_view(*text)) return;
      out = enumerator.value;
      found = true;
    });
    if (found) return true;
    std::string names;
    boost::mp11::mp_for_each<Enumerators>([&](auto enumerator) {
      const std::string_view name = wire_name(enumerator.name);
      names.append(names.empty() ? "" : ", ").append(name);
      if (name != "unknown") return;
      out = enumerator.value;  // a newer peer's word
      found = true;
    });
    return found || wrong(at, message("unknown value \"{}\", expected one of {}", excerpt(*text), names));
  }

  template <class T>
  bool read_struct(const json::value& v, T& out, const Place& at) {
    static_assert(required_names_are_members<T>(),
                  "`required` names something that is not a described member");
    const auto* object = v.if_object();
    if (object == nullptr) return wrong_kind(at, "an object", v);
    bool good = true;
    std::size_t known = 0;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
      constexpr bool required = is_required<T>(decltype(member)::name);
      if (!good) return;
      if (const auto* field = object->if_contains(member.name)) {
        ++known;
        good = read(*field, out.*member.pointer, Place{&at, member.name});
      } else if constexpr (required) {
        good = wrong(Place{&at, member.name}, "is required");
      }
    });
    if (good && refuses_unknown_fields_ && known < object->size()) return refuse_unknown<T>(*object, at);
    return good;
  }

  template <class T>
  bool refuse_unknown(const json::object& object, const Place& at) {
    std::vector<std::string_view> names;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { names.emplace_back(member.name); });
    const auto is_unknown = [&](const auto& field) {
      return std::find(names.begin(), names.end(), std::string_view(field.key())) == names.end();
    };
    const std::string_view key = std::find_if(object.begin(), object.end(), is_unknown)->key();
    const std::string_view near = near_name(key, names);
    const std::string hint = near.empty() ? std::string() : message(" (did you mean \"{}\"?)", near);
    return wrong(Place{&at, key}, message("unknown field{}", hint));
  }

  const bool refuses_unknown_fields_;
  std::string error_;
};

}  // namespace slipway::detail
