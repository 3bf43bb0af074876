// SPDX-License-Identifier: Apache-2.0
// storage.hpp - pools, volumes and their attachments. A volume outlives its machine unless it was made to go
// with it; data is never collected by itself. Values.
#pragma once

#include "model/ids.hpp"
#include "model/lifecycle.hpp"

#include <slipway/vocabulary.hpp>

#include <boost/mp11/list.hpp>

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace slipway::model {

// A named way to make volumes: a storage provider with attributes.
struct Pool {
  EnvironmentId environment;
  std::string name;
  std::string provider;
  std::map<std::string, std::string> attributes;
  Revision revision;

  using Indexes = boost::mp11::mp_list<>;
  using Key = std::tuple<EnvironmentId, std::string>;
  [[nodiscard]] Key key() const { return {environment, name}; }
};
BOOST_DESCRIBE_STRUCT(Pool, (), (environment, name, provider, attributes, revision))

struct Volume {
  EnvironmentId environment;
  std::string id;  // counted in its environment
  std::string pool;
  std::uint64_t size_mib = 0;
  Life life = Life::alive;
  bool is_read_only = false;
  bool goes_with_machine = false;  // deleted with the machine that it was made for
  std::string machine;             // the one it was made for; empty: none
  std::string provider_id;         // empty: not made yet
  InstanceState state = InstanceState::unknown;
  std::string message;
  std::string zone;
  std::int64_t created_ms = 0;
  Revision revision;

  using Indexes = boost::mp11::mp_list<>;
  using Key = std::tuple<EnvironmentId, std::string>;
  [[nodiscard]] Key key() const { return {environment, id}; }
};
BOOST_DESCRIBE_STRUCT(Volume, (),
                      (environment, id, pool, size_mib, life, is_read_only, goes_with_machine, machine,
                       provider_id, state, message, zone, created_ms, revision))

// A volume at a machine.
struct Attachment {
  EnvironmentId environment;
  std::string volume;
  MachineId machine;
  Life life = Life::alive;
  bool is_read_only = false;
  InstanceState state = InstanceState::unknown;
  std::string device_name;
  std::string device_link;
  std::string bus_address;
  std::string message;
  Revision revision;

  struct ByMachine {
    using Key = std::tuple<EnvironmentId, MachineId, std::string>;
    static std::optional<Key> key(const Attachment& a) { return Key{a.environment, a.machine, a.volume}; }
    static std::string text(const Key& key) {
      return "volume " + std::get<2>(key) + " is attached to machine " + std::get<1>(key).value;
    }
  };
  using Indexes = boost::mp11::mp_list<ByMachine>;
  using Key = std::tuple<EnvironmentId, std::string, MachineId>;
  [[nodiscard]] Key key() const { return {environment, volume, machine}; }
};
BOOST_DESCRIBE_STRUCT(Attachment, (),
                      (environment, volume, machine, life, is_read_only, state, device_name, device_link,
                       bus_address, message, revision))

}  // namespace slipway::model
