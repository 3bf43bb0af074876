// SPDX-License-Identifier: Apache-2.0
// instances.hpp - instances/1: the machines of a cloud. Sizes in MiB. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>
#include <slipway/messages/volumes.hpp>

namespace slipway {

using State = InstanceState;

struct Instance : Item {
  std::string zone;
  std::string type;   // of types.list
  std::string image;  // id
  Hardware hardware;
  std::vector<Address> addresses;
  std::vector<std::string> interfaces;  // ids, where the cloud has ports apart
};
BOOST_DESCRIBE_STRUCT(Instance, (Item), (zone, type, image, hardware, addresses, interfaces))

// Type, zone and subnets are the core's choice; the plugin takes them as they are.
struct StartRequest : MakeRequest {
  std::string machine;  // id in its environment: "7", "1/lxc/0"
  std::string type;     // of types.list; empty where the cloud has no types: hardware then says the size
  Hardware hardware;    // what the type offers, and at least what the machine needs
  std::string image;    // images.resolve's image_id
  std::optional<std::string> zone;
  Constraints constraints;  // as the operator gave them; what the core decided is above
  std::optional<std::uint64_t> root_disk_mib;
  Bytes user_data;                            // cloud-init, whole; maybe compressed
  std::vector<std::string> subnets;           // ids, the first one first
  std::vector<std::string> interfaces;        // ids of ports that were made for it
  std::vector<std::string> firewall_groups;   // ids of firewall.ensure
  std::vector<std::string> public_addresses;  // ids of addresses.claim
  std::vector<VolumeParameters> volumes;      // made with the instance and gone with it

  static constexpr std::string_view method = "instances.start/1";
  using Reply = struct StartReply;
};
BOOST_DESCRIBE_STRUCT(StartRequest, (MakeRequest),
                      (machine, type, hardware, image, zone, constraints, root_disk_mib, user_data, subnets,
                       interfaces, firewall_groups, public_addresses, volumes))

struct StartReply {
  Instance instance;

  static constexpr std::array required{std::string_view("instance")};
};
BOOST_DESCRIBE_STRUCT(StartReply, (), (instance))

struct StopRequest : DeleteRequest {
  static constexpr std::string_view method = "instances.stop/1";
  using Reply = struct StopReply;
};
BOOST_DESCRIBE_STRUCT(StopRequest, (DeleteRequest), ())

// Success means that the cloud accepted the deletion; the list says when it is done.
struct StopReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(StopReply, (DeleteReply), ())

struct ListRequest : ListingRequest {
  static constexpr std::string_view method = "instances.list/1";
  using Reply = struct ListReply;
};
BOOST_DESCRIBE_STRUCT(ListRequest, (ListingRequest), ())

struct ListReply {
  std::vector<Instance> items;
  std::string next_page;
  bool complete = true;  // false: nothing may be concluded from what is absent
};
BOOST_DESCRIBE_STRUCT(ListReply, (), (items, next_page, complete))

struct GetRequest {
  std::vector<std::string> ids;

  static constexpr std::array required{std::string_view("ids")};
  static constexpr std::string_view method = "instances.get/1";
  using Reply = struct GetReply;
};
BOOST_DESCRIBE_STRUCT(GetRequest, (), (ids))

// Exactly one of item and error; not_found is the cloud's definite no.
struct GetResult {
  std::string id;
  std::optional<Instance> item;
  std::optional<Error> error;
};
BOOST_DESCRIBE_STRUCT(GetResult, (), (id, item, error))

struct GetReply {
  std::vector<GetResult> results;
};
BOOST_DESCRIBE_STRUCT(GetReply, (), (results))

// Asked once for each instance after the daemon has started: what the plugin keeps up on this host (a bridge,
// a mount), it restores. No effect in a cloud that keeps its machines itself.
struct MaintainRequest {
  std::vector<std::string> ids;

  static constexpr std::array required{std::string_view("ids")};
  static constexpr std::string_view method = "instances.maintain/1";
  using Reply = struct MaintainReply;
};
BOOST_DESCRIBE_STRUCT(MaintainRequest, (), (ids))

struct MaintainReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(MaintainReply, (DeleteReply), ())

struct ExecRequest {
  std::string id;
  std::vector<std::string> command;  // program and arguments, no shell
  std::map<std::string, std::string> variables;
  Bytes input;

  static constexpr std::array required{std::string_view("id"), std::string_view("command")};
  static constexpr std::string_view method = "instances.exec/1";
  using Reply = struct ExecReply;
};
BOOST_DESCRIBE_STRUCT(ExecRequest, (), (id, command, variables, input))

struct ExecReply {
  std::int32_t exit_code = 0;
  Bytes output;
  Bytes errors;
};
BOOST_DESCRIBE_STRUCT(ExecReply, (), (exit_code, output, errors))

// The console's last bytes.
struct LogRequest {
  std::string id;
  std::uint32_t max_bytes = 65536;

  static constexpr std::array required{std::string_view("id")};
  static constexpr std::string_view method = "instances.log/1";
  using Reply = struct LogReply;
};
BOOST_DESCRIBE_STRUCT(LogRequest, (), (id, max_bytes))

struct LogReply {
  Bytes text;
};
BOOST_DESCRIBE_STRUCT(LogReply, (), (text))

}  // namespace slipway
