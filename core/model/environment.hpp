// SPDX-License-Identifier: Apache-2.0
// environment.hpp - a named place for machines: one provider plugin with settings and one credential. Values.
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

inline constexpr std::size_t kMaxEnvironmentName = 20;

// What happens to instances that no machine wants. DESIGN 6; EXACTLY_ONCE, Harvest has the guard rails.
enum class HarvestMode { none, destroyed, unknown, all };
BOOST_DESCRIBE_ENUM(HarvestMode, none, destroyed, unknown, all)

// What the account's power to create is bound to. The secret itself is a StoredSecret, never in a snapshot.
struct Credential {
  CredentialId id;
  std::string name;
  std::string provider;
  std::string account;    // what the provider calls it, for people
  std::string secret_id;  // StoredSecret::id
  std::int64_t created_ms = 0;
  Revision revision;

  struct ByName {
    using Key = std::string;
    static std::optional<Key> key(const Credential& c) { return c.name; }
    static std::string text(const Key& key) { return "a credential named " + key + " exists"; }
  };
  using Indexes = boost::mp11::mp_list<ByName>;
  using Key = CredentialId;
  [[nodiscard]] Key key() const { return id; }
};
BOOST_DESCRIBE_STRUCT(Credential, (), (id, name, provider, account, secret_id, created_ms, revision))

struct Environment {
  EnvironmentId id;
  std::string uuid;
  std::string name;
  Life life = Life::alive;
  std::string provider;                         // plugin's name
  std::map<std::string, std::string> settings;  // the plugin's, no secret among them
  std::optional<CredentialId> credential;
  std::string storage_plugin;  // empty: the provider's own
  std::string network_plugin;
  Constraints constraints;  // the default for its machines
  HarvestMode harvest_mode = HarvestMode::destroyed;
  FirewallMode firewall_mode = FirewallMode::instance;
  bool is_paused = false;
  BlockedReason suspended = BlockedReason::none;  // why nothing is called at the moment, or none
  std::string message;
  std::int64_t next_machine = 0;  // machine numbers below are taken, for ever
  std::int64_t next_attempt = 1;  // attempt numbers below are taken, for ever; reserved in blocks
  std::int64_t created_ms = 0;
  Revision revision;

  struct ByName {
    using Key = std::string;
    static std::optional<Key> key(const Environment& e) { return e.name; }
    static std::string text(const Key& key) { return "an environment named " + key + " exists"; }
  };
  using Indexes = boost::mp11::mp_list<ByName>;
  using Key = EnvironmentId;
  [[nodiscard]] Key key() const { return id; }
};
BOOST_DESCRIBE_STRUCT(Environment, (),
                      (id, uuid, name, life, provider, settings, credential, storage_plugin, network_plugin,
                       constraints, harvest_mode, firewall_mode, is_paused, suspended, message, next_machine,
                       next_attempt, created_ms, revision))

}  // namespace slipway::model
