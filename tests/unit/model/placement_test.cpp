// SPDX-License-Identifier: Apache-2.0
// placement_test - placements as text and back; addresses: their scopes, the one that is shown, subnets.
#include "model/placement.hpp"

#include "model/address.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace slipway::model {
namespace {

std::string refusal(std::string_view text) {
  const auto placement = parse_placement(text);
  if (placement) return "accepted";
  CHECK(placement.error().code == Code::invalid);
  return placement.error().message;
}

TEST_CASE("placements are read and printed back") {
  const std::vector<std::pair<const char*, Placement>> cases = {
      {"", {}},
      {"zone=az1", {PlacementKind::zone, "az1", ContainerKind::unknown}},
      {"zone=nova:host=1", {PlacementKind::zone, "nova:host=1", ContainerKind::unknown}},
      {"3", {PlacementKind::machine, "3", ContainerKind::unknown}},
      {"3/lxc/0", {PlacementKind::machine, "3/lxc/0", ContainerKind::unknown}},
      {"lxc:3", {PlacementKind::container, "3", ContainerKind::lxc}},
      {"kvm:3/lxc/0", {PlacementKind::container, "3/lxc/0", ContainerKind::kvm}},
      {"lxd:0", {PlacementKind::container, "0", ContainerKind::lxd}},
      {"subnet=10.0.0.0/24", {PlacementKind::subnet, "10.0.0.0/24", ContainerKind::unknown}},
      {"subnet=5d1c77e0-4e0b", {PlacementKind::subnet, "5d1c77e0-4e0b", ContainerKind::unknown}},
  };
  for (const auto& [text, placement] : cases) {
    INFO(text);
    const auto parsed = parse_placement(text);
    REQUIRE(parsed);
    CHECK(*parsed == placement);
    CHECK(print_placement(placement) == text);
    CHECK(check_placement(placement));
  }
  CHECK(parse_placement("  zone=az1\n").value().target == "az1");
  CHECK(parse_placement("subnet=FD00:0:0::/64").value().target == "fd00::/64");
}

TEST_CASE("wrong placements are refused with what is right") {
  CHECK(refusal("zoen=a") ==
        "placement: unknown key \"zoen\" (did you mean \"zone\"?); expected zone= or subnet=");
  CHECK(refusal("zone=") == "placement: zone: expected a name without spaces, got \"\"");
  CHECK(refusal("zone=a b") == "placement: zone: expected a name without spaces, got \"a b\"");
  CHECK(refusal("subnet=10.0.0.1/24") ==
        "placement: \"10.0.0.1/24\" has bits behind its prefix (did you mean \"10.0.0.0/24\"?)");
  CHECK(refusal("lxc") == "placement: \"lxc\" does not say in which machine; write lxc:ID, as in lxc:3");
  CHECK(refusal("lcx:3") ==
        "placement: unknown kind of container \"lcx\" (did you mean \"lxc\"?); expected lxc:ID, lxd:ID or "
        "kvm:ID");
  CHECK(refusal("none:3") ==
        "placement: unknown kind of container \"none\"; expected lxc:ID, lxd:ID or kvm:ID");
  CHECK(refusal("lxc:") ==
        "placement: expected a machine id such as 3 or 3/lxc/0 (lxc, lxd or kvm), got \"\"");
  CHECK(refusal("lxc:x") ==
        "placement: expected a machine id such as 3 or 3/lxc/0 (lxc, lxd or kvm), got \"x\"");
  CHECK(refusal("az1") ==
        "placement: expected zone=NAME, subnet=CIDR, a machine id (3) or a container in one (lxc:3), got "
        "\"az1\"");
  CHECK(refusal("zone=a\x1b[2J") == "placement: \"zone=a\\x1b[2J\" has control characters");
}

TEST_CASE("a placement that came as a struct is held to the rules of the text") {
  for (const Placement& wrong : {
           Placement{PlacementKind::zone, "", ContainerKind::unknown},
           Placement{PlacementKind::zone, "a b", ContainerKind::unknown},
           Placement{PlacementKind::zone, "a", ContainerKind::lxc},
           Placement{PlacementKind::none, "a", ContainerKind::unknown},
           Placement{PlacementKind::machine, "zone=a", ContainerKind::unknown},
           Placement{PlacementKind::machine, "", ContainerKind::unknown},
           Placement{PlacementKind::container, "3", ContainerKind::unknown},
           Placement{PlacementKind::container, "3", ContainerKind::none},
           Placement{PlacementKind::subnet, "FD00::/64", ContainerKind::unknown},
       }) {
    INFO(print_placement(wrong));
    CHECK_FALSE(check_placement(wrong));
  }
  CHECK(check_placement({PlacementKind::none, "a", ContainerKind::lxc}).error().message ==
        "placement: kind none, target \"a\" and container lxc do not go together");
}

// ---- Addresses ----

TEST_CASE("an address is classified by its kind and how far it is good for") {
  struct Case {
    const char* text;
    AddressKind kind;
    AddressScope scope;
  };
  const Case cases[] = {
      {"8.8.8.8", AddressKind::ipv4, AddressScope::public_},
      {"11.0.0.1", AddressKind::ipv4, AddressScope::public_},
      {"10.83.0.10", AddressKind::ipv4, AddressScope::cloud_local},
      {"172.16.0.1", AddressKind::ipv4, AddressScope::cloud_local},
      {"172.31.255.255", AddressKind::ipv4, AddressScope::cloud_local},
      {"172.32.0.0", AddressKind::ipv4, AddressScope::public_},
      {"192.168.1.1", AddressKind::ipv4, AddressScope::cloud_local},
      {"100.64.0.1", AddressKind::ipv4, AddressScope::cloud_local},
      {"100.128.0.1", AddressKind::ipv4, AddressScope::public_},
      {"127.0.0.53", AddressKind::ipv4, AddressScope::machine_local},
      {"169.254.169.254", AddressKind::ipv4, AddressScope::link_local},
      {"0.0.0.0", AddressKind::ipv4, AddressScope::unknown},
      {"224.0.0.1", AddressKind::ipv4, AddressScope::unknown},
      {"255.255.255.255", AddressKind::ipv4, AddressScope::unknown},
      {"2001:4860:4860::8888", AddressKind::ipv6, AddressScope::public_},
      {"::1", AddressKind::ipv6, AddressScope::machine_local},
      {"::", AddressKind::ipv6, AddressScope::unknown},
      {"fe80::1", AddressKind::ipv6, AddressScope::link_local},
      {"fe80::1%eth0", AddressKind::ipv6, AddressScope::link_local},
      {"febf::1", AddressKind::ipv6, AddressScope::link_local},
      {"fec0::1", AddressKind::ipv6, AddressScope::public_},
      {"fd12:3456::1", AddressKind::ipv6, AddressScope::cloud_local},
      {"FC00::1", AddressKind::ipv6, AddressScope::cloud_local},
      {"ff02::1", AddressKind::ipv6, AddressScope::unknown},
      {"::ffff:10.0.0.1", AddressKind::ipv6, AddressScope::cloud_local},
      {"::ffff:8.8.8.8", AddressKind::ipv6, AddressScope::public_},
      {"::ffff:7f00:1", AddressKind::ipv6, AddressScope::machine_local},
      {"web-1.example.org", AddressKind::hostname, AddressScope::unknown},
      {"localhost", AddressKind::hostname, AddressScope::machine_local},
      {"web.1a", AddressKind::hostname, AddressScope::unknown},
      {"", AddressKind::unknown, AddressScope::unknown},
      {"256.0.0.1", AddressKind::unknown, AddressScope::unknown},
      {"1.2.3", AddressKind::unknown, AddressScope::unknown},
      {"010.0.0.1", AddressKind::unknown, AddressScope::unknown},
      {"10.0.0.1%eth0", AddressKind::unknown, AddressScope::unknown},
      {"10.0.0.1 ", AddressKind::unknown, AddressScope::unknown},
      {"-web", AddressKind::unknown, AddressScope::unknown},
      {"web..org", AddressKind::unknown, AddressScope::unknown},
      {":::", AddressKind::unknown, AddressScope::unknown},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const Address address = classify(c.text);
    CHECK(address.value == c.text);
    CHECK(message("{}", address.kind) == message("{}", c.kind));
    CHECK(message("{}", address.scope) == message("{}", c.scope));
  }
  CHECK(classify(std::string_view("10.0.0.1\0x", 10)).kind == AddressKind::unknown);
}

TEST_CASE("the address that is shown is the one that reaches furthest; one of the machine's own is none") {
  const auto shown = [](const std::vector<const char*>& texts) {
    std::vector<Address> addresses;
    for (const char* text : texts) addresses.push_back(classify(text));
    const Address* address = address_to_show(addresses);
    return address != nullptr ? address->value : "-";
  };
  CHECK(shown({"fe80::1", "10.0.0.7", "2001:db8::1", "203.0.113.9"}) == "203.0.113.9");
  CHECK(shown({"10.0.0.7", "2001:db8::1"}) == "2001:db8::1");
  CHECK(shown({"fd00::1", "10.0.0.7"}) == "10.0.0.7");
  CHECK(shown({"web.example.org", "fd00::1"}) == "fd00::1");
  CHECK(shown({"127.0.0.1", "web.example.org"}) == "web.example.org");
  CHECK(shown({"10.0.0.7", "10.0.0.8"}) == "10.0.0.7");  // the cloud's order
  CHECK(shown({"10.0.0.8", "10.0.0.7"}) == "10.0.0.8");
  CHECK(shown({"127.0.0.1", "::1", "fe80::1", "169.254.1.1"}) == "-");
  CHECK(shown({}) == "-");
  CHECK(shown({""}) == "-");
}

TEST_CASE("a CIDR is read in one spelling only") {
  for (const auto& [text, printed] : std::vector<std::pair<const char*, const char*>>{
           {"10.0.0.0/24", "10.0.0.0/24"},
           {"0.0.0.0/0", "0.0.0.0/0"},
           {"10.0.0.1/32", "10.0.0.1/32"},
           {"10.0.0.128/25", "10.0.0.128/25"},
           {"::/0", "::/0"},
           {"FD00:0::/8", "fd00::/8"},
           {"2001:db8::1/128", "2001:db8::1/128"},
       }) {
    INFO(text);
    const auto cidr = Cidr::parse(text);
    REQUIRE(cidr);
    CHECK(cidr->text() == printed);
    CHECK(Cidr::parse(cidr->text()).value() == *cidr);
  }
  const auto refused = [](std::string_view text) {
    const auto cidr = Cidr::parse(text);
    return cidr ? "accepted" : cidr.error().message;
  };
  CHECK(refused("10.0.0.1/24") ==
        "\"10.0.0.1/24\" has bits behind its prefix (did you mean \"10.0.0.0/24\"?)");
  CHECK(refused("fd00::1/64") == "\"fd00::1/64\" has bits behind its prefix (did you mean \"fd00::/64\"?)");
  CHECK(refused("10.0.0.1") == "\"10.0.0.1\" has no prefix length; for this address alone write 10.0.0.1/32");
  CHECK(refused("::1") == "\"::1\" has no prefix length; for this address alone write ::1/128");
  CHECK(refused("10.0.0/24") == "expected a network such as 10.0.0.0/24, got \"10.0.0/24\"");
  CHECK(refused("web/24") == "expected a network such as 10.0.0.0/24, got \"web/24\"");
  CHECK(refused("") == "expected a network such as 10.0.0.0/24, got \"\"");
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8x",
                           "10.0.0.0/8/8", "10.0.0.0/99999999999"}) {
    CHECK(refused(text) == message("expected a prefix length from 0 to 32 behind the /, got \"{}\"", text));
  }
  CHECK(refused("::/129") == "expected a prefix length from 0 to 128 behind the /, got \"::/129\"");
}

