// SPDX-License-Identifier: Apache-2.0
// codec.hpp - described structs to JSON and back, tolerant of growth on both sides: an unknown member is
// skipped, an absent one keeps its default, and an error names the place: `volumes[1].size_mib: expected an
// unsigned integer, got a string`. Rules in include/README.md. Boost.JSON's own conversions refuse unknown
// members and never name the place. Thread rule: free functions without state.
#pragma once

#include <slipway/base64.hpp>
#include <slipway/result.hpp>

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/describe/modifiers.hpp>
#include <boost/json.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace slipway {

namespace json = boost::json;

// Any bytes; base64 (RFC 4648, padded) on the wire.
struct Bytes {
  std::string data;
  bool operator==(const Bytes&) const = default;
};

enum class UnknownFields {
  skip,
  refuse
};  // skip: from a newer peer; refuse: from a person, who may have mistyped

struct DecodeOptions {
  UnknownFields unknown_fields = UnknownFields::skip;
  std::size_t max_bytes = SLIPWAY_MESSAGE_MAX_BYTES;
  std::size_t max_depth = 32;
};

struct EncodeOptions {
  bool omit_defaults =
      false;  // leave out members that have their default; an empty optional is always left out
};

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_string_map = false;
template <class T>
inline constexpr bool is_string_map<std::map<std::string, T>> = true;

// Written as the bare text of its member `value`.
template <class T>
concept IdType = requires {
  requires T::is_id;
};

template <class T>
using Members =
    boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

// An enumerator's name on the wire: less one trailing underscore, which is there only because of C++
// keywords.
constexpr std::string_view wire_name(std::string_view enumerator) {
  if (enumerator.ends_with('_')) enumerator.remove_suffix(1);
  return enumerator;
}

// The names that a struct lists in `static constexpr std::array required{...}`; none without it.
template <class T>
constexpr bool is_required(std::string_view name) {
  if constexpr (requires { T::required; }) {
    return std::find(T::required.begin(), T::required.end(), name) != T::required.end();
  } else {
    return false;
  }
}

template <class T>
constexpr bool required_names_are_members() {
  bool all = true;
  if constexpr (requires { T::required; }) {
    for (const std::string_view name : T::required) {
      bool found = false;
      boost::mp11::mp_for_each<Members<T>>([&](auto member) { found = found || name == member.name; });
      all = all && found;
    }
  }
  return all;
}

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

// The name that a mistyped one most likely meant: one edit or swap away, or with one as the other's
// beginning.
inline std::string_view near_name(std::string_view word, const std::vector<std::string_view>& names) {
  const auto is_one_edit = [](std::string_view a, std::string_view b) {
    if (a.size() > b.size()) std::swap(a, b);
    const std::size_t same =
        static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
    if (b.size() - a.size() > 1) return false;
    if (a.size() < b.size()) return a.substr(same) == b.substr(same + 1);
    if (same == a.size()) return true;
    if (a.substr(same + 1) == b.substr(same + 1)) return true;
    return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] &&
           a.substr(same + 2) == b.substr(same + 2);
  };
  for (const std::string_view name : names) {
    if (is_one_edit(word, name)) return name;
  }
  for (const std::string_view name : names) {
    if (word.size() >= 3 && (name.starts_with(word) || word.starts_with(name))) return name;
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
    std::string out = parent != nullptr ? parent->text() : std::string();
    if (is_element) return out + message("[{}]", index);
    if (!out.empty() && !name.empty()) out += '.';
    return out.append(name);
  }
};

// Reads one document; after the first error nothing more is read.
class Reader {
 public:
  explicit Reader(const DecodeOptions& options) : unknown_fields_(options.unknown_fields) {}

  template <class T>
  Status read_document(const json::value& v, T& out) {
    if (read(v, out, Place{})) return ok();
    return fail(Code::invalid, "{}", error_);
  }

 private:
  bool wrong(const Place& at, std::string_view what) {
    const std::string place = at.text();
    error_ = message("{}: {}", place.empty() ? std::string_view("document") : std::string_view(place), what);
    return false;
  }
  bool wrong_kind(const Place& at, std::string_view wanted, const json::value& got) {
    return wrong(at, message("expected {}, got {}", wanted, kind_name(got)));
  }

