// SPDX-License-Identifier: Apache-2.0
// described.hpp - what reader, writer and schema of codec.hpp know of a type: which kind of JSON value it is,
// its members, their names and which are required. Thread rule: compile time only.
#pragma once

#include <slipway/base64.hpp>

#include <boost/describe/bases.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/describe/modifiers.hpp>
#include <boost/json.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace slipway {

namespace json = boost::json;

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
template <class T>
inline constexpr bool is_string_set = std::is_same_v<T, std::set<std::string>>;

// Written as the bare text of its member `value`, which must be its only one.
template <class T>
concept IdType = T::is_id && std::same_as<decltype(T::value), std::string> &&
                 sizeof(T) == sizeof(std::string);

// A struct that is written member by member. What is no such type and none of the others the codec does not
// take: above all std::variant, which JSON has no word for; use one optional member for each alternative.
template <class T>
concept DescribedStruct =
    boost::describe::has_describe_members<T>::value && !IdType<T> && !std::same_as<T, Bytes>;

// In their order, inherited ones first. Each has `name` and `pointer`.
template <class T>
using Members =
    boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

// An enumerator's name in JSON: less one trailing underscore, which is there only because of C++ keywords.
constexpr std::string_view wire_name(std::string_view enumerator) {
  if (enumerator.ends_with('_')) enumerator.remove_suffix(1);
  return enumerator;
}

// Whether T or one of its bases lists the name in `static constexpr std::array required{...}`. A derived
// struct's list hides its base's for C++, and must not for a reader.
template <class T>
constexpr bool is_required(std::string_view name) {
  bool found = false;
  if constexpr (requires { T::required.size(); }) {
    found = std::find(T::required.begin(), T::required.end(), name) != T::required.end();
  }
  boost::mp11::mp_for_each<boost::describe::describe_bases<T, boost::describe::mod_any_access>>(
      [&](auto base) { found = found || is_required<typename decltype(base)::type>(name); });
  return found;
}

template <class T>
constexpr bool required_names_are_members() {
  bool all = true;
  if constexpr (requires { T::required.size(); }) {
    for (const std::string_view name : T::required) {
      bool found = false;
      boost::mp11::mp_for_each<Members<T>>([&](auto member) { found = found || name == member.name; });
      all = all && found;
    }
  }
  return all;
}

}  // namespace detail
}  // namespace slipway
