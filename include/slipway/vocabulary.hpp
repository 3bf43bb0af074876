// SPDX-License-Identifier: Apache-2.0
// vocabulary.hpp - the words that messages, model and API share: constraints, placement, hardware, types,
// zones, addresses, instance states. One definition each; sizes in MiB, times in UTC milliseconds. On the
// wire a member has its own name and an enumerator its own, less one trailing underscore (codec.hpp). Thread
// rule: values.
#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

enum class Arch { unknown, amd64, arm64, armhf, i386, ppc64el, riscv64, s390x };
BOOST_DESCRIBE_ENUM(Arch, unknown, amd64, arm64, armhf, i386, ppc64el, riscv64, s390x)

// What makes machines inside a machine. `none` as a constraint: explicitly not in a container.
enum class ContainerKind { unknown, none, lxc, lxd, kvm };
BOOST_DESCRIBE_ENUM(ContainerKind, unknown, none, lxc, lxd, kvm)

// "a,b,^c": at least these, none of those.
struct Selection {
  std::vector<std::string> include;
  std::vector<std::string> exclude;

  bool operator==(const Selection&) const = default;
};
BOOST_DESCRIBE_STRUCT(Selection, (), (include, exclude))

// What a machine must at least have. An absent member says nothing; an empty text, an empty list or a 0 says
// "none", which beats a default when constraints are merged (model/constraints.hpp parses, prints and
// merges).
struct Constraints {
  std::optional<Arch> arch;
  std::optional<std::uint32_t> cores;      // at least
  std::optional<std::uint64_t> cpu_power;  // at least; 100 is one core of a current server processor
  std::optional<std::uint64_t> mem_mib;    // at least
  std::optional<std::uint64_t> root_disk_mib;
  std::optional<std::string> root_disk_source;  // "local", "volume" or a pool
  std::optional<std::string> instance_type;     // the cloud's name; excludes arch, cores, cpu_power, mem
  std::optional<std::vector<std::string>> zones;
  std::optional<Selection> tags;
  std::optional<Selection> spaces;
  std::optional<std::string> virt_type;
  std::optional<std::string> image_id;
  std::optional<bool> allocate_public_ip;
  std::optional<ContainerKind> container;

  bool operator==(const Constraints&) const = default;
};
BOOST_DESCRIBE_STRUCT(Constraints, (),
                      (arch, cores, cpu_power, mem_mib, root_disk_mib, root_disk_source, instance_type, zones,
                       tags, spaces, virt_type, image_id, allocate_public_ip, container))

// Where a machine is to be, beyond its constraints.
enum class PlacementKind { none, zone, machine, container, subnet };
BOOST_DESCRIBE_ENUM(PlacementKind, none, zone, machine, container, subnet)

struct Placement {
  PlacementKind kind = PlacementKind::none;
  std::string target;                                // zone name, machine id, or subnet (CIDR or id)
  ContainerKind container = ContainerKind::unknown;  // with kind container: "lxc:3" is lxc on machine 3

  bool operator==(const Placement&) const = default;
};
BOOST_DESCRIBE_STRUCT(Placement, (), (kind, target, container))

// What an instance has, or a type offers. Absent: not known.
struct Hardware {
  std::optional<Arch> arch;
  std::optional<std::uint32_t> cores;
  std::optional<std::uint64_t> mem_mib;
  std::optional<std::uint64_t> root_disk_mib;
  std::optional<std::uint64_t> cpu_power = {};

  bool operator==(const Hardware&) const = default;
};
BOOST_DESCRIBE_STRUCT(Hardware, (), (arch, cores, mem_mib, root_disk_mib, cpu_power))

// A size of machine that the cloud sells ("flavour", "plan").
struct InstanceType {
  std::string id;
  std::string name;
  Hardware hardware;
  std::optional<std::uint64_t> cost;  // for comparison only, in the cloud's own unit
  std::string virt_type = {};
  std::vector<std::string> zones = {};  // empty: in all
  std::vector<std::string> tags = {};
  bool deprecated = false;

  bool operator==(const InstanceType&) const = default;
};
BOOST_DESCRIBE_STRUCT(InstanceType, (), (id, name, hardware, cost, virt_type, zones, tags, deprecated))

struct Zone {
  std::string name;
  bool available = true;
  std::string message;  // the cloud's words, when it is not

  bool operator==(const Zone&) const = default;
};
BOOST_DESCRIBE_STRUCT(Zone, (), (name, available, message))

enum class AddressKind { unknown, ipv4, ipv6, hostname };
BOOST_DESCRIBE_ENUM(AddressKind, unknown, ipv4, ipv6, hostname)

// How far an address is good for.
enum class AddressScope { unknown, public_, cloud_local, machine_local, link_local };
BOOST_DESCRIBE_ENUM(AddressScope, unknown, public_, cloud_local, machine_local, link_local)

struct Address {
  std::string value;
  AddressScope scope = AddressScope::unknown;
  AddressKind kind = AddressKind::unknown;
  std::string network = {};  // the cloud's name of the network, when it says one
  std::string subnet = {};   // the provider's id of the subnet, when known

  bool operator==(const Address&) const = default;
};
BOOST_DESCRIBE_STRUCT(Address, (), (value, scope, kind, network, subnet))

// What the cloud says of an instance (or of a volume, a port: the same words fit).
enum class InstanceState { unknown, building, running, stopping, stopped, failed, gone };
BOOST_DESCRIBE_ENUM(InstanceState, unknown, building, running, stopping, stopped, failed, gone)

enum class Protocol { unknown, tcp, udp, icmp };
BOOST_DESCRIBE_ENUM(Protocol, unknown, tcp, udp, icmp)

// Whether each machine has its own group of firewall rules, all machines of an environment share one, or
// Slipway leaves the firewall alone.
enum class FirewallMode { instance, global, none };
BOOST_DESCRIBE_ENUM(FirewallMode, instance, global, none)

// Ports open to `source`. icmp has no ports (both 0).
struct PortRange {
  Protocol protocol = Protocol::tcp;
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  std::string source = "0.0.0.0/0";  // CIDR

  auto operator<=>(const PortRange&) const = default;
};
BOOST_DESCRIBE_STRUCT(PortRange, (), (protocol, from, to, source))

}  // namespace slipway
