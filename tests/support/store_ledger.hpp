// SPDX-License-Identifier: Apache-2.0
// store_ledger.hpp - what a store may hold after commits of which some failed: every state that agrees with
// what its caller was told. A commit without an answer doubles the possibilities; looking at the store leaves
// one. One owner.
#pragma once

#include "model/change.hpp"
#include "model/snapshot.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace slipway::testing {

class StoreLedger {
 public:
  // Machine and attempt keys with their texts.
  using State = std::map<std::string, std::string>;

  // The n-th transaction on what `now` shows: n % 3 + 1 new machines, the message of the oldest one changed,
  // now and then an attempt, a machine erased. Each change's note is the row's new text.
  [[nodiscard]] static store::Txn transaction(std::uint64_t n, const model::Snapshot& now);
  [[nodiscard]] static State state_of(const model::Snapshot& snapshot);

  // To be called around each commit of transaction(n, now).
  void begin(std::uint64_t n, const model::Snapshot& now);
  void end(const store::Store::Committed& end);
  // What the store shows, when it says that it is well. Nothing, or what is wrong.
  [[nodiscard]] std::optional<std::string> look(const model::Snapshot& shown);
  // All changes of all time lead to the state.
  [[nodiscard]] static std::optional<std::string> check_changes(const std::vector<model::Change>& changes,
                                                                const model::Snapshot& shown);

 private:
  std::set<State> possible_{State()};
  State before_;
  State after_;
};

}  // namespace slipway::testing
