// SPDX-License-Identifier: Apache-2.0
// account.hpp - account/1: whose credential it is, what it may, how much is left. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// One line that an operator sees when an environment is added: "ok compute 2.93; zones az1 az2 az3".
struct Check {
  std::string name;  // "identity", "compute"
  bool ok = true;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(Check, (), (name, ok, message))

// Reads; changes nothing.
struct ProbeRequest {
  static constexpr std::string_view method = "account.probe/1";
  using Reply = struct ProbeReply;
};
BOOST_DESCRIBE_STRUCT(ProbeRequest, (), ())

struct ProbeReply {
  std::string account;
  std::string region;
  std::vector<Quota> quotas;
  std::vector<Check> checks = {};
  // The groups that this account really offers ("volumes/1"); absent: all that the plugin has.
  std::optional<std::vector<std::string>> groups = {};
};
BOOST_DESCRIBE_STRUCT(ProbeReply, (), (account, region, quotas, checks, groups))

struct QuotaRequest {
  static constexpr std::string_view method = "account.quota/1";
  using Reply = struct QuotaReply;
};
BOOST_DESCRIBE_STRUCT(QuotaRequest, (), ())

struct QuotaReply {
  std::vector<Quota> quotas;
};
BOOST_DESCRIBE_STRUCT(QuotaReply, (), (quotas))

}  // namespace slipway
