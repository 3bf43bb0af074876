// SPDX-License-Identifier: Apache-2.0
// change.hpp - what happened to which row, written in the transaction that did it: feeds watchers, events,
// audit.
#pragma once

#include "model/ids.hpp"

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <string>
#include <tuple>

namespace slipway::model {

// What kind of row; one for each table that people or workers watch.
enum class Entity {
  environment,
  credential,
  machine,
  attempt,
  pool,
  volume,
  attachment,
  space,
  subnet,
  plugin_note,
  secret
};
BOOST_DESCRIBE_ENUM(Entity, environment, credential, machine, attempt, pool, volume, attachment, space,
                    subnet, plugin_note, secret)

enum class ChangeOp { added, changed, removed };
BOOST_DESCRIBE_ENUM(ChangeOp, added, changed, removed)

struct Change {
  Revision revision;          // of its transaction
  std::uint32_t ordinal = 0;  // within its transaction, from 0
  std::int64_t at_ms = 0;
  EnvironmentId environment;  // 0: none (a credential, a secret)
  Entity entity = Entity::machine;
  ChangeOp op = ChangeOp::changed;
  std::string id;     // the row's key as text: "1:3/lxc/0" (environment and machine), a nonce
  std::string actor;  // who: "uid:1000", "token:ci", "provisioner"
  std::string note;   // what, in words: "building -> running"

  using Key = std::tuple<Revision, std::uint32_t>;
  [[nodiscard]] Key key() const { return {revision, ordinal}; }
  bool operator==(const Change&) const = default;
};
BOOST_DESCRIBE_STRUCT(Change, (), (revision, ordinal, at_ms, environment, entity, op, id, actor, note))

}  // namespace slipway::model
