// SPDX-License-Identifier: Apache-2.0
// conformance_index_test.cpp - what may be there once only, and what must be there for something else: unique
// indexes and references.
#include "support/store_fixture.hpp"

using namespace slipway;
using namespace slipway::testing;
using namespace slipway::model;
using store::Txn;

namespace {

Machine with_instance(Machine row, std::string instance) {
  row.instance_id = std::move(instance);
  return row;
}

Attempt in_phase(Attempt row, AttemptPhase phase) {
  row.phase = phase;
  return row;
}

}  // namespace

// ---- Unique indexes ----

SLIPWAY_STORE_CASE("two credentials cannot have one name") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(credential(1, "main")));
  CHECK(on.fixture.conflict(inserting(credential(2, "main"))) == "a credential named main exists");
  on.fixture.committed(inserting(credential(2, "other")));
  Credential renamed = on.fixture.template get<Credential>({2});
  renamed.name = "main";
  CHECK(on.fixture.conflict(updating(renamed)) == "a credential named main exists");
}

SLIPWAY_STORE_CASE("two environments cannot have one name") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1, "prod")));
  CHECK(on.fixture.conflict(inserting(environment(2, "prod"))) == "an environment named prod exists");
  CHECK(on.fixture.conflict(inserting(environment(2, "new"), environment(3, "new"))) ==
        "an environment named new exists");
}

SLIPWAY_STORE_CASE("two machines of an environment cannot have one instance, those of two environments can") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1), environment(2)));
  on.fixture.committed(inserting(with_instance(machine(1, "0"), "i-1"), machine(1, "1"), machine(1, "2")));
  CHECK(on.fixture.conflict(inserting(with_instance(machine(1, "3"), "i-1"))) ==
        "another machine has the instance i-1");
  on.fixture.committed(inserting(with_instance(machine(2, "0"), "i-1")));
  on.fixture.reopen();
  CHECK(on.fixture.conflict(inserting(with_instance(machine(1, "3"), "i-1"))) ==
        "another machine has the instance i-1");
}

SLIPWAY_STORE_CASE("a row may keep its own index key") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(with_instance(machine(1, "0"), "i-1")));
  Machine changed = on.fixture.get_machine("0");
  changed.message = "new";
  on.fixture.committed(updating(changed));
  CHECK(on.fixture.get_machine("0").message == "new");
}

SLIPWAY_STORE_CASE("an index key that was given up is free, also within the transaction") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(with_instance(machine(1, "0"), "i-1"), machine(1, "1")));
  Txn txn("test");
  txn.update(with_instance(on.fixture.get_machine("0"), ""))
      .update(with_instance(on.fixture.get_machine("1"), "i-1"));
  on.fixture.committed(std::move(txn));
  Txn erase("test");
  erase.erase(on.fixture.get_machine("1")).insert(with_instance(machine(1, "2"), "i-1"));
  on.fixture.committed(std::move(erase));
  const auto holder = on.fixture->snapshot().template find_by<Machine, Machine::ByInstance>({{1}, "i-1"});
  REQUIRE(holder);
  CHECK(holder->id.value == "2");
}

SLIPWAY_STORE_CASE("an index key is taken until it is given up: the order of the writes counts") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(with_instance(machine(1, "0"), "i-1"), machine(1, "1")));
  Txn txn("test");
  txn.update(with_instance(on.fixture.get_machine("1"), "i-1"))
      .update(with_instance(on.fixture.get_machine("0"), ""));
  const std::string said = on.fixture.conflict(std::move(txn));
  CHECK(said == "another machine has the instance i-1");
}

SLIPWAY_STORE_CASE("an index finds the row as it is now, after updates and after a restart") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(with_instance(machine(1, "0"), "i-1")));
  on.fixture.committed(updating(with_instance(on.fixture.get_machine("0"), "i-2")));
  for (int i = 0; i < 2; ++i) {
    const Snapshot snapshot = on.fixture->snapshot();
    CHECK_FALSE((snapshot.template find_by<Machine, Machine::ByInstance>({{1}, "i-1"})));
    const auto found = snapshot.template find_by<Machine, Machine::ByInstance>({{1}, "i-2"});
    REQUIRE(found);
    CHECK(found->revision == on.fixture.get_machine("0").revision);
    on.fixture.reopen();
  }
}

