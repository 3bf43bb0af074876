// SPDX-License-Identifier: Apache-2.0
// machine.hpp - a machine: what somebody wants, and beside it what is known of the instance that serves it.
// Values.
#pragma once

#include "base/ids.hpp"
#include "model/ids.hpp"
#include "model/lifecycle.hpp"

#include <slipway/vocabulary.hpp>

#include <boost/mp11/list.hpp>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace slipway::model {

// What a machine is for ("job" elsewhere); who may do what over the API is a role of another kind.
enum class MachineRole { machine, controller };
BOOST_DESCRIBE_ENUM(MachineRole, machine, controller)

// A volume that is to come with a machine.
struct VolumeRequest {
  std::string pool;  // a pool's name, or a storage provider's
  std::uint64_t size_mib = 0;
  std::uint32_t count = 1;

  bool operator==(const VolumeRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(VolumeRequest, (), (pool, size_mib, count))

struct Machine {
  EnvironmentId environment;
  MachineId id;

  // Wanted; changed by people only.
  std::string name;
  Life life = Life::alive;
  MachineRole role = MachineRole::machine;
  Constraints constraints;  // its own, not yet merged with the environment's
  Placement placement;
  std::string image;  // "debian-12"; empty: the environment's default
  std::string group;  // spread group; empty: none
  std::map<std::string, std::string> labels;
  std::vector<std::string> ssh_keys;
  std::string user_data_id;  // StoredSecret::id, empty: none
  std::vector<PortRange> ports;
  std::vector<VolumeRequest> volumes;
  bool is_paused = false;
  bool is_protected = false;
  bool keep_instance = false;  // on removal the instance stays and is released

  // Shown; changed by the provisioner only.
  MachineState state = MachineState::pending;
  BlockedReason blocked = BlockedReason::none;
  std::string message;
  bool is_transient = false;  // with state failed: a retry may help (row A25)
  std::int64_t state_since_ms = 0;
  std::uint32_t tries_used = 0;
  std::int64_t next_try_ms = 0;  // 0: none planned

  // The instance; empty id: none yet.
  std::string instance_id;
  std::optional<Nonce> instance_nonce;  // of the attempt that made it
  InstanceState instance_state = InstanceState::unknown;
  std::string instance_message;  // the cloud's words
  std::string zone;
  std::string type;
  Hardware hardware;
  std::vector<Address> addresses;

  std::int64_t created_ms = 0;
  Revision revision;

  struct ByInstance {
    using Key = std::tuple<EnvironmentId, std::string>;
    static std::optional<Key> key(const Machine& m) {
      if (m.instance_id.empty()) return std::nullopt;
      return Key{m.environment, m.instance_id};
    }
    static std::string text(const Key& key) { return "another machine has the instance " + std::get<1>(key); }
  };
  using Indexes = boost::mp11::mp_list<ByInstance>;
  using Key = std::tuple<EnvironmentId, MachineId>;
  [[nodiscard]] Key key() const { return {environment, id}; }
};
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (environment, id, name, life, role, constraints, placement, image, group, labels,
                       ssh_keys, user_data_id, ports, volumes, is_paused, is_protected, keep_instance, state,
                       blocked, message, is_transient, state_since_ms, tries_used, next_try_ms, instance_id,
                       instance_nonce, instance_state, instance_message, zone, type, hardware, addresses,
                       created_ms, revision))

}  // namespace slipway::model
