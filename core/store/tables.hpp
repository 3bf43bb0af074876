// SPDX-License-Identifier: Apache-2.0
// tables.hpp - which row struct is kept in which table. The columns are the described members in their order
// (key members first), so a table is: the struct in model/, a migration, and its entry here. README.md shows
// an example. Pure.
#pragma once

#include "model/change.hpp"
#include "model/snapshot.hpp"
#include "store/engine.hpp"

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

namespace slipway::store {

// A value of the store itself: controller UUID, key id, epoch, incarnation, last revision.
struct MetaRow {
  std::string name;
  std::string value;

  [[nodiscard]] const std::string& key() const { return name; }
};
BOOST_DESCRIBE_STRUCT(MetaRow, (), (name, value))

// A sealed secret: credentials, user data. Read when asked for, never part of a snapshot.
struct SecretRow {
  std::string id;
  Blob sealed;
  model::Revision revision;

  [[nodiscard]] const std::string& key() const { return id; }
};
BOOST_DESCRIBE_STRUCT(SecretRow, (), (id, sealed, revision))

// `column` (or `column`, `column2`) holds a key of the table `parent`.
struct Reference {
  std::string_view parent;
  std::array<std::string_view, 2> columns;
};

struct TableTraits {
  static constexpr bool is_resident = true;
  static constexpr bool is_checksummed = false;
  static constexpr std::array<Reference, 0> references{};
};

template <class Row>
struct TableOf;

template <>
struct TableOf<MetaRow> : TableTraits {
  static constexpr std::string_view name = "meta";
  static constexpr std::size_t key_columns = 1;
};
template <>
struct TableOf<SecretRow> : TableTraits {
  static constexpr std::string_view name = "secret";
  static constexpr std::size_t key_columns = 1;
  static constexpr bool is_resident = false;
};
template <>
struct TableOf<model::Change> : TableTraits {
  static constexpr std::string_view name = "change";
  static constexpr std::size_t key_columns = 2;
  static constexpr bool is_resident = false;
};
template <>
struct TableOf<model::Credential> : TableTraits {
  static constexpr std::string_view name = "credential";
  static constexpr std::size_t key_columns = 1;
  static constexpr bool is_checksummed = true;
  static constexpr auto entity = model::Entity::credential;
};
template <>
struct TableOf<model::Environment> : TableTraits {
  static constexpr std::string_view name = "environment";
  static constexpr std::size_t key_columns = 1;
  static constexpr auto entity = model::Entity::environment;
  static constexpr std::array references{Reference{"credential", {"credential"}}};
};
template <>
struct TableOf<model::Machine> : TableTraits {
  static constexpr std::string_view name = "machine";
  static constexpr std::size_t key_columns = 2;
  static constexpr auto entity = model::Entity::machine;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};
// No reference to the machine: an attempt is remembered when its machine is gone.
template <>
struct TableOf<model::Attempt> : TableTraits {
  static constexpr std::string_view name = "attempt";
  static constexpr std::size_t key_columns = 1;
  static constexpr bool is_checksummed = true;
  static constexpr auto entity = model::Entity::attempt;
};
template <>
struct TableOf<model::Pool> : TableTraits {
  static constexpr std::string_view name = "pool";
  static constexpr std::size_t key_columns = 2;
  static constexpr auto entity = model::Entity::pool;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};
template <>
struct TableOf<model::Volume> : TableTraits {
  static constexpr std::string_view name = "volume";
  static constexpr std::size_t key_columns = 2;
  static constexpr auto entity = model::Entity::volume;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};
template <>
struct TableOf<model::Attachment> : TableTraits {
  static constexpr std::string_view name = "attachment";
  static constexpr std::size_t key_columns = 3;
  static constexpr auto entity = model::Entity::attachment;
  static constexpr std::array references{Reference{"volume", {"environment", "volume"}}};
};
template <>
struct TableOf<model::Space> : TableTraits {
  static constexpr std::string_view name = "space";
  static constexpr std::size_t key_columns = 2;
  static constexpr auto entity = model::Entity::space;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};
template <>
struct TableOf<model::Subnet> : TableTraits {
  static constexpr std::string_view name = "subnet";
  static constexpr std::size_t key_columns = 2;
  static constexpr auto entity = model::Entity::subnet;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};
template <>
struct TableOf<model::PluginNote> : TableTraits {
  static constexpr std::string_view name = "plugin_note";
  static constexpr std::size_t key_columns = 3;
  static constexpr auto entity = model::Entity::plugin_note;
  static constexpr std::array references{Reference{"environment", {"environment"}}};
};

// Everything that is kept. Parents first.
using AllRows = boost::mp11::mp_append<boost::mp11::mp_list<MetaRow>, model::Rows,
                                       boost::mp11::mp_list<SecretRow, model::Change>>;

template <class Row>
inline constexpr std::size_t kTableNumber = boost::mp11::mp_find<AllRows, Row>::value;

// The schema that the row structs say; an engine holds its file against it at open.
[[nodiscard]] const Schema& schema();

template <class Row>
using KeyOf = std::remove_cvref_t<decltype(std::declval<const Row&>().key())>;

// A row as values, key first (without checksum), and back; an error names table and column. A member that is
// neither a number, an enum, text, bytes nor an id is JSON text, empty for the default. Defined for the rows
// above.
template <class Row>
[[nodiscard]] Values to_values(const Row& row);
template <class Row>
[[nodiscard]] Result<Row> from_values(Values values);
template <class Row>
[[nodiscard]] Values key_values(const KeyOf<Row>& key);
// A row's key as text for changes, messages and logs: "1:3/lxc/0".
template <class Row>
[[nodiscard]] std::string key_text(const KeyOf<Row>& key);

// "machine 1:3", for messages.
template <class Row>
[[nodiscard]] std::string row_name(const KeyOf<Row>& key) {
  return message("{} {}", TableOf<Row>::entity, key_text<Row>(key));
}

// What a row's checksum is made over: unambiguous, the table's name in front.
[[nodiscard]] std::string canonical_bytes(std::size_t table, const Values& values);

}  // namespace slipway::store
