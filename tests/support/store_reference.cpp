// SPDX-License-Identifier: Apache-2.0
#include "support/store_reference.hpp"

#include "store/tables.hpp"
#include "support/store_rows.hpp"

#include <algorithm>
#include <type_traits>

namespace slipway::testing {
namespace {

using namespace model;
using Op = ReferenceWrite::Op;

std::int64_t small(Random& random, std::uint64_t bound) {
  return static_cast<std::int64_t>(random.below(bound));
}
std::string word(Random& random, const std::string& prefix, std::uint64_t bound) {
  return prefix + std::to_string(random.below(bound));
}

Credential random_row(Random& random, const Credential*) {
  return credential(1 + small(random, 3), word(random, "name-", 3));
}
Environment random_row(Random& random, const Environment*) {
  Environment row = environment(1 + small(random, 3), word(random, "name-", 3));
  if (random.below(2) == 0) row.credential = CredentialId{1 + small(random, 3)};
  return row;
}
Machine random_row(Random& random, const Machine*) {
  Machine row = machine(1 + small(random, 3), word(random, "", 4), random_text(random));
  if (random.below(2) == 0) row.instance_id = word(random, "i-", 3);
  return row;
}
Attempt random_row(Random& random, const Attempt*) {
  Attempt row = attempt(static_cast<std::uint8_t>(1 + random.below(8)), word(random, "", 3));
  row.seq = small(random, 6);
  row.slot = static_cast<std::uint32_t>(random.below(2));
  fill(random, row.phase);
  row.evidence = random_text(random);
  return row;
}
Volume random_row(Random& random, const Volume*) { return volume(1 + small(random, 3), word(random, "", 2)); }
Attachment random_row(Random& random, const Attachment*) {
  return attachment(1 + small(random, 3), word(random, "", 2), word(random, "", 2));
}

bool may_exist(AttemptPhase phase) {
  return phase == AttemptPhase::sent || phase == AttemptPhase::created || phase == AttemptPhase::deleting;
}

// The two cannot both be there.
template <class Row>
bool exclude_each_other(const Row& a, const Row& b) {
  if constexpr (std::is_same_v<Row, Credential> || std::is_same_v<Row, Environment>) {
    return a.name == b.name;
  } else if constexpr (std::is_same_v<Row, Machine>) {
    return a.environment == b.environment && !a.instance_id.empty() && a.instance_id == b.instance_id;
  } else if constexpr (std::is_same_v<Row, Attempt>) {
    if (a.environment != b.environment || a.machine != b.machine) return false;
    return a.seq == b.seq ||
           (may_exist(a.phase) && may_exist(b.phase) && a.kind == b.kind && a.slot == b.slot);
  } else {
    return false;
  }
}

}  // namespace

store::Txn to_txn(const ReferenceTxn& writes) {
  store::Txn txn("reference");
  for (const ReferenceWrite& write : writes) {
    std::visit(
        [&]<class Row>(const Row& row) {
          if (write.op == Op::insert) txn.insert(row);
          if (write.op == Op::update) txn.update(row);
          if (write.op == Op::erase) txn.erase(row);
          if (write.op == Op::require_unchanged) txn.require_unchanged(row);
          if (write.op == Op::require_absent) txn.require_absent<Row>(row.key());
        },
        write.row);
  }
  return txn;
}

ReferenceTxn ReferenceState::random_txn(Random& random) const {
  ReferenceTxn txn(1 + random.below(4));
  for (ReferenceWrite& write : txn) {
    const std::uint64_t dice = random.below(20);
    write.op = dice < 9 ? Op::insert : dice < 14 ? Op::update : dice < 18 ? Op::erase : Op::require_unchanged;
    if (dice == 19) write.op = Op::require_absent;
    boost::mp11::mp_with_index<6>(static_cast<std::size_t>(random.below(6)), [&](auto kind) {
      using Row = std::variant_alternative_t<decltype(kind)::value, decltype(ReferenceWrite::row)>;
      Row row = random_row(random, static_cast<const Row*>(nullptr));
      const auto stored = all<Row>().find(row.key());
      if (stored != all<Row>().end() && random.below(8) != 0) row.revision = stored->second.revision;
      write.row = std::move(row);
    });
  }
  return txn;
}

bool ReferenceState::apply(const ReferenceTxn& txn, Revision revision, std::vector<std::string>& words) {
  ReferenceState next = *this;
  std::vector<std::string> said;
  for (const bool are_preconditions :
       {true, false}) {  // absent keys are looked at before anything is written
    for (const ReferenceWrite& write : txn) {
      if ((write.op == Op::require_absent) != are_preconditions) continue;
      const bool is_allowed = std::visit(
          [&](const auto& row) { return next.apply_one(write.op, row, revision, said); }, write.row);
      if (!is_allowed) return false;
    }
  }
  *this = std::move(next);
  words.insert(words.end(), said.begin(), said.end());
  return true;
}

template <class Row>
bool ReferenceState::apply_one(Op op, Row row, Revision revision, std::vector<std::string>& words) {
  auto& rows = all<Row>();
  const auto stored = rows.find(row.key());
  const bool is_there = stored != rows.end();
  if (op == Op::insert || op == Op::require_absent) {
    if (is_there) return false;
  } else if (!is_there || stored->second.revision != row.revision) {
    return false;
  }
  if (op == Op::require_absent || op == Op::require_unchanged) return true;
  const std::string name = store::row_name<Row>(row.key());
  if (op == Op::erase) {
    if (is_referred_to(row)) return false;
    rows.erase(row.key());
    words.push_back("removed " + name);
    return true;
  }
  if (!fits(row)) return false;
  row.revision = revision;
  rows[row.key()] = row;
  words.push_back((op == Op::insert ? "added " : "changed ") + name);
  return true;
}

template <class Row>
bool ReferenceState::fits(const Row& row) const {
  for (const auto& [key, other] : all<Row>()) {
    if (key != row.key() && exclude_each_other(row, other)) return false;
  }
  if constexpr (std::is_same_v<Row, Environment>)
    return !row.credential || all<Credential>().contains(*row.credential);
  if constexpr (std::is_same_v<Row, Machine> || std::is_same_v<Row, Volume>) {
    return all<Environment>().contains(row.environment);
  }
  if constexpr (std::is_same_v<Row, Attachment>) return all<Volume>().contains({row.environment, row.volume});
  return true;
}

template <class Row>
bool ReferenceState::is_referred_to(const Row& row) const {
  const auto any = [](const auto& rows, auto refers) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& entry) { return refers(entry.second); });
  };
  if constexpr (std::is_same_v<Row, Credential>) {
    return any(all<Environment>(), [&](const Environment& e) { return e.credential == row.id; });
  } else if constexpr (std::is_same_v<Row, Environment>) {
    return any(all<Machine>(), [&](const Machine& m) { return m.environment == row.id; }) ||
           any(all<Volume>(), [&](const Volume& v) { return v.environment == row.id; });
  } else if constexpr (std::is_same_v<Row, Volume>) {
    return any(all<Attachment>(),
               [&](const Attachment& a) { return a.environment == row.environment && a.volume == row.id; });
  } else {
    return false;
  }
}

