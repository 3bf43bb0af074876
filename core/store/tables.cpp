// SPDX-License-Identifier: Apache-2.0
#include "store/tables.hpp"

#include "base/ids.hpp"

#include <slipway/codec.hpp>

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/tuple.hpp>

#include <algorithm>
#include <type_traits>

namespace slipway::store {
namespace {

using boost::mp11::mp_for_each;

template <class Row>
using MembersOf = boost::describe::describe_members<Row, boost::describe::mod_public>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;

// An id type: a struct around one `value`.
template <class T>
concept Id = std::is_class_v<T> && !is_optional<T> && requires(T id) {
  id.value;
}
&&(sizeof(T) == sizeof(T{}.value));

// What a Value is made of, as its own type: a Value would have to ask at run time what it moves.
template <class T>
decltype(auto) to_value(const T& x) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Blob>) {
    return (x);
  } else if constexpr (std::is_same_v<T, Nonce>) {
    return Blob{std::string(x.bytes.begin(), x.bytes.end())};
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(boost::describe::enum_to_string(x, "?"));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(x);
  } else if constexpr (is_optional<T>) {
    return x ? Value(to_value(*x)) : Value();
  } else if constexpr (Id<T>) {
    return to_value(x.value);
  } else {
    // Most rows have most of these at their default, and encoding them is most of a row's cost.
    static const T kDefault{};
    return x == kDefault ? std::string() : encode(x, EncodeOptions{.omit_defaults = true});
  }
}

// What went wrong, without the place.
using Wrong = std::optional<std::string>;

template <class T>
Wrong from_value(Value&& value, T& out) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Blob>) {
    auto* x = std::get_if<T>(&value);
    if (x == nullptr) return std::is_same_v<T, Blob> ? "expected a blob" : "expected text";
    out = std::move(*x);
    return {};
  } else if constexpr (std::is_same_v<T, Nonce>) {
    const auto* x = std::get_if<Blob>(&value);
    if (x == nullptr || x->bytes.size() != out.bytes.size()) return "expected a blob of 16 bytes";
    std::copy(x->bytes.begin(), x->bytes.end(), out.bytes.begin());
    return {};
  } else if constexpr (std::is_enum_v<T>) {
    const auto* x = std::get_if<std::string>(&value);
    if (x == nullptr) return "expected text";
    if (!boost::describe::enum_from_string(x->c_str(), out)) return "unknown value \"" + *x + "\"";
    return {};
  } else if constexpr (std::is_integral_v<T>) {
    const auto* x = std::get_if<std::int64_t>(&value);
    if (x == nullptr) return "expected an integer";
    if (!std::in_range<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>(*x))
      return "is out of range";
    out = static_cast<T>(*x);
    return {};
  } else if constexpr (is_optional<T>) {
    if (std::holds_alternative<std::monostate>(value)) return {};
    return from_value(std::move(value), out.emplace());
  } else if constexpr (Id<T>) {
    return from_value(std::move(value), out.value);
  } else {
    const auto* x = std::get_if<std::string>(&value);
    if (x == nullptr) return "expected JSON text";
    if (x->empty()) return {};
    auto decoded = decode<T>(*x);
    if (!decoded) return decoded.error().message;
    out = *std::move(decoded);
    return {};
  }
}

template <class Key, class Visit>
void for_each_part(const Key& key, Visit visit) {
  if constexpr (is_tuple<Key>) {
    boost::mp11::tuple_for_each(key, visit);
  } else {
    visit(key);
  }
}

template <class T>
std::string part_text(const T& part) {
  if constexpr (std::is_same_v<T, Nonce>) {
    return part.text();
  } else if constexpr (Id<T>) {
    return part_text(part.value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return part;
  } else {
    return std::to_string(part);
  }
}

template <class Row>
TableSchema table_schema(const Schema& parents) {
  using Table = TableOf<Row>;
  TableSchema table;
  table.name = Table::name;
  table.key_columns = Table::key_columns;
  table.is_resident = Table::is_resident;
  table.is_checksummed = Table::is_checksummed;
  mp_for_each<MembersOf<Row>>([&](auto member) { table.columns.emplace_back(member.name); });
  for (const Reference& reference : Table::references) {
    ForeignKey key;
    for (const std::string_view column : reference.columns) {
      if (column.empty()) continue;
      const auto at = std::find(table.columns.begin(), table.columns.end(), column);
      key.columns.push_back(static_cast<std::size_t>(at - table.columns.begin()));
    }
    const auto parent = std::find_if(parents.begin(), parents.end(),
                                     [&](const TableSchema& t) { return t.name == reference.parent; });
    key.parent = static_cast<std::size_t>(parent - parents.begin());
    table.foreign_keys.push_back(std::move(key));
  }
  return table;
}

}  // namespace

