// SPDX-License-Identifier: Apache-2.0
#include "support/store_rows.hpp"

#include "store/tables.hpp"

#include <array>
#include <utility>

namespace slipway::testing {

using namespace model;

Nonce nonce(std::uint8_t number) {
  Nonce n;
  n.bytes.fill(number);
  return n;
}

Credential credential(std::int64_t id, std::string name) {
  Credential row;
  row.id = {id};
  row.name = name.empty() ? "credential-" + std::to_string(id) : std::move(name);
  row.provider = "sim";
  return row;
}

Environment environment(std::int64_t id, std::string name) {
  Environment row;
  row.id = {id};
  row.name = name.empty() ? "environment-" + std::to_string(id) : std::move(name);
  row.uuid = "uuid of " + row.name;
  row.provider = "sim";
  return row;
}

Machine machine(std::int64_t environment_id, std::string id, std::string message) {
  Machine row;
  row.environment = {environment_id};
  row.id = {std::move(id)};
  row.message = std::move(message);
  return row;
}

Attempt attempt(std::uint8_t number, std::string machine_id) {
  Attempt row;
  row.nonce = nonce(number);
  row.environment = {1};
  row.machine = {std::move(machine_id)};
  row.seq = number;
  row.name = "slipway-12345678-environment-1-" + std::to_string(number);
  return row;
}

Volume volume(std::int64_t environment_id, std::string id) {
  Volume row;
  row.environment = {environment_id};
  row.id = std::move(id);
  row.size_mib = 1024;
  return row;
}

Attachment attachment(std::int64_t environment_id, std::string volume_id, std::string machine_id) {
  Attachment row;
  row.environment = {environment_id};
  row.volume = std::move(volume_id);
  row.machine = {std::move(machine_id)};
  return row;
}

Pool pool(std::int64_t environment_id, std::string name) {
  Pool row;
  row.environment = {environment_id};
  row.name = std::move(name);
  return row;
}

Space space(std::int64_t environment_id, std::string name) {
  Space row;
  row.environment = {environment_id};
  row.name = std::move(name);
  return row;
}

Subnet subnet(std::int64_t environment_id, std::string cidr) {
  Subnet row;
  row.environment = {environment_id};
  row.cidr = std::move(cidr);
  return row;
}

std::string random_text(Random& random) {
  static const std::array<std::string, 14> kParts{
      "",       "web",  "O'Brien",  "\"quoted\"",      "'; DROP TABLE machine; --",
      "größer", "日本", "\t\n\x01", "{\"a\":[1]}",     "null",
      "0012",   "\\",   "1e400",    "\xf0\x9f\x90\xa7"};
  std::string text;
  for (std::uint64_t i = random.below(4); i > 0; --i) text += kParts[random.below(kParts.size())];
  return text;
}

namespace {

template <class Row>
std::optional<std::string> table_difference(const Snapshot& a, const Snapshot& b) {
  const auto name = store::TableOf<Row>::name;
  if (a.all<Row>().size() != b.all<Row>().size()) {
    return message("{} rows in {}, and {}", a.all<Row>().size(), name, b.all<Row>().size());
  }
  for (const auto& [key, row] : a.all<Row>()) {
    const auto other = b.find<Row>(key);
    if (!other) return message("{} is in one only", store::row_name<Row>(key));
    if (const auto member = first_difference(*row, *other)) {
      return message("{} differs in {}", store::row_name<Row>(key), *member);
    }
    if (row->revision != other->revision) {
      return message("{} has revision {}, and {}", store::row_name<Row>(key), row->revision.value,
                     other->revision.value);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> first_difference(const Snapshot& a, const Snapshot& b) {
  std::optional<std::string> difference;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Rows>>([&](auto row) {
    if (!difference) difference = table_difference<typename decltype(row)::type>(a, b);
  });
  return difference;
}

}  // namespace slipway::testing
