// SPDX-License-Identifier: Apache-2.0
// prepare.hpp - from a transaction to the rows it writes: preconditions, indexes, revision, change rows,
// checksums, sealing. Pure but for the random nonces of sealing: the same transaction on the same snapshot,
// the same rows.
#pragma once

#include "base/random.hpp"
#include "model/change.hpp"
#include "model/snapshot.hpp"
#include "store/engine.hpp"
#include "store/keys.hpp"
#include "store/txn.hpp"

#include <slipway/result.hpp>

#include <boost/mp11/algorithm.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace slipway::store {

// What a transaction did to a snapshot, so that it can be taken back: cheaper than working on a copy, which
// would share every node and so copy the path to each row that is changed.
class Undo {
 public:
  explicit Undo(const model::Snapshot& before) : revision_(before.revision), controller_(before.controller) {}

  template <class Row>
  void note_added(model::RowPtr<Row> row) {
    steps_.push_back({std::move(row), true});
  }
  // It was changed or erased; `old` is what stood there.
  template <class Row>
  void note_replaced(model::RowPtr<Row> old) {
    steps_.push_back({std::move(old), false});
  }
  void take_back(model::Snapshot& state) const;

 private:
  struct Step {
    boost::mp11::mp_rename<boost::mp11::mp_transform<model::RowPtr, model::Rows>, std::variant> row;
    bool is_added;
  };
  model::Revision revision_;
  model::Controller controller_;
  std::vector<Step> steps_;
};

struct Prepared {
  std::vector<RowChange> rows;         // for the engine, in order; change rows first
  std::vector<model::Change> changes;  // for followers
};

struct PrepareContext {
  model::Revision revision;  // that the transaction gets
  std::int64_t now_ms = 0;   // UTC, for its change rows
  const Keys& keys;
  Random& random;
};

// Applies `txn` to `state`, the newest; `undo` knows how to take it back, which is the caller's, also after
// an error. conflict: which precondition or index did not hold.
[[nodiscard]] Result<Prepared> prepare(Txn txn, model::Snapshot& state, Undo& undo,
                                       const PrepareContext& context);

// A row of the table `meta`, to be put.
[[nodiscard]] RowChange meta_row(std::string_view name, std::string value);
// What a sealed secret is bound to, so that it opens in its own place only.
[[nodiscard]] std::string secret_identity(std::string_view id);

}  // namespace slipway::store
