// SPDX-License-Identifier: Apache-2.0
// attempt.hpp - one try to create one resource, written before the request goes out (EXACTLY_ONCE, Rows). It
// stays as a tombstone when the resource is gone. Values.
#pragma once

#include "base/ids.hpp"
#include "model/ids.hpp"
#include "model/lifecycle.hpp"

#include <boost/mp11/list.hpp>

#include <optional>
#include <string>
#include <tuple>

namespace slipway::model {

enum class ResourceKind { server, port, public_address, security_group, volume, attachment, container };
BOOST_DESCRIBE_ENUM(ResourceKind, server, port, public_address, security_group, volume, attachment, container)

struct Attempt {
  Nonce nonce;
  EnvironmentId environment;
  MachineId machine;     // empty: the environment's own, as a shared security group
  std::int64_t seq = 0;  // Environment::next_attempt; part of the name, never used again
  ResourceKind kind = ResourceKind::server;
  std::uint32_t slot = 0;       // which of several of a kind: the second port, the third volume
  std::optional<Nonce> parent;  // the attempt that this resource belongs to
  std::string provider;
  std::string project;
  std::string region;
  std::string zone;
  std::string name;
  std::string request_sha256;  // hex, of the request's bytes: an idempotent re-send sends the same
  AttemptPhase phase = AttemptPhase::sent;
  std::uint64_t epoch = 0;        // the daemon's start that wrote it
  std::uint64_t incarnation = 0;  // raised after a restore
  std::int64_t sent_ms = 0;
  std::int64_t ambiguous_until_ms = 0;
  std::string provider_id;  // known from phase created on
  std::string evidence;     // what a conclusion rests on, as JSON
  std::string choice;       // type, image, zone with candidates and reasons, as JSON; for explain
  std::string error;        // the cloud's words, when it was refused
  std::int64_t ended_ms = 0;
  Revision revision;

  // All attempts of a machine in their order; also finds a sequence number.
  struct ByMachine {
    using Key = std::tuple<EnvironmentId, MachineId, std::int64_t>;
    static std::optional<Key> key(const Attempt& a) { return Key{a.environment, a.machine, a.seq}; }
    static std::string text(const Key& key) {
      return message("attempt {} of machine {} exists", std::get<2>(key), std::get<1>(key));
    }
  };
  // At most one that may exist, for each slot.
  struct Active {
    using Key = std::tuple<EnvironmentId, MachineId, ResourceKind, std::uint32_t>;
    static std::optional<Key> key(const Attempt& a) {
      if (!is_active(a.phase)) return std::nullopt;
      return Key{a.environment, a.machine, a.kind, a.slot};
    }
    static std::string text(const Key& key) {
      return message("machine {} has an active attempt for {} {}", std::get<1>(key), std::get<2>(key),
                     std::get<3>(key));
    }
  };
  using Indexes = boost::mp11::mp_list<ByMachine, Active>;
  using Key = Nonce;
  [[nodiscard]] Key key() const { return nonce; }
};
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (nonce, environment, machine, seq, kind, slot, parent, provider, project, region, zone,
                       name, request_sha256, phase, epoch, incarnation, sent_ms, ambiguous_until_ms,
                       provider_id, evidence, choice, error, ended_ms, revision))

}  // namespace slipway::model