SLIPWAY_STORE_CASE("an attempt's number is used once for a machine, also when the attempt is over") {
  StoreOn<TestType> on;
  Attempt first = in_phase(attempt(1), AttemptPhase::gone);
  on.fixture.committed(inserting(first));
  Attempt second = attempt(2);
  second.seq = first.seq;
  CHECK(on.fixture.conflict(inserting(second)) == "attempt 1 of machine 0 exists");
  second.machine = {"1"};
  on.fixture.committed(inserting(second));
}

SLIPWAY_STORE_CASE("a slot has one attempt that may exist") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(attempt(1)));
  CHECK(on.fixture.conflict(inserting(attempt(2))) == "machine 0 has an active attempt for server 0");
  for (const AttemptPhase phase : {AttemptPhase::created, AttemptPhase::deleting}) {
    on.fixture.committed(updating(in_phase(on.fixture.template get<Attempt>(nonce(1)), phase)));
    CHECK(on.fixture.conflict(inserting(attempt(2))) == "machine 0 has an active attempt for server 0");
  }
  Attempt other_slot = attempt(3);
  other_slot.slot = 1;
  Attempt other_kind = attempt(4);
  other_kind.kind = ResourceKind::port;
  on.fixture.committed(inserting(other_slot, other_kind, attempt(5, "1")));
  on.fixture.reopen();
  CHECK(on.fixture.conflict(inserting(attempt(2))) == "machine 0 has an active attempt for server 0");
}

SLIPWAY_STORE_CASE("a slot is handed over within one transaction: the old attempt gone, the new one sent") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(attempt(1)));
  Txn txn("test");
  txn.update(in_phase(on.fixture.template get<Attempt>(nonce(1)), AttemptPhase::gone)).insert(attempt(2));
  on.fixture.committed(std::move(txn));
  on.fixture.reopen();
  const auto active = on.fixture->snapshot().template find_by<Attempt, Attempt::Active>(
      {{1}, {"0"}, ResourceKind::server, 0});
  REQUIRE(active);
  CHECK(active->nonce == nonce(2));
  CHECK(on.fixture.template get<Attempt>(nonce(1)).phase == AttemptPhase::gone);
}

SLIPWAY_STORE_CASE("a slot cannot be handed over the wrong way round") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(attempt(1)));
  Txn txn("test");
  txn.insert(attempt(2)).update(in_phase(on.fixture.template get<Attempt>(nonce(1)), AttemptPhase::gone));
  const std::string said = on.fixture.conflict(std::move(txn));
  CHECK(said == "machine 0 has an active attempt for server 0");
  CHECK_FALSE(on.fixture.template has<Attempt>(nonce(2)));
}

SLIPWAY_STORE_CASE("an attempt that is over can be active again only if its slot is free") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(in_phase(attempt(1), AttemptPhase::abandoned), attempt(2)));
  CHECK(on.fixture.conflict(
            updating(in_phase(on.fixture.template get<Attempt>(nonce(1)), AttemptPhase::created))) ==
        "machine 0 has an active attempt for server 0");
  on.fixture.committed(
      updating(in_phase(on.fixture.template get<Attempt>(nonce(2)), AttemptPhase::rejected)));
  on.fixture.committed(updating(in_phase(on.fixture.template get<Attempt>(nonce(1)), AttemptPhase::created)));
}

SLIPWAY_STORE_CASE("attachments are found by their machine") {
  StoreOn<TestType> on;
  add_environment(on.fixture);
  on.fixture.committed(inserting(volume(1, "a"), volume(1, "b")));
  on.fixture.committed(inserting(attachment(1, "a", "0"), attachment(1, "b", "0"), attachment(1, "a", "1")));
  on.fixture.reopen();
  const Snapshot snapshot = on.fixture->snapshot();
  const auto& by_machine = snapshot.template by<Attachment, Attachment::ByMachine>();
  std::vector<std::string> volumes;
  for (auto at = by_machine.lower_bound(Attachment::ByMachine::Key{{1}, {"0"}, ""});
       at != by_machine.end() && at->second->machine.value == "0"; ++at) {
    volumes.push_back(at->second->volume);
  }
  CHECK(volumes == std::vector<std::string>{"a", "b"});
}

// ---- References ----

