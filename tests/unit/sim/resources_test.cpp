// SPDX-License-Identifier: Apache-2.0
#include "sim_fixture.hpp"

namespace slipway::sim {
namespace {

InterfaceCreateRequest port_request(SimFixture& sim, const std::string& nonce) {
  auto request = sim.make<InterfaceCreateRequest>(nonce);
  request.subnet = "net-2";
  return request;
}

Attachment pair(const std::string& volume, const std::string& instance) {
  Attachment out;
  out.volume_id = volume;
  out.instance_id = instance;
  return out;
}

}  // namespace

TEST_CASE("a port is bound by one server and free again when that is gone") {
  SimFixture sim;
  const Interface port = sim.get(port_request(sim, "p1")).interface;
  CHECK(port.addresses.at(0).value == "10.21.0.2");
  StartRequest request = start_request("n1");
  request.interfaces = {port.id};
  const Instance server = sim.get(request).instance;
  CHECK(server.interfaces == request.interfaces);
  request.nonce = "n2";
  CHECK(sim.ask(request).error().code == Code::conflict);
  CHECK(sim.get(InterfaceListRequest{}).items.at(0).parent == server.id);
  sim.now_ms += 2'000;
  CHECK(sim.look(server.id).item->addresses.at(0).value == "10.21.0.2");
  SubnetInterfacesRequest seen;
  seen.instance_id = server.id;
  CHECK(sim.get(seen).interfaces.at(0).mac == port.mac);
  sim.remove<StopRequest>(server.id);
  sim.now_ms += 500;
  CHECK(sim.get(InterfaceListRequest{}).items.at(0).parent.empty());
  CHECK_FALSE(sim.remove<InterfaceDeleteRequest>(port.id).error);
  CHECK_FALSE(sim.remove<InterfaceDeleteRequest>(port.id).error);
  CHECK(sim.get(InterfaceListRequest{}).items.empty());
}

TEST_CASE("fixed addresses are taken as they are wanted or not at all") {
  SimFixture sim;
  auto request = port_request(sim, "p1");
  request.fixed_addresses = {"10.21.0.50", "10.20.0.1"};  // the second is of another subnet
  CHECK(sim.ask(request).error().code == Code::invalid);
  request.fixed_addresses = {"10.21.0.50"};
  CHECK(sim.get(request).interface.addresses.at(0).value == "10.21.0.50");  // the refused call kept nothing
  CHECK(sim.ask(request).error().code == Code::conflict);
}

TEST_CASE("a public address is claimed for a server, shown by it, and released by id") {
  SimFixture sim;
  const Instance server = sim.start_and_boot("n1");
  auto request = sim.make<AddressClaimRequest>("a1");
  request.instance_id = server.id;
  const PublicAddress address = sim.get(request).address;
  CHECK(address.parent == server.id);
  const auto addresses = sim.look(server.id).item->addresses;
  REQUIRE(addresses.size() == 2);
  CHECK(addresses[1].value == address.value);
  CHECK(addresses[1].scope == AddressScope::public_);
  sim.remove<AddressReleaseRequest>(address.id);
  CHECK(sim.look(server.id).item->addresses.size() == 1);
  CHECK(sim.get(AddressListRequest{}).items.empty());
}

TEST_CASE("a port has one public address, and one that is there is led elsewhere only when it is free") {
  SimFixture sim;
  const std::string port = sim.get(port_request(sim, "p1")).interface.id;
  auto request = sim.make<AddressClaimRequest>("a1");
  request.interface = port;
  const std::string address = sim.get(request).address.id;
  request.nonce = "a2";
  CHECK(sim.ask(request).error().code == Code::conflict);
  CHECK(sim.audit().resources.size() == 2);  // the refused claim left nothing behind
  const std::string first = sim.start_and_boot("n1").id;
  const std::string second = sim.start("n2").id;
  auto existing = sim.make<AddressClaimRequest>("a3");
  existing.address_id = address;
  existing.instance_id = first;
  CHECK(sim.get(existing).address.id == address);
  existing.instance_id = second;
  CHECK(sim.ask(existing).error().code == Code::conflict);
}

TEST_CASE(
    "a firewall group is ensured once, opens and closes exactly its rules, and stays while it is used") {
  SimFixture sim;
  auto ensure = sim.make<FirewallEnsureRequest>("g1");
  ensure.target.machine = "0";
  const std::string id = sim.get(ensure).group.id;
  CHECK(sim.get(ensure).group.id == id);
  FirewallOpenRequest open;
  open.target = ensure.target;
  open.ports = {{Protocol::tcp, 80, 80, "0.0.0.0/0"}, {Protocol::tcp, 22, 22, "10.0.0.0/8"}};
  sim.get(open);
  sim.get(open);  // open already is success
  FirewallRulesRequest rules;
  rules.target.group_id = id;
  CHECK(sim.get(rules).ports == open.ports);
  FirewallCloseRequest close;
  close.target = ensure.target;
  close.ports = {{Protocol::tcp, 80, 80, "0.0.0.0/0"}, {Protocol::tcp, 22, 22, "0.0.0.0/0"}};
  sim.get(close);
  CHECK(sim.get(rules).ports == std::vector<PortRange>{{Protocol::tcp, 22, 22, "10.0.0.0/8"}});
  open.target.machine = "1";
  CHECK(sim.ask(open).error().code == Code::not_found);
  open.target = ensure.target;
  open.ports = {{Protocol::tcp, 90, 80, "0.0.0.0/0"}};
  CHECK(sim.ask(open).error().code == Code::invalid);

  StartRequest start = start_request("n1");
  start.firewall_groups = {id};
  const std::string server = sim.get(start).instance.id;
  CHECK(sim.remove<FirewallRemoveRequest>(id).error->code == Code::conflict);
  sim.remove<StopRequest>(server);
  sim.now_ms += 500;
  CHECK_FALSE(sim.remove<FirewallRemoveRequest>(id).error);
  CHECK(sim.get(FirewallListRequest{}).items.empty());

  ensure.nonce = ensure.name = "g2";
  sim.get(ensure);
  ensure.nonce = ensure.name = "g3";
  sim.get(ensure);
  FirewallRulesRequest vague;
  vague.target.machine = "0";
  CHECK(sim.ask(vague).error().code == Code::conflict);
}

TEST_CASE("a volume is attached to one server of its zone, detached before it is destroyed") {
  SimFixture sim(R"({"volume_ms": 100})");
  const std::string server = sim.start_and_boot("n1", "az2").id;
  const std::string other = sim.start_and_boot("n2", "az1").id;
  auto create = sim.make<VolumeCreateRequest>("v1");
  create.parameters.size_mib = 1'024;
  create.instance_id = server;
  const Volume volume = sim.get(create).volume;
  CHECK(volume.zone == "az2");
  CHECK(volume.state == State::building);
  AttachRequest attach;
  attach.attachments = {pair(volume.id, server)};
  CHECK(sim.get(attach).results.at(0).error->code == Code::conflict);  // still building
  sim.now_ms += 100;
  CHECK(sim.get(attach).results.at(0).attachment->device == "/dev/vdb");
  CHECK(sim.get(attach).results.at(0).attachment);  // attached already is success
  attach.attachments = {pair(volume.id, other), pair("vol-9", server), pair(volume.id, "srv-9")};
  const auto results = sim.get(attach).results;
  CHECK(results.at(0).error->code == Code::conflict);
  CHECK(results.at(1).error->code == Code::not_found);
  CHECK(results.at(2).error->code == Code::not_found);
  CHECK(sim.remove<VolumeDestroyRequest>(volume.id).error->code == Code::conflict);
  DetachRequest detach;
  detach.attachments = {pair(volume.id, other), pair(volume.id, server), pair(volume.id, server)};
  for (const auto& result : sim.get(detach).results) CHECK_FALSE(result.error);
  attach.attachments = {pair(volume.id, other)};
  CHECK(sim.get(attach).results.at(0).error->code == Code::invalid);  // another zone
  CHECK_FALSE(sim.remove<VolumeDestroyRequest>(volume.id).error);
  CHECK(sim.get(VolumeListRequest{}).items.empty());
}

TEST_CASE("a volume of no size, or of more than the cloud has, is refused") {
  SimFixture sim(R"({"quotas": {"volume_mib": 100}})");
  VolumeValidateRequest validate;
  CHECK(sim.ask(validate).error().code == Code::invalid);
  validate.parameters.size_mib = 1;
  CHECK(sim.ask(validate));
  auto create = sim.make<VolumeCreateRequest>("v1");
  create.parameters.size_mib = 101;
  CHECK(sim.ask(create).error().quota == Quota{"volume_mib", 100, 0});
}

TEST_CASE("zones are derived from placement, volumes and subnets together") {
  SimFixture sim(R"({"subnets": [{"id": "n", "cidr": "10.0.0.0/24", "zones": ["az1", "az2"]}]})");
  auto create = sim.make<VolumeCreateRequest>("v1");
  create.parameters.size_mib = 1;
  create.zone = "az2";
  const std::string volume = sim.get(create).volume.id;
  DeriveZonesRequest request;
  CHECK(sim.get(request).zones.empty());
  request.subnets = {"n"};
  CHECK(sim.get(request).zones == std::vector<std::string>{"az1", "az2"});
  request.volume_ids = {volume};
  CHECK(sim.get(request).zones == std::vector<std::string>{"az2"});
  request.placement = {PlacementKind::zone, "az1", {}};
  CHECK(sim.ask(request).error().code == Code::invalid);
  request.placement.target = "az9";
  CHECK(sim.ask(request).error().code == Code::invalid);
}

TEST_CASE("images are resolved by system and processor, own ones added and removed") {
  SimFixture sim;
  ImageRequest request;
  request.os = "ubuntu-24.04";
  request.arch = Arch::arm64;
  CHECK(sim.get(request).image_id == "img-ubuntu-24.04-arm64");
  request.os = "beos-5";
  CHECK_THAT(sim.ask(request).error().message, Catch::Contains("this cloud has Ubuntu 24.04 amd64"));
  auto add = sim.make<ImageAddRequest>("i1");
  add.os = "beos-5";
  add.arch = Arch::arm64;
  add.source = "https://images.example/beos";
  const std::string id = sim.get(add).image.id;
  CHECK(sim.get(request).image_id == id);
  CHECK(sim.get(ImagesRequest{}).items.size() == 5);
  CHECK(sim.remove<ImageRemoveRequest>("img-debian-12-amd64").error->code == Code::denied);
  CHECK_FALSE(sim.remove<ImageRemoveRequest>(id).error);
  request.image_id = id;
  CHECK(sim.ask(request).error().code == Code::invalid);
}

TEST_CASE("an address for a container is allocated in a subnet and freed by id") {
  SimFixture sim;
  auto request = sim.make<AddressAllocateRequest>("c1");
  request.subnet = "net-1";
  request.instance_id = sim.start("n1").id;
  const AllocatedAddress address = sim.get(request).address;
  CHECK(address.value == "10.20.0.3");
  request.address = address.value;
  CHECK(sim.ask(request).error().code == Code::conflict);
  sim.remove<AddressFreeRequest>(address.id);
  CHECK(sim.ask(request));
  SupportsAllocationRequest supports;
  supports.subnet = "net-1";
  CHECK(sim.get(supports).supported);
  supports.subnet = "net-9";
  CHECK_FALSE(sim.get(supports).supported);
  SubnetsRequest subnets;
  subnets.ids = {"net-2"};
  CHECK(sim.get(subnets).items.at(0).cidr == "10.21.0.0/16");
}

TEST_CASE("an object is seen when its last part is committed, whole and in parts") {
  SimFixture sim(R"({"max_page": 1})");
  ObjectPutRequest put;
  put.key = "backups/1";
  put.data.data = std::string("\0ab", 3);
  put.commit = false;
  put.upload = sim.get(put).upload;
  ObjectGetRequest get;
  get.key = put.key;
  CHECK(sim.ask(get).error().code == Code::not_found);
  CHECK(sim.ask(put).error().code == Code::invalid);  // the same offset again
  put.offset = 3;
  put.data.data = "cd";
  put.commit = true;
  CHECK(sim.get(put).upload.empty());
  CHECK(sim.ask(put).error().code == Code::not_found);  // the upload is over
  get.offset = 2;
  get.max_bytes = 2;
  CHECK(sim.get(get).data.data == "bc");
  CHECK(sim.get(get).size == 5);
  put = {};
  put.key = "backups/2";
  sim.get(put);
  put.key = "other";
  sim.get(put);
  ObjectListRequest list;
  list.prefix = "backups/";
  list.page = sim.get(list).next_page;
  CHECK(list.page == "backups/1");
  CHECK(sim.get(list).items.at(0).key == "backups/2");
  CHECK(sim.get(list).next_page.empty());
  ObjectUrlRequest url;
  url.key = "backups/1";
  CHECK(sim.ask(url).error().code == Code::unsupported);
  sim.cloud.set_object_url("http://127.0.0.1:1/objects/");
  CHECK_THAT(sim.get(url).url, Catch::StartsWith("http://127.0.0.1:1/objects/backups%2F1?until="));
  sim.remove<ObjectRemoveRequest>("backups/1");
  CHECK(sim.ask(url).error().code == Code::not_found);
}

TEST_CASE("the account says who it is, what it may and which groups it offers") {
  SimFixture sim(R"({"account": "acme", "quotas": {"ports": 9}, "groups": ["instances/1"]})");
  const ProbeReply probe = sim.get(ProbeRequest{});
  CHECK(probe.account == "acme");
  CHECK(probe.quotas == std::vector<Quota>{{"ports", 9, 0}});
  CHECK(probe.groups == std::vector<std::string>{"instances/1"});
  CHECK(probe.checks.at(0).message == "zones az1 az2 az3");
  CHECK(sim.get(TypesRequest{}).types.size() == 5);
}

}  // namespace slipway::sim