TEST_CASE("a subnet contains addresses and subnets of its own family") {
  const auto cidr = [](std::string_view text) { return Cidr::parse(text).value(); };
  const auto contains = [&](std::string_view subnet, std::string_view address) {
    const auto host = Cidr::host(address);
    return host && cidr(subnet).contains(*host);
  };
  CHECK(contains("10.0.0.0/24", "10.0.0.0"));
  CHECK(contains("10.0.0.0/24", "10.0.0.255"));
  CHECK_FALSE(contains("10.0.0.0/24", "10.0.1.0"));
  CHECK(contains("10.0.0.128/25", "10.0.0.200"));
  CHECK_FALSE(contains("10.0.0.128/25", "10.0.0.127"));
  CHECK(contains("0.0.0.0/0", "1.2.3.4"));
  CHECK_FALSE(contains("0.0.0.0/0", "::1"));
  CHECK(contains("::/0", "fd00::1"));
  CHECK(contains("fc00::/7", "fd00::1"));
  CHECK_FALSE(Cidr::host("web"));
  CHECK_FALSE(Cidr::host("10.0.0.0/8"));
  CHECK(cidr("10.0.0.0/8").contains(cidr("10.1.0.0/16")));
  CHECK_FALSE(cidr("10.1.0.0/16").contains(cidr("10.0.0.0/8")));
  CHECK(cidr("10.1.0.0/16").overlaps(cidr("10.0.0.0/8")));
  CHECK(cidr("10.0.0.0/8").overlaps(cidr("10.1.0.0/16")));
  CHECK_FALSE(cidr("10.0.0.0/16").overlaps(cidr("10.1.0.0/16")));
  CHECK_FALSE(cidr("::/0").contains(cidr("10.0.0.0/8")));
}

}  // namespace
}  // namespace slipway::model
