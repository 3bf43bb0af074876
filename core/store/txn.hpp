// SPDX-License-Identifier: Apache-2.0
// txn.hpp - what one transaction wants: preconditions and writes, applied all or none. A value, built by one
// thread.
//   Txn txn("uid:0");
//   txn.insert(machine, "added").update(environment);
//   store.commit(std::move(txn), ...);
#pragma once

#include "base/secret.hpp"
#include "model/snapshot.hpp"

#include <boost/mp11/algorithm.hpp>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace slipway::store {

struct Prepared;
struct PrepareContext;
class Undo;
class Txn;
[[nodiscard]] Result<Prepared> prepare(Txn txn, model::Snapshot& state, Undo& undo,
                                       const PrepareContext& context);

class Txn {
 public:
  // `actor`: who wants it, for the change rows: "uid:1000", "token:ci", "provisioner".
  explicit Txn(std::string actor) : actor_(std::move(actor)) {}

  // The key must be absent. `note` says in words what happened, for events ("building -> running").
  template <class Row>
  Txn& insert(Row row, std::string note = {}) {
    writes_.push_back({std::make_shared<Row>(std::move(row)), Write::Op::insert, std::move(note)});
    return *this;
  }
  // The stored row must be the one that `row` was made from: same key, same revision.
  template <class Row>
  Txn& update(Row row, std::string note = {}) {
    writes_.push_back({std::make_shared<Row>(std::move(row)), Write::Op::update, std::move(note)});
    return *this;
  }
  // As update; the row goes.
  template <class Row>
  Txn& erase(Row row, std::string note = {}) {
    writes_.push_back({std::make_shared<Row>(std::move(row)), Write::Op::erase, std::move(note)});
    return *this;
  }
  // The stored row must still be this one; it is not written.
  template <class Row>
  Txn& require_unchanged(Row row) {
    writes_.push_back({std::make_shared<Row>(std::move(row)), Write::Op::require, {}});
    return *this;
  }
  // No row has this key.
  template <class Row>
  Txn& require_absent(const typename Row::Key& key) {
    absent_.push_back(AbsentKey<Row>{key});
    return *this;
  }

  // Sets the secret, sealed, whether or not it was there. It has to be the only write to this id.
  Txn& put_secret(std::string id, Secret secret) {
    secrets_.push_back({std::move(id), std::move(secret), true});
    return *this;
  }
  // Absent is success.
  Txn& erase_secret(std::string id) {
    secrets_.push_back({std::move(id), Secret(), false});
    return *this;
  }

  // The state turned out to be older than the cloud (EXACTLY_ONCE, Harvest).
  Txn& raise_incarnation() {
    raises_incarnation_ = true;
    return *this;
  }

  [[nodiscard]] bool is_empty() const {
    return writes_.empty() && absent_.empty() && secrets_.empty() && !raises_incarnation_;
  }

 private:
  friend Result<Prepared> prepare(Txn txn, model::Snapshot& state, Undo& undo, const PrepareContext& context);

  template <class Row>
  struct AbsentKey {
    typename Row::Key key;
  };
  template <class Row>
  using MutablePtr = std::shared_ptr<Row>;
  template <class List>
  using AsVariant = boost::mp11::mp_rename<List, std::variant>;

  struct Write {
    enum class Op { insert, update, erase, require };
    AsVariant<boost::mp11::mp_transform<MutablePtr, model::Rows>> row;
    Op op;
    std::string note;
  };
  struct SecretWrite {
    std::string id;
    Secret secret;
    bool is_put;
  };

  std::string actor_;
  std::vector<Write> writes_;
  std::vector<AsVariant<boost::mp11::mp_transform<AbsentKey, model::Rows>>> absent_;
  std::vector<SecretWrite> secrets_;
  bool raises_incarnation_ = false;
};

}  // namespace slipway::store
