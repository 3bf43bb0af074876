// SPDX-License-Identifier: Apache-2.0
#include "store/prepare.hpp"

#include "store/tables.hpp"

#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

namespace slipway::store {
namespace {

using model::Change;
using model::ChangeOp;

template <class Row>
model::EnvironmentId environment_of(const Row& row) {
  if constexpr (requires { row.environment; }) {
    return row.environment;
  } else if constexpr (std::is_same_v<Row, model::Environment>) {
    return row.id;
  } else {
    return {};
  }
}

// A row as the engine keeps it: with its checksum, where its table has one.
template <class Row>
Values stored_values(const Row& row, const Keys& keys) {
  Values values = to_values(row);
  if constexpr (TableOf<Row>::is_checksummed) {
    values.emplace_back(Blob{keys.row_checksum(canonical_bytes(kTableNumber<Row>, values))});
  }
  return values;
}

class Preparation {
 public:
  Preparation(const std::string& actor, model::Snapshot& state, Undo& undo, const PrepareContext& context)
      : actor_(actor), state_(state), undo_(undo), context_(context) {}

  template <class Row>
  Status require_absent(const typename Row::Key& key) {
    if (const auto stored = state_.find<Row>(key)) {
      return fail(Code::conflict, "{} exists since revision {}", row_name<Row>(key), stored->revision.value);
    }
    return ok();
  }

  // The stored row is the one that `row` was made from.
  template <class Row>
  Status require_unchanged(const Row& row) {
    const auto stored = state_.find<Row>(row.key());
    if (!stored) return fail(Code::conflict, "{} is not there any more", row_name<Row>(row.key()));
    if (stored->revision == row.revision) return ok();
    return fail(Code::conflict, "{} was changed: read at revision {}, now at {}", row_name<Row>(row.key()),
                row.revision.value, stored->revision.value);
  }

  template <class Row>
  Status insert(std::shared_ptr<Row> row, std::string note) {
    SLIPWAY_TRY(require_absent<Row>(row->key()));
    return put(std::move(row), RowOp::insert, ChangeOp::added, std::move(note));
  }

  template <class Row>
  Status update(std::shared_ptr<Row> row, std::string note) {
    SLIPWAY_TRY(require_unchanged(*row));
    return put(std::move(row), RowOp::update, ChangeOp::changed, std::move(note));
  }

  template <class Row>
  Status erase(const Row& row, std::string&& note) {
    SLIPWAY_TRY(require_unchanged(row));
    result_.rows.push_back({kTableNumber<Row>, RowOp::erase, key_values<Row>(row.key())});
    undo_.note_replaced(state_.erase<Row>(row.key()));
    add_change(TableOf<Row>::entity, ChangeOp::removed, environment_of(row), key_text<Row>(row.key()),
               std::move(note));
    return ok();
  }

  void put_secret(const std::string& id, const Secret& secret) {
    const SecretRow row{
        id, {context_.keys.seal(secret, secret_identity(id), context_.random)}, context_.revision};
    result_.rows.push_back({kTableNumber<SecretRow>, RowOp::put, to_values(row)});
    add_change(model::Entity::secret, ChangeOp::changed, {}, id, {});
  }

  // Absent is success, but an engine erases only what is there. So it is there.
  void erase_secret(const std::string& id) {
    result_.rows.push_back({kTableNumber<SecretRow>, RowOp::put, to_values(SecretRow{id, {}, {}})});
    result_.rows.push_back({kTableNumber<SecretRow>, RowOp::erase, {Value(id)}});
    add_change(model::Entity::secret, ChangeOp::removed, {}, id, {});
  }

  void raise_incarnation() {
    result_.rows.push_back(meta_row("incarnation", std::to_string(++state_.controller.incarnation)));
  }

  Prepared finish() {
    state_.revision = context_.revision;
    std::vector<RowChange> rows;
    rows.reserve(result_.changes.size() + result_.rows.size());
    for (const Change& change : result_.changes) {
      rows.push_back({kTableNumber<Change>, RowOp::insert, to_values(change)});
    }
    std::move(result_.rows.begin(), result_.rows.end(), std::back_inserter(rows));
    result_.rows = std::move(rows);
    return std::move(result_);
  }

 private:
  template <class Row>
  Status put(std::shared_ptr<Row> row, RowOp op, ChangeOp change, std::string&& note) {
    if (auto conflict = state_.index_conflict(*row)) return fail(Code::conflict, "{}", *conflict);
    row->revision = context_.revision;
    result_.rows.push_back({kTableNumber<Row>, op, stored_values(*row, context_.keys)});
    add_change(TableOf<Row>::entity, change, environment_of(*row), key_text<Row>(row->key()),
               std::move(note));
    if (auto old = state_.put<Row>(row)) {
      undo_.note_replaced(std::move(old));
    } else {
      undo_.note_added<Row>(std::move(row));
    }
    return ok();
  }

  void add_change(model::Entity entity, ChangeOp op, model::EnvironmentId environment, std::string key,
                  std::string note) {
    const auto ordinal = static_cast<std::uint32_t>(result_.changes.size());
    result_.changes.push_back({context_.revision, ordinal, context_.now_ms, environment, entity, op,
                               std::move(key), actor_, std::move(note)});
  }

  const std::string& actor_;
  model::Snapshot& state_;
  Undo& undo_;
  const PrepareContext& context_;
  Prepared result_;
};

}  // namespace

void Undo::take_back(model::Snapshot& state) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::visit(
        [&]<class Row>(const std::shared_ptr<const Row>& row) {
          if (step->is_added) {
            state.erase<Row>(row->key());
          } else {
            state.put<Row>(row);
          }
        },
        step->row);
  }
  state.revision = revision_;
  state.controller = controller_;
}

Result<Prepared> prepare(Txn txn, model::Snapshot& state, Undo& undo, const PrepareContext& context) {
  Preparation preparation(txn.actor_, state, undo, context);
  for (const auto& absent : txn.absent_) {
    SLIPWAY_TRY(std::visit(
        [&]<class Row>(const Txn::AbsentKey<Row>& key) { return preparation.require_absent<Row>(key.key); },
        absent));
  }
  for (Txn::Write& write : txn.writes_) {
    SLIPWAY_TRY(std::visit(
        [&](auto& row) {
          switch (write.op) {
            case Txn::Write::Op::insert:
              return preparation.insert(std::move(row), std::move(write.note));
            case Txn::Write::Op::update:
              return preparation.update(std::move(row), std::move(write.note));
            case Txn::Write::Op::erase:
              return preparation.erase(*row, std::move(write.note));
            case Txn::Write::Op::require:
              break;
          }
          return preparation.require_unchanged(*row);
        },
        write.row));
  }
  for (const Txn::SecretWrite& write : txn.secrets_) {
    if (write.is_put) {
      preparation.put_secret(write.id, write.secret);
    } else {
      preparation.erase_secret(write.id);
    }
  }
  if (txn.raises_incarnation_) preparation.raise_incarnation();
  return preparation.finish();
}

RowChange meta_row(std::string_view name, std::string value) {
  return {kTableNumber<MetaRow>, RowOp::put, to_values(MetaRow{std::string(name), std::move(value)})};
}

std::string secret_identity(std::string_view id) { return message("secret/sealed/{}", id); }

}  // namespace slipway::store