  template <class T>
  bool read(const json::value& v, T& out, const Place& at) {
    if constexpr (std::is_same_v<T, json::value>) {
      out = v;
      return true;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!v.is_bool()) return wrong_kind(at, "a boolean", v);
      out = v.get_bool();
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      return read_integer(v, out, at);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!v.is_number()) return wrong_kind(at, "a number", v);
      json::error_code ec;
      out = v.to_number<T>(ec);
      return !ec || wrong(at, "is out of range");
    } else if constexpr (std::is_same_v<T, std::string>) {
      return read_string(v, out, at);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      std::string text;
      if (!read_string(v, text, at)) return false;
      auto bytes = parse_base64(text);
      if (!bytes) return wrong(at, bytes.error().message);
      out.data = *std::move(bytes);
      return true;
    } else if constexpr (is_optional<T>) {
      out.reset();
      return v.is_null() || read(v, out.emplace(), at);
    } else if constexpr (is_vector<T>) {
      return read_elements(
          v, at,
          [&](const json::value& element, const Place& place) {
            return read(element, out.emplace_back(), place);
          },
          [&](std::size_t count) {
            out.clear();
            out.reserve(count);
          });
    } else if constexpr (std::is_same_v<T, std::set<std::string>>) {
      return read_elements(
          v, at,
          [&](const json::value& element, const Place& place) {
            std::string text;
            if (!read_string(element, text, place)) return false;
            out.insert(std::move(text));
            return true;
          },
          [&](std::size_t) { out.clear(); });
    } else if constexpr (is_string_map<T>) {
      if (!v.is_object()) return wrong_kind(at, "an object", v);
      out.clear();
      for (const auto& [key, element] : v.get_object()) {
        if (!read(element, out[std::string(key)], Place{&at, key})) return false;
      }
      return true;
    } else if constexpr (std::is_enum_v<T>) {
      return read_enum(v, out, at);
    } else if constexpr (IdType<T>) {
      return read_string(v, out.value, at);
    } else {
      return read_struct(v, out, at);
    }
  }

  bool read_string(const json::value& v, std::string& out, const Place& at) {
    const auto* text = v.if_string();
    if (text == nullptr) return wrong_kind(at, "a string", v);
    out.assign(text->data(), text->size());
    return true;
  }

  template <class Each, class Start>
  bool read_elements(const json::value& v, const Place& at, Each each, Start start) {
    const auto* array = v.if_array();
    if (array == nullptr) return wrong_kind(at, "an array", v);
    start(array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (!each((*array)[i], Place{&at, {}, i, true})) return false;
    }
    return true;
  }

  template <class T>
  bool read_integer(const json::value& v, T& out, const Place& at) {
    if (const auto* text = v.if_string()) {  // how integers beyond 2^53 travel
      const char* end = text->data() + text->size();
      const auto [stop, ec] = std::from_chars(text->data(), end, out);
      if (ec == std::errc::result_out_of_range) return wrong(at, "is out of range");
      if (ec == std::errc() && stop == end && !text->empty()) return true;
    }
    if (!v.is_int64() && !v.is_uint64()) {
      return wrong_kind(at, std::is_unsigned_v<T> ? "an unsigned integer" : "an integer", v);
    }
    json::error_code ec;
    out = v.to_number<T>(ec);
    return !ec || wrong(at, "is out of range");
  }

  template <class E>
  bool read_enum(const json::value& v, E& out, const Place& at) {
    const auto* text = v.if_string();
    if (text == nullptr) return wrong_kind(at, "a string", v);
    bool found = false;
    std::optional<E> unknown;
    std::string names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto enumerator) {
      const std::string_view name = wire_name(enumerator.name);
      if (name == std::string_view(*text)) {
        out = enumerator.value;
        found = true;
      }
      if (name == "unknown") unknown = enumerator.value;
    });
    if (found) return true;
    if (unknown) {  // a newer peer's word
      out = *unknown;
      return true;
    }
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
        [&](auto enumerator) { names.append(names.empty() ? "" : ", ").append(wire_name(enumerator.name)); });
    return wrong(at, message("unknown value \"{}\", expected one of {}", std::string_view(*text), names));
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
      if (!good) return;
      const Place place{&at, member.name};
      if (const auto* field = object->if_contains(member.name)) {
        ++known;
        good = read(*field, out.*member.pointer, place);
      } else if (is_required<T>(member.name)) {
        good = wrong(place, "is required");
      }
    });
    if (good && known < object->size() && unknown_fields_ == UnknownFields::refuse) {
      return refuse_unknown<T>(*object, at);
    }
    return good;
  }

  template <class T>
  bool refuse_unknown(const json::object& object, const Place& at) {
    std::vector<std::string_view> names;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) { names.emplace_back(member.name); });
    for (const auto& field : object) {
      const std::string_view key = field.key();
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      const std::string_view near = near_name(key, names);
      const std::string hint = near.empty() ? std::string() : message(" (did you mean \"{}\"?)", near);
      return wrong(Place{&at, key}, message("unknown field{}", hint));
    }
    return true;
  }

  const UnknownFields unknown_fields_;
  std::string error_;
};

// Member by member, so that a struct needs no operator== to have its defaults left out.
template <class T>
bool is_same(const T& a, const T& b) {
  if constexpr (is_vector<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return is_same(x, y); });
  } else if constexpr (is_string_map<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.first == y.first && is_same(x.second, y.second);
    });
  } else if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
  } else if constexpr (boost::describe::has_describe_members<T>::value && !IdType<T>) {
    bool same = true;
    boost::mp11::mp_for_each<Members<T>>(
        [&](auto member) { same = same && is_same(a.*member.pointer, b.*member.pointer); });
    return same;
  } else {
    return a == b;
  }
}

