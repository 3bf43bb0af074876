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

#include <string>
#include <string_view>
#include <vector>

namespace slipway::store {

struct Prepared {
  std::vector<RowChange> rows;         // for the engine, in order; change rows included
  std::vector<model::Change> changes;  // for followers
};

struct PrepareContext {
  model::Revision revision;  // that the transaction gets
  std::int64_t now_ms = 0;   // UTC, for its change rows
  const Keys& keys;
  Random& random;
};

// Applies `txn` to `next`, a copy of the newest state that is thrown away on error. conflict: which
// precondition or index did not hold.
[[nodiscard]] Result<Prepared> prepare(Txn txn, model::Snapshot& next, const PrepareContext& context);

// A row of the table `meta`, to be put.
[[nodiscard]] RowChange meta_row(std::string_view name, std::string value);
// What a sealed secret is bound to, so that it opens in its own place only.
[[nodiscard]] std::string secret_identity(std::string_view id);

}  // namespace slipway::store
