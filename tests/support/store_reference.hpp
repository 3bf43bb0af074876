// SPDX-License-Identifier: Apache-2.0
// store_reference.hpp - the store's rules once more, as naively as they can be written: every check looks at
// every row. What the real store does with random transactions is held against it. A value.
#pragma once

#include "base/random.hpp"
#include "model/snapshot.hpp"
#include "store/txn.hpp"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace slipway::testing {

// One write of a transaction.
struct ReferenceWrite {
  enum class Op { insert, update, erase, require_unchanged, require_absent };
  Op op = Op::insert;
  std::variant<model::Credential, model::Environment, model::Machine, model::Attempt, model::Volume,
               model::Attachment>
      row;
};
using ReferenceTxn = std::vector<ReferenceWrite>;

[[nodiscard]] store::Txn to_txn(const ReferenceTxn& txn);

class ReferenceState {
 public:
  // For what is applied before its revision is known.
  static constexpr model::Revision kNotKnown{~std::uint64_t{0}};

  // A random transaction of one to four writes over few keys, mostly with the right revisions.
  [[nodiscard]] ReferenceTxn random_txn(Random& random) const;

  // True if it is allowed; then it is in the state, its rows with this revision. `words` gets "added machine
  // 1:0" for each change.
  [[nodiscard]] bool apply(const ReferenceTxn& txn, model::Revision revision,
                           std::vector<std::string>& words);

  // Nothing if the snapshot has the same rows. Revisions are compared where they are known.
  [[nodiscard]] std::optional<std::string> difference(const model::Snapshot& shown) const;
  // Takes the revisions of the snapshot's rows, which are otherwise the same.
  void adopt_revisions(const model::Snapshot& shown);

 private:
  template <class Row>
  using Table = std::map<typename Row::Key, Row>;

  template <class Row>
  [[nodiscard]] Table<Row>& all() {
    return std::get<Table<Row>>(tables_);
  }
  template <class Row>
  [[nodiscard]] const Table<Row>& all() const {
    return std::get<Table<Row>>(tables_);
  }
  template <class Row>
  [[nodiscard]] bool apply_one(ReferenceWrite::Op op, Row row, model::Revision revision,
                               std::vector<std::string>& words);
  // Its index keys are free and its references there.
  template <class Row>
  [[nodiscard]] bool fits(const Row& row) const;
  template <class Row>
  [[nodiscard]] bool is_referred_to(const Row& row) const;

  std::tuple<Table<model::Credential>, Table<model::Environment>, Table<model::Machine>,
             Table<model::Attempt>, Table<model::Volume>, Table<model::Attachment>>
      tables_;
};

}  // namespace slipway::testing