SLIPWAY_STORE_CASE("a machine needs its environment") {
  StoreOn<TestType> on;
  CHECK(on.fixture.conflict(inserting(machine(1, "0"))) == "table machine: its environment does not exist");
  CHECK(on.fixture.conflict(inserting(machine(1, "0"), environment(1))) ==
        "table machine: its environment does not exist");
  on.fixture.committed(inserting(environment(1), machine(1, "0")));
  on.fixture.reopen();  // on a file that was made before
  CHECK(on.fixture.conflict(inserting(machine(2, "0"))) == "table machine: its environment does not exist");
}

SLIPWAY_STORE_CASE("an environment goes only after its machines") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1), machine(1, "0")));
  const auto row = on.fixture.template get<Environment>({1});
  CHECK(on.fixture.conflict(erasing(row)) == "table environment: a row of machine refers to it");
  CHECK(on.fixture.template has<Environment>({1}));
  Txn wrong_order("test");
  wrong_order.erase(row).erase(on.fixture.get_machine("0"));
  CHECK_THAT(on.fixture.conflict(std::move(wrong_order)), Catch::Contains("a row of machine refers to it"));
  Txn right_order("test");
  right_order.erase(on.fixture.get_machine("0")).erase(row);
  on.fixture.committed(std::move(right_order));
  on.fixture.reopen();
  CHECK_FALSE(on.fixture.template has<Environment>({1}));
}

SLIPWAY_STORE_CASE("an environment is updated although machines refer to it") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1), machine(1, "0")));
  auto row = on.fixture.template get<Environment>({1});
  row.is_paused = true;
  on.fixture.committed(updating(row));
  CHECK(on.fixture.template get<Environment>({1}).is_paused);
}

SLIPWAY_STORE_CASE("an environment needs the credential that it names, and none if it names none") {
  StoreOn<TestType> on;
  Environment row = environment(1);
  row.credential = CredentialId{5};
  CHECK(on.fixture.conflict(inserting(row)) == "table environment: its credential does not exist");
  on.fixture.committed(inserting(environment(2)));
  on.fixture.committed(inserting(credential(5), row));
  CHECK(on.fixture.conflict(erasing(on.fixture.template get<Credential>({5}))) ==
        "table credential: a row of environment refers to it");
  row = on.fixture.template get<Environment>({1});
  row.credential.reset();
  on.fixture.committed(updating(row));
  on.fixture.committed(erasing(on.fixture.template get<Credential>({5})));
}

SLIPWAY_STORE_CASE("an update cannot point to a row that is not there") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1)));
  auto row = on.fixture.template get<Environment>({1});
  row.credential = CredentialId{9};
  CHECK(on.fixture.conflict(updating(row)) == "table environment: its credential does not exist");
  CHECK_FALSE(on.fixture.template get<Environment>({1}).credential);
}

SLIPWAY_STORE_CASE("an attachment needs its volume, and keeps it") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1), environment(2), volume(2, "data")));
  CHECK(on.fixture.conflict(inserting(attachment(1, "data", "0"))) ==
        "table attachment: its volume does not exist");
  on.fixture.committed(inserting(volume(1, "data"), attachment(1, "data", "0")));
  CHECK(on.fixture.conflict(erasing(on.fixture.template get<Volume>({{1}, "data"}))) ==
        "table volume: a row of attachment refers to it");
  on.fixture.committed(erasing(on.fixture.template get<Volume>({{2}, "data"})));
}

SLIPWAY_STORE_CASE("pools, volumes, spaces and subnets need their environment") {
  StoreOn<TestType> on;
  CHECK(on.fixture.conflict(inserting(pool(1, "p"))) == "table pool: its environment does not exist");
  CHECK(on.fixture.conflict(inserting(volume(1, "v"))) == "table volume: its environment does not exist");
  CHECK(on.fixture.conflict(inserting(space(1, "s"))) == "table space: its environment does not exist");
  CHECK(on.fixture.conflict(inserting(subnet(1, "c"))) == "table subnet: its environment does not exist");
}

SLIPWAY_STORE_CASE("an attempt is remembered when its machine and its environment are gone") {
  StoreOn<TestType> on;
  on.fixture.committed(inserting(environment(1), machine(1, "0"), attempt(1)));
  Txn txn("test");
  txn.erase(on.fixture.get_machine("0")).erase(on.fixture.template get<Environment>({1}));
  on.fixture.committed(std::move(txn));
  on.fixture.reopen();
  CHECK(on.fixture.template has<Attempt>(nonce(1)));
}
