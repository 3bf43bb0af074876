// SPDX-License-Identifier: Apache-2.0
// json_write.hpp - a described struct to a JSON value, for codec.hpp. Thread rule: an object is of one
// thread.
#pragma once

#include <slipway/detail/described.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace slipway::detail {

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
  } else if constexpr (IdType<T>) {
    return a.value == b.value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b && std::signbit(a) == std::signbit(b);  // -0 is not 0 once it is written
  } else if constexpr (DescribedStruct<T>) {
    bool same = true;
    boost::mp11::mp_for_each<Members<T>>(
        [&](auto member) { same = same && is_same(a.*member.pointer, b.*member.pointer); });
    return same;
  } else {
    return a == b;
  }
}

// Makes values in `memory`.
class Writer {
 public:
  Writer(bool omits_defaults, json::storage_ptr memory)
      : omits_defaults_(omits_defaults), memory_(std::move(memory)) {}

  template <class T>
  json::value write(const T& x) const {
    if constexpr (std::is_same_v<T, json::value> || std::is_same_v<T, bool> ||
                  std::is_same_v<T, std::string>) {
      return json::value(x, memory_);
    } else if constexpr (std::is_integral_v<T>) {
      return write_integer(x);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(x)) return json::value(nullptr, memory_);  // JSON has no word for it
      return json::value(static_cast<double>(x), memory_);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      return json::value(base64(x.data), memory_);
    } else if constexpr (is_optional<T>) {
      return x ? write(*x) : json::value(nullptr, memory_);
    } else if constexpr (is_vector<T> || is_string_set<T>) {
      json::array array(memory_);
      array.reserve(x.size());
      for (const typename T::value_type& element : x) array.push_back(write(element));
      return array;
    } else if constexpr (is_string_map<T>) {
      json::object object(memory_);
      object.reserve(x.size());
      for (const auto& [key, element] : x) object.emplace(key, write(element));
      return object;
    } else if constexpr (std::is_enum_v<T>) {
      return json::value(wire_name(boost::describe::enum_to_string(x, "unknown")), memory_);
    } else if constexpr (IdType<T>) {
      return json::value(x.value, memory_);
    } else {
      static_assert(DescribedStruct<T>,
                    "the codec does not take this type: describe it, or see include/README.md");
      return write_struct(x);
    }
  }

 private:
  // Beyond 2^53 other readers of JSON lose digits, so such a number travels as text.
  template <class T>
  json::value write_integer(T x) const {
    constexpr std::int64_t kExact = 1LL << 53U;
    const bool is_exact = std::cmp_less_equal(x, kExact) && std::cmp_greater_equal(x, -kExact);
    return is_exact ? json::value(x, memory_) : json::value(message("{}", x), memory_);
  }

  // An empty optional is absent; but null where absence would say something else: a default, or that a
  // required member is missing.
  template <class T>
  json::value write_struct(const T& x) const {
    static const T kDefault{};
    json::object object(memory_);
    object.reserve(boost::mp11::mp_size<Members<T>>::value);
    boost::mp11::mp_for_each<Members<T>>([&](auto member) {
      constexpr bool required = is_required<T>(decltype(member)::name);
      const auto& field = x.*member.pointer;
      if constexpr (!required) {
        const auto& absent = kDefault.*member.pointer;
        if constexpr (is_optional<std::remove_cvref_t<decltype(field)>>) {
          if (!field && !absent) return;
        }
        if (omits_defaults_ && is_same(field, absent)) return;
      }
      object.emplace(member.name, write(field));
    });
    return object;
  }

  const bool omits_defaults_;
  const json::storage_ptr memory_;
};

}  // namespace slipway::detail