std::optional<std::string> ReferenceState::difference(const Snapshot& shown) const {
  std::optional<std::string> wrong;
  std::apply(
      [&]<class... T>(const T&... rows) {
        const auto compare = [&]<class Key, class Row>(const std::map<Key, Row>& wanted) {
          if (wrong) return;
          const auto& found = shown.all<Row>();
          if (found.size() != wanted.size()) {
            wrong =
                message("{} rows in {}, expected {}", found.size(), store::TableOf<Row>::name, wanted.size());
          }
          for (const auto& [key, row] : wanted) {
            const auto other = shown.find<Row>(key);
            const std::string name = store::row_name<Row>(key);
            if (!other) wrong = message("{} is missing", name);
            if (!other) return;
            if (const auto member = first_difference(row, *other))
              wrong = message("{} differs in {}", name, *member);
            if (row.revision != kNotKnown && row.revision != other->revision) {
              wrong =
                  message("{} has revision {}, expected {}", name, other->revision.value, row.revision.value);
            }
          }
        };
        (compare(rows), ...);
      },
      tables_);
  return wrong;
}

void ReferenceState::adopt_revisions(const Snapshot& shown) {
  std::apply(
      [&]<class... T>(T&... rows) {
        const auto adopt = [&]<class Key, class Row>(std::map<Key, Row>& mine) {
          for (auto& [key, row] : mine) row.revision = shown.find<Row>(key)->revision;
        };
        (adopt(rows), ...);
      },
      tables_);
}

}  // namespace slipway::testing