// The document; invalid if it is none, too large or too deep.
inline Result<json::value> parse(std::string_view text, const DecodeOptions& options,
                                 json::storage_ptr memory) {
  if (text.size() > options.max_bytes) {
    return fail(Code::invalid, "document: {} bytes, at most {} are taken", text.size(), options.max_bytes);
  }
  json::parse_options parse_options;
  parse_options.max_depth = options.max_depth;
  json::stream_parser parser(memory, parse_options);
  json::error_code ec;
  const std::size_t taken = parser.write_some(text.data(), text.size(), ec);
  if (!ec && taken < text.size()) {
    return fail(Code::invalid, "document: not JSON: something stands behind its end, at byte {}", taken);
  }
  if (!ec) parser.finish(ec);
  if (ec == json::error::too_deep)
    return fail(Code::invalid, "document: nested deeper than {} levels", options.max_depth);
  if (ec) return fail(Code::invalid, "document: not JSON: {}, at byte {}", ec.message(), taken);
  return parser.release();
}

// Beyond 2^53 other readers of JSON lose digits, so such a number travels as text.
template <class T>
json::value write_integer(T x) {
  constexpr std::uint64_t kExact = 1ULL << 53U;
  const bool is_exact = std::is_signed_v<T>
                            ? static_cast<std::int64_t>(x) <= static_cast<std::int64_t>(kExact) &&
                                  static_cast<std::int64_t>(x) >= -static_cast<std::int64_t>(kExact)
                            : static_cast<std::uint64_t>(x) <= kExact;
  if (is_exact) return x;
  return json::value(message("{}", x));
}

template <class T>
json::value write(const T& x, const EncodeOptions& options) {
  if constexpr (std::is_same_v<T, json::value> || std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
    return json::value(x);
  } else if constexpr (std::is_integral_v<T>) {
    return write_integer(x);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return json::value(x);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return json::value(base64(x.data));
  } else if constexpr (is_optional<T>) {
    return x ? write(*x, options) : json::value();
  } else if constexpr (is_vector<T> || std::is_same_v<T, std::set<std::string>>) {
    json::array array;
    array.reserve(x.size());
    for (const auto& element : x) array.push_back(write(element, options));
    return array;
  } else if constexpr (is_string_map<T>) {
    json::object object;
    object.reserve(x.size());
    for (const auto& [key, element] : x) object.emplace(key, write(element, options));
    return object;
  } else if constexpr (std::is_enum_v<T>) {
    return json::value(wire_name(boost::describe::enum_to_string(x, "unknown")));
  } else if constexpr (IdType<T>) {
    return json::value(x.value);
  } else {
    static const T kDefault{};
    json::object object;
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
      const auto& field = x.*member.pointer;
      if constexpr (is_optional<std::remove_cvref_t<decltype(field)>>) {
        if (!field) return;
      }
      if (options.omit_defaults && !is_required<T>(member.name) && is_same(field, kDefault.*member.pointer))
        return;
      object.emplace(member.name, write(field, options));
    });
    return object;
  }
}

}  // namespace detail

template <class T>
[[nodiscard]] json::value to_json(const T& x, const EncodeOptions& options = {}) {
  return detail::write(x, options);
}

// Compact JSON. Strings must be UTF-8; everything else about `x` can be written.
template <class T>
[[nodiscard]] std::string encode(const T& x, const EncodeOptions& options = {}) {
  return json::serialize(detail::write(x, options));
}

template <class T>
[[nodiscard]] Result<T> from_json(const json::value& value, const DecodeOptions& options = {}) {
  T out{};
  SLIPWAY_TRY(detail::Reader(options).read_document(value, out));
  return out;
}

// invalid: not JSON (where), too large, too deep, or not what T says (which member, what was expected, what
// came). Of a key that stands twice the last one counts.
template <class T>
[[nodiscard]] Result<T> decode(std::string_view text, const DecodeOptions& options = {}) {
  std::array<unsigned char, 4096>
      buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): scratch of the parser
  json::monotonic_resource memory(buffer.data(), buffer.size());
  SLIPWAY_TRY(const json::value value, detail::parse(text, options, &memory));
  return from_json<T>(value, options);
}

// An Error as the body that travels beside its status, and back. What cannot be read becomes internal and is
// quoted.
[[nodiscard]] inline std::string encode_error(const Error& error) {
  return encode(error, {.omit_defaults = true});
}

[[nodiscard]] inline Error decode_error(slipway_status status, std::string_view text) {
  constexpr std::size_t kQuoted = 200;
  Error error;
  auto read = detail::parse(text, {}, {});
  auto end = read ? detail::Reader({}).read_document(*read, error) : Status(std::move(read).error());
  if (!end)
    return fail(Code::internal, "status {} with an unreadable body: {}", status, text.substr(0, kQuoted));
  const bool is_known = status >= SLIPWAY_INVALID && status <= SLIPWAY_INTERNAL;
  error.code = is_known ? static_cast<Code>(status) : Code::internal;
  return error;
}

}  // namespace slipway
