// SPDX-License-Identifier: Apache-2.0
// firewall.hpp - firewall/1: groups of rules, and the ports that are open in them. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// Whose group is meant: the environment's one, or a machine's own.
struct FirewallTarget {
  FirewallMode mode = FirewallMode::instance;
  std::string machine;                     // with mode instance
  std::optional<std::string> instance_id;  // when there is one
  std::string group_id;                    // of firewall.ensure, when known
};
BOOST_DESCRIBE_STRUCT(FirewallTarget, (), (mode, machine, instance_id, group_id))

struct FirewallGroup : Item {};
BOOST_DESCRIBE_STRUCT(FirewallGroup, (Item), ())

// A group of this name and marker that is there already is the answer.
struct FirewallEnsureRequest : MakeRequest {
  FirewallTarget target;

  static constexpr std::string_view method = "firewall.ensure/1";
  using Reply = struct FirewallEnsureReply;
};
BOOST_DESCRIBE_STRUCT(FirewallEnsureRequest, (MakeRequest), (target))

struct FirewallEnsureReply {
  FirewallGroup group;

  static constexpr std::array required{std::string_view("group")};
};
BOOST_DESCRIBE_STRUCT(FirewallEnsureReply, (), (group))

struct FirewallRemoveRequest : DeleteRequest {
  static constexpr std::string_view method = "firewall.remove/1";
  using Reply = struct FirewallRemoveReply;
};
BOOST_DESCRIBE_STRUCT(FirewallRemoveRequest, (DeleteRequest), ())

struct FirewallRemoveReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(FirewallRemoveReply, (DeleteReply), ())

struct FirewallListRequest : ListingRequest {
  static constexpr std::string_view method = "firewall.list/1";
  using Reply = struct FirewallListReply;
};
BOOST_DESCRIBE_STRUCT(FirewallListRequest, (ListingRequest), ())

struct FirewallListReply {
  std::vector<FirewallGroup> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(FirewallListReply, (), (items, next_page, complete))

// What is open already is success.
struct FirewallOpenRequest {
  FirewallTarget target;
  std::vector<PortRange> ports;

  static constexpr std::array required{std::string_view("target"), std::string_view("ports")};
  static constexpr std::string_view method = "firewall.open/1";
  using Reply = Unit;
};
BOOST_DESCRIBE_STRUCT(FirewallOpenRequest, (), (target, ports))

// What is not open is success. Removes exactly these rules.
struct FirewallCloseRequest {
  FirewallTarget target;
  std::vector<PortRange> ports;

  static constexpr std::array required{std::string_view("target"), std::string_view("ports")};
  static constexpr std::string_view method = "firewall.close/1";
  using Reply = Unit;
};
BOOST_DESCRIBE_STRUCT(FirewallCloseRequest, (), (target, ports))

struct FirewallRulesRequest {
  FirewallTarget target;

  static constexpr std::array required{std::string_view("target")};
  static constexpr std::string_view method = "firewall.rules/1";
  using Reply = struct FirewallRulesReply;
};
BOOST_DESCRIBE_STRUCT(FirewallRulesRequest, (), (target))

struct FirewallRulesReply {
  std::vector<PortRange> ports;
};
BOOST_DESCRIBE_STRUCT(FirewallRulesReply, (), (ports))

}  // namespace slipway
