// SPDX-License-Identifier: Apache-2.0
// store_rows.hpp - rows for tests of the store: small ones with given keys, ones with every member set at
// random, and a comparison that names the member. Pure but for the random numbers.
#pragma once

#include "base/random.hpp"
#include "model/snapshot.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace slipway::testing {

model::Credential credential(std::int64_t id, std::string name = {});
model::Environment environment(std::int64_t id, std::string name = {});
model::Machine machine(std::int64_t environment, std::string id, std::string message = {});
// A server's attempt of machine `machine` in environment 1; the nonce is made of the number.
model::Attempt attempt(std::uint8_t number, std::string machine = "0");
model::Volume volume(std::int64_t environment, std::string id);
model::Attachment attachment(std::int64_t environment, std::string volume, std::string machine);
model::Pool pool(std::int64_t environment, std::string name);
model::Space space(std::int64_t environment, std::string name);
model::Subnet subnet(std::int64_t environment, std::string cidr);
Nonce nonce(std::uint8_t number);

// Text with what databases and encoders stumble over: quotes, several bytes to a character, control
// characters, what looks like SQL, JSON or a number; sometimes empty.
std::string random_text(Random& random);

// ---- Every member at random ----

template <class T>
void fill(Random& random, T& out);

namespace detail {
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
void fill_described(Random& random, T& out) {
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) { fill(random, out.*member.pointer); });
}

template <class E>
E random_enum(Random& random) {
  using All = boost::describe::describe_enumerators<E>;
  E chosen{};
  boost::mp11::mp_with_index<boost::mp11::mp_size<All>::value>(
      static_cast<std::size_t>(random.below(boost::mp11::mp_size<All>::value)),
      [&](auto at) { chosen = boost::mp11::mp_at<All, decltype(at)>::value; });
  return chosen;
}
}  // namespace detail

// Every value that the type has; 64 bits only up to 2^62, which is as far as JSON and SQL agree.
template <class T>
void fill(Random& random, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    out = random_text(random);
  } else if constexpr (std::is_same_v<T, bool>) {
    out = random.below(2) == 1;
  } else if constexpr (std::is_enum_v<T>) {
    out = detail::random_enum<T>(random);
  } else if constexpr (std::is_integral_v<T>) {
    out = static_cast<T>(sizeof(T) == 8 ? random.u64() >> (2 + random.below(60)) : random.u64());
  } else if constexpr (std::is_same_v<T, Nonce>) {
    random.fill(out.bytes);
  } else if constexpr (std::is_same_v<T, model::MachineId>) {
    out.value = std::to_string(random.below(100)) +
                (random.below(2) == 0 ? "" : "/lxc/" + std::to_string(random.below(9)));
  } else if constexpr (detail::is_optional<T>) {
    out.reset();
    if (random.below(4) != 0) fill(random, out.emplace());
  } else if constexpr (detail::is_vector<T>) {
    out.assign(random.below(4), {});
    for (auto& element : out) fill(random, element);
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    out.clear();
    for (std::uint64_t i = random.below(4); i > 0; --i) out[random_text(random)] = random_text(random);
  } else if constexpr (requires { out.value; } && sizeof(T) == 8) {
    fill(random, out.value);
  } else {
    detail::fill_described(random, out);
  }
}

// ---- Comparison ----

// The first member that differs, or nothing. Without `revision`, which the store sets.
template <class Row>
std::optional<std::string> first_difference(const Row& a, const Row& b) {
  std::optional<std::string> name;
  boost::mp11::mp_for_each<boost::describe::describe_members<Row, boost::describe::mod_public>>(
      [&](auto member) {
        if (name || std::string_view(member.name) == "revision") return;
        if (!(a.*member.pointer == b.*member.pointer)) name = member.name;
      });
  return name;
}

// Both have the same rows, revisions included; else what differs, in words.
std::optional<std::string> first_difference(const model::Snapshot& a, const model::Snapshot& b);

}  // namespace slipway::testing
