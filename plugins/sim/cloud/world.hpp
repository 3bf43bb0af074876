// SPDX-License-Identifier: Apache-2.0
// world.hpp - what a simulated cloud has and how it changes with time: servers, networks, disks, images,
// objects, by the law of the messages. It knows no fault and no latency; those are Cloud's (cloud.hpp). Every
// refusal is made before anything is changed, so it is `rejected`. A call that changes something sees
// everything; lists and get see what is older than the visibility lag. Thread rule: one thread.
#pragma once

#include "sim/cloud/address_range.hpp"
#include "sim/cloud/script.hpp"
#include "sim/cloud/table.hpp"

#include <boost/mp11/algorithm.hpp>

#include <functional>
#include <span>
#include <utility>

namespace slipway::sim {

// What the cloud itself answers: everything but what only a plugin can know about its settings.
using CloudRequests = boost::mp11::mp_remove<boost::mp11::mp_remove<PluginRequests, ConfigValidateRequest>,
                                             ConfigImportRequest>;

class World {
 public:
  // `now_ms` is UTC; the script's spans of time count from it.
  World(Script script, std::int64_t now_ms);
  World(const World&) = delete;  // what is to happen later refers to this one
  World& operator=(const World&) = delete;

  static std::span<const std::string_view> methods();
  // Whether a script may bound it.
  static bool is_quota(std::string_view resource);

  [[nodiscard]] const Script& script() const { return script_; }
  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  // Since the script came into force.
  [[nodiscard]] std::int64_t age_ms() const { return now_ms_ - epoch_ms_; }

  // Another script from now on; what there is stays.
  void set_script(Script script);

  // Lets happen what is due, in its order. A time before the last one is taken as the last one.
  void advance(std::int64_t now_ms);
  void at(std::int64_t when_ms, std::function<void()> event);

  // The server will go to failed instead of running.
  void doom(const std::string& server_id);

  [[nodiscard]] std::vector<Trace> traces() const;

  Result<StartReply> apply(const StartRequest& request);
  Result<StopReply> apply(const StopRequest& request);
  Result<ListReply> apply(const ListRequest& request);
  Result<GetReply> apply(const GetRequest& request);
  Result<MaintainReply> apply(const MaintainRequest& request);
  Result<ExecReply> apply(const ExecRequest& request);
  Result<LogReply> apply(const LogRequest& request);

  Result<InterfaceCreateReply> apply(const InterfaceCreateRequest& request);
  Result<InterfaceDeleteReply> apply(const InterfaceDeleteRequest& request);
  Result<InterfaceListReply> apply(const InterfaceListRequest& request);
  Result<AddressClaimReply> apply(const AddressClaimRequest& request);
  Result<AddressReleaseReply> apply(const AddressReleaseRequest& request);
  Result<AddressListReply> apply(const AddressListRequest& request);
  Result<SubnetsReply> apply(const SubnetsRequest& request);
  Result<SubnetInterfacesReply> apply(const SubnetInterfacesRequest& request);
  Result<AddressAllocateReply> apply(const AddressAllocateRequest& request);
  Result<AddressFreeReply> apply(const AddressFreeRequest& request);
  Result<SupportsAllocationReply> apply(const SupportsAllocationRequest& request);

  Result<FirewallEnsureReply> apply(const FirewallEnsureRequest& request);
  Result<FirewallRemoveReply> apply(const FirewallRemoveRequest& request);
  Result<FirewallListReply> apply(const FirewallListRequest& request);
  Result<Unit> apply(const FirewallOpenRequest& request);
  Result<Unit> apply(const FirewallCloseRequest& request);
  Result<FirewallRulesReply> apply(const FirewallRulesRequest& request);

  Result<VolumeCreateReply> apply(const VolumeCreateRequest& request);
  Result<VolumeDestroyReply> apply(const VolumeDestroyRequest& request);
  Result<VolumeListReply> apply(const VolumeListRequest& request);
  Result<AttachReply> apply(const AttachRequest& request);
  Result<DetachReply> apply(const DetachRequest& request);
  Result<AttachmentsReply> apply(const AttachmentsRequest& request);
  Result<Unit> apply(const VolumeValidateRequest& request);
  Result<ObjectPutReply> apply(const ObjectPutRequest& request);
  Result<ObjectGetReply> apply(const ObjectGetRequest& request);
  Result<ObjectListReply> apply(const ObjectListRequest& request);
  Result<ObjectRemoveReply> apply(const ObjectRemoveRequest& request);
  Result<ObjectUrlReply> apply(const ObjectUrlRequest& request);

