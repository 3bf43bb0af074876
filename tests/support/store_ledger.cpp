// SPDX-License-Identifier: Apache-2.0
#include "support/store_ledger.hpp"

#include "store/tables.hpp"
#include "support/store_rows.hpp"

#include <utility>

namespace slipway::testing {
namespace {

using model::Attempt;
using model::AttemptPhase;
using model::Machine;
using model::Snapshot;

// What transaction n writes, in order; an empty text: the row is erased.
struct Plan {
  std::vector<Machine> added;
  std::optional<Machine> changed;
  std::optional<Machine> erased;
  std::optional<Attempt> sent;
};

Plan plan_of(std::uint64_t n, const Snapshot& now) {
  Plan plan;
  const auto& machines = now.all<Machine>();
  if (!machines.empty()) {
    plan.changed = *machines.begin()->second;
    plan.changed->message = "changed by " + std::to_string(n);
  }
  if (n % 4 == 3 && machines.size() > 2) plan.erased = *std::next(machines.begin())->second;
  for (std::uint64_t i = 0; i <= n % 3; ++i) {
    plan.added.push_back(machine(1, std::to_string(10 * n + i), "added by " + std::to_string(n)));
  }
  if (n % 5 == 1) plan.sent = attempt(static_cast<std::uint8_t>(n + 1), std::to_string(n));
  return plan;
}

std::string key_of(const Machine& row) { return "machine " + store::key_text<Machine>(row.key()); }
std::string key_of(const Attempt& row) { return "attempt " + store::key_text<Attempt>(row.key()); }

void carry_out(const Plan& plan, StoreLedger::State& state) {
  for (const Machine& row : plan.added) state[key_of(row)] = row.message;
  if (plan.changed) state[key_of(*plan.changed)] = plan.changed->message;
  if (plan.erased) state.erase(key_of(*plan.erased));
  if (plan.sent) state[key_of(*plan.sent)] = plan.sent->name;
}

std::string first_of(const StoreLedger::State& a, const StoreLedger::State& b) {
  for (const auto& [key, text] : a) {
    const auto other = b.find(key);
    if (other == b.end()) return message("{} is missing", key);
    if (other->second != text) return message("{} is \"{}\", expected \"{}\"", key, other->second, text);
  }
  for (const auto& [key, text] : b) {
    if (!a.contains(key)) return message("{} is there and should not", key);
  }
  return {};
}

}  // namespace

store::Txn StoreLedger::transaction(std::uint64_t n, const Snapshot& now) {
  Plan plan = plan_of(n, now);
  store::Txn txn("ledger");
  if (now.all<model::Environment>().empty()) txn.insert(environment(1));
  for (Machine& row : plan.added) txn.insert(row, row.message);
  if (plan.changed) txn.update(*plan.changed, plan.changed->message);
  if (plan.erased) txn.erase(*plan.erased);
  if (plan.sent) txn.insert(*plan.sent, plan.sent->name);
  return txn;
}

StoreLedger::State StoreLedger::state_of(const Snapshot& snapshot) {
  State state;
  for (const auto& [key, row] : snapshot.all<Machine>()) state[key_of(*row)] = row->message;
  for (const auto& [key, row] : snapshot.all<Attempt>()) state[key_of(*row)] = row->name;
  return state;
}

void StoreLedger::begin(std::uint64_t n, const Snapshot& now) {
  before_ = state_of(now);
  after_ = before_;
  carry_out(plan_of(n, now), after_);
}

void StoreLedger::end(const store::Store::Committed& end) {
  if (end.has_value()) {
    possible_ = {after_};  // its preconditions held, so the state was the one that it was made from
  } else if (end.error().outcome == Outcome::unknown && end.error().code != Code::conflict) {
    possible_.insert(after_);
  }
}

std::optional<std::string> StoreLedger::look(const Snapshot& shown) {
  const State state = state_of(shown);
  if (!possible_.contains(state)) {
    return message("not one of the {} states that it may be in: {}", possible_.size(),
                   first_of(*possible_.begin(), state));
  }
  possible_ = {state};
  return std::nullopt;
}

std::optional<std::string> StoreLedger::check_changes(const std::vector<model::Change>& changes,
                                                      const Snapshot& shown) {
  State state;
  for (const model::Change& change : changes) {
    if (change.entity != model::Entity::machine && change.entity != model::Entity::attempt) continue;
    const std::string key = message("{} {}", change.entity, change.id);
    if (change.op == model::ChangeOp::removed) state.erase(key);
    if (change.op != model::ChangeOp::removed) state[key] = change.note;
  }
  const std::string difference = first_of(state_of(shown), state);
  if (difference.empty()) return std::nullopt;
  return "by the changes " + difference;
}

}  // namespace slipway::testing