const Schema& schema() {
  static const Schema kSchema = [] {
    Schema tables;
    mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, AllRows>>(
        [&](auto row) { tables.push_back(table_schema<typename decltype(row)::type>(tables)); });
    return tables;
  }();
  return kSchema;
}

template <class Row>
Values to_values(const Row& row) {
  Values values;
  values.reserve(boost::mp11::mp_size<MembersOf<Row>>::value + 1);  // and a checksum
  mp_for_each<MembersOf<Row>>([&](auto member) { values.emplace_back(to_value(row.*member.pointer)); });
  return values;
}

template <class Row>
Result<Row> from_values(Values values) {
  Row row;
  std::size_t at = 0;
  Wrong wrong;
  std::string_view column;
  mp_for_each<MembersOf<Row>>([&](auto member) {
    if (wrong) return;
    column = member.name;
    wrong = at < values.size() ? from_value(std::move(values[at]), row.*member.pointer) : Wrong("is missing");
    ++at;
  });
  if (wrong) return fail(Code::internal, "table {}, column {}: {}", TableOf<Row>::name, column, *wrong);
  return row;
}

template <class Row>
Values key_values(const KeyOf<Row>& key) {
  Values values;
  for_each_part(key, [&](const auto& part) { values.emplace_back(to_value(part)); });
  return values;
}

template <class Row>
std::string key_text(const KeyOf<Row>& key) {
  std::string text;
  for_each_part(key, [&](const auto& part) {
    if (!text.empty()) text += ':';
    text += part_text(part);
  });
  return text;
}

std::string canonical_bytes(std::size_t table, const Values& values) {
  std::string bytes(schema()[table].name);
  const auto append_number = [&](std::uint64_t n) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>((n >> shift) & 0xff);
  };
  for (const Value& value : values) {
    bytes += static_cast<char>('0' + value.index());
    if (const auto* number = std::get_if<std::int64_t>(&value))
      append_number(static_cast<std::uint64_t>(*number));
    const auto* text = std::get_if<std::string>(&value);
    const auto* blob = std::get_if<Blob>(&value);
    if (text == nullptr && blob == nullptr) continue;
    const std::string& content = text != nullptr ? *text : blob->bytes;
    append_number(content.size());
    bytes += content;
  }
  return bytes;
}

#define SLIPWAY_INSTANTIATE_ROW(Row)                  \
  template Values to_values<Row>(const Row&);         \
  template Result<Row> from_values<Row>(Values);      \
  template Values key_values<Row>(const KeyOf<Row>&); \
  template std::string key_text<Row>(const KeyOf<Row>&);
SLIPWAY_INSTANTIATE_ROW(MetaRow)
SLIPWAY_INSTANTIATE_ROW(SecretRow)
SLIPWAY_INSTANTIATE_ROW(model::Change)
SLIPWAY_INSTANTIATE_ROW(model::Credential)
SLIPWAY_INSTANTIATE_ROW(model::Environment)
SLIPWAY_INSTANTIATE_ROW(model::Machine)
SLIPWAY_INSTANTIATE_ROW(model::Attempt)
SLIPWAY_INSTANTIATE_ROW(model::Pool)
SLIPWAY_INSTANTIATE_ROW(model::Volume)
SLIPWAY_INSTANTIATE_ROW(model::Attachment)
SLIPWAY_INSTANTIATE_ROW(model::Space)
SLIPWAY_INSTANTIATE_ROW(model::Subnet)
SLIPWAY_INSTANTIATE_ROW(model::PluginNote)
#undef SLIPWAY_INSTANTIATE_ROW

}  // namespace slipway::store