  Result<ZonesReply> apply(const ZonesRequest& request);
  Result<DeriveZonesReply> apply(const DeriveZonesRequest& request);
  Result<TypesReply> apply(const TypesRequest& request);
  Result<ImageReply> apply(const ImageRequest& request);
  Result<ImagesReply> apply(const ImagesRequest& request);
  Result<ImageAddReply> apply(const ImageAddRequest& request);
  Result<ImageRemoveReply> apply(const ImageRemoveRequest& request);
  Result<ProbeReply> apply(const ProbeRequest& request);
  Result<QuotaReply> apply(const QuotaRequest& request);

  // Where objects can be read without a credential: "http://127.0.0.1:8080/objects/". Empty: nowhere, and
  // objects.url/1 is unsupported.
  void set_object_url(std::string url) { object_url_ = std::move(url); }

 private:
  struct Server : Instance {
    std::string machine;
    std::vector<std::string> firewall_groups;
    std::vector<Interface> own_interfaces;  // made with it, where no port was named
    std::size_t user_data_bytes = 0;
    bool is_doomed = false;
    std::vector<Address> private_addresses;  // `addresses` has them once it runs
  };
  struct Port : Interface {
    std::vector<std::string> firewall_groups;
  };
  struct Group : FirewallGroup {
    FirewallTarget target;
    std::vector<PortRange> rules;
  };
  struct Disk : Volume {
    std::optional<Attachment> attachment;
    bool is_part = false;  // made with its server and gone with it
  };
  struct Allocation : AllocatedAddress {
    std::string subnet;
  };
  struct OwnImage : Item {
    Image image;
  };
  struct StoredObject {
    std::string data;
    std::int64_t created_ms = 0;
  };

  // servers.cpp
  Status check_start(const StartRequest& request);
  Result<std::string> choose_zone(const StartRequest& request);
  Status check_zone(const std::string& zone);
  Status connect(const StartRequest& request, Server& server);
  void make_disks(const StartRequest& request, const Server& server);
  void boot(const std::string& id);
  void remove_server(const std::string& id);
  void show_addresses(Server& server);
  std::size_t servers_in(const std::string& zone);
  Result<Server*> known_server(const std::string& id);

  // network.cpp
  AddressRange* range_of(const std::string& subnet);
  Result<Group*> group_of(const FirewallTarget& target);
  Result<Address> take_address(const std::string& subnet, const std::string& wanted);
  void give_back(const std::vector<Address>& addresses);
  std::string make_mac();
  void remove_port(Port& port);

  // storage.cpp
  Status check_volume(const VolumeParameters& parameters) const;
  Status attach(const Attachment& wanted, Attachment& made);

  // catalogue.cpp
  Status check_quota(const std::string& resource, std::uint64_t more);
  std::uint64_t used(const std::string& resource);
  std::vector<Quota> quotas();
  [[nodiscard]] const ZoneSpec* zone_spec(const std::string& name) const;
  [[nodiscard]] bool is_out(const ZoneSpec& zone) const;
  [[nodiscard]] const InstanceType* type_of(const std::string& id) const;
  const Image* image_of(const std::string& id);

  [[nodiscard]] std::int64_t visible_ms() const { return now_ms_ - script_.visibility_lag_ms; }

  Script script_;
  std::int64_t now_ms_;
  std::int64_t epoch_ms_;
  std::uint64_t next_event_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;  // by time, then by age

  Table<Server> servers_{ResourceKind::server, "srv"};
  Table<Port> ports_{ResourceKind::port, "port"};
  Table<PublicAddress> public_addresses_{ResourceKind::address, "ip"};
  Table<Group> groups_{ResourceKind::firewall_group, "fwg"};
  Table<Disk> disks_{ResourceKind::volume, "vol"};
  Table<OwnImage> own_images_{ResourceKind::image, "img"};
  Table<Allocation> allocations_{ResourceKind::allocation, "alloc"};
  std::map<std::string, StoredObject> objects_;
  std::map<std::string, std::string> uploads_;  // by upload id: the bytes so far
  std::uint64_t last_upload_ = 0;

  std::map<std::string, AddressRange> ranges_;  // by subnet id
  AddressRange public_range_;
  std::uint32_t last_mac_ = 0;
  std::map<std::string, std::string> started_;  // nonce to server id, for idempotent starts
  std::string object_url_;
};

}  // namespace slipway::sim
