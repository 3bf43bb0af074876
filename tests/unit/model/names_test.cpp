// SPDX-License-Identifier: Apache-2.0
// names_test - the names that are given and taken, and what makes a wanted machine sensible.
#include "model/names.hpp"

#include "base/random.hpp"
#include "model/validate.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace slipway::model {
namespace {

constexpr std::string_view kController = "7f3a9c21-5b1e-4d0a-9c77-0d9d3f1b2a60";

std::string text(const Status& status) { return status ? "ok" : status.error().message; }

TEST_CASE("an environment's name is short and does not end as a container's id") {
  for (const char* name : {"prod", "0", "a-b", "prod-", "prod-1", "prod-lxc", "1-lxc", "prod-01-lxc",
                           "prod-x-lxc", "prod-1-lxc-a", "abcdefghijklmnopqrst"}) {
    INFO(name);
    CHECK(text(check_environment_name(name)) == "ok");
  }
  for (const char* name : {"", "-a", "Prod", "a_b", "a b", "prod/1", "abcdefghijklmnopqrstu"}) {
    CHECK(text(check_environment_name(name)) ==
          message(
              "environment name: expected 1 to 20 characters of a-z, 0-9 and -, the first a letter or digit, "
              "got \"{}\"",
              name));
  }
  for (const char* name : {"prod-1-lxc", "a-0-kvm", "a-1-lxc-2-lxd"}) {
    CHECK(text(check_environment_name(name)) ==
          message("environment name: \"{}\" ends as the id of a container does; choose another end", name));
  }
}

TEST_CASE("a machine's name is a label of a host name") {
  CHECK(text(check_machine_name("web-1")) == "ok");
  CHECK(text(check_machine_name(std::string(63, 'a'))) == "ok");
  CHECK_FALSE(check_machine_name(std::string(64, 'a')));
  CHECK_FALSE(check_machine_name(""));
  CHECK_FALSE(check_machine_name("Web"));
  CHECK(text(check_machine_name("web-")) == "name: expected a letter or digit at the end, got \"web-\"");
}

TEST_CASE("a template becomes a name with the machine's id in it") {
  CHECK(expand_name("web-{id}", MachineId{"3"}) == "web-3");
  CHECK(expand_name("web-{id}", MachineId{"3/lxc/0"}) == "web-3-lxc-0");
  CHECK(expand_name("{id}-a-{id}", MachineId{"12"}) == "12-a-12");
  CHECK(expand_name("web", MachineId{"3"}) == "web");
  CHECK(default_machine_name("prod", MachineId{"3/lxc/0"}) == "prod-3-lxc-0");
  CHECK(check_machine_name(default_machine_name("abcdefghijklmnopqrst", MachineId{"9/lxc/9/kvm/99"})));
}

TEST_CASE("a template is refused when it could not become a machine's name") {
  CHECK(text(check_name_template("web-{id}", 20)) == "ok");
  CHECK(text(check_name_template("web", 1)) == "ok");
  CHECK(text(check_name_template("web", 2)) ==
        "name: \"web\" would be the name of 2 machines; put {id} into it, as in \"web-{id}\"");
  CHECK(text(check_name_template("web-{n}", 2)) == "name: expected no braces but {id}, got \"web-{n}\"");
  CHECK(text(check_name_template("web-{id", 1)) == "name: expected no braces but {id}, got \"web-{id\"");
  CHECK(text(check_name_template("web-{{id}}", 1)) ==
        "name: expected no braces but {id}, got \"web-{{id}}\"");
  CHECK(text(check_name_template(std::string(49, 'a') + "{id}", 2)) == "ok");
  CHECK(text(check_name_template(std::string(50, 'a') + "{id}", 2)) ==
        message("name: \"{}{{id}}\" has 64 characters with the longest id, expected at most 63",
                std::string(50, 'a')));
  for (const char* wrong : {"", "Web-{id}", "-{id}", "{id}-", "web {id}"}) {
    CHECK(text(check_name_template(wrong, 1)) == message("name: expected 1 to 63 characters of a-z, 0-9 and "
                                                         "-, a hyphen neither first nor last, got \"{}\"",
                                                         wrong));
  }
}

TEST_CASE("a resource's name says whose it is") {
  CHECK(resource_name(kController, "prod", MachineId{"3"}, 17) == "slipway-7f3a9c21-prod-3-17");
  CHECK(resource_name(kController, "prod", MachineId{"3/lxc/0"}, 1) == "slipway-7f3a9c21-prod-3-lxc-0-1");
  CHECK(resource_name(kController, "prod", MachineId{}, 5) == "slipway-7f3a9c21-prod-shared-5");
}

TEST_CASE("the longest name of a resource has 63 characters") {
  const std::string longest =
      resource_name(kController, "abcdefghijklmnopqrst", MachineId{"9/lxc/9/kvm/99"}, kMaxAttemptSeq);
  CHECK(longest == "slipway-7f3a9c21-abcdefghijklmnopqrst-9-lxc-9-kvm-99-9999999999");
  CHECK(longest.size() == kMaxResourceName);
}

TEST_CASE("no two attempts of a controller have one name") {
  std::vector<std::string> environments;
  for (const char* a :
       {"x", "x-1", "x-1-lxc", "1", "1-lxc", "x-shared", "shared", "x-", "x-1-lxc-2", "x-1-lxc-2-kvm"}) {
    for (const char* b : {"", "-1", "-lxc", "-2", "-shared", "-1-lxc"}) {
      const std::string name = std::string(a) + b;
      if (check_environment_name(name)) environments.push_back(name);
    }
  }
  REQUIRE(environments.size() > 20);
  std::map<std::string, std::string> names;
  for (const std::string& environment : environments) {
    for (const char* machine : {"", "0", "1", "2", "1/lxc/2", "1/lxc/1", "2/kvm/1", "1/lxc/2/kvm/1", "12"}) {
      for (const std::int64_t seq : {1, 2, 12}) {
        const std::string whose = message("{}:{} {}", environment, machine, seq);
        const auto [at, is_new] =
            names.emplace(resource_name(kController, environment, {machine}, seq), whose);
        INFO(at->second << " and " << whose << ": " << at->first);
        if (at->second != whose) REQUIRE(is_new);
      }
    }
  }
}

TEST_CASE("an interface of the host has a name that the kernel takes, made of the nonce") {
  SeededRandom random(9);
  const Nonce nonce = Nonce::make(random);
  const std::string name = host_interface_name(nonce);
  CHECK(name == "sw" + nonce.text().substr(0, 11));
  CHECK(name.size() == 13);
  CHECK(name != host_interface_name(Nonce::make(random)));
}

// ---- What is wanted of a machine ----

Machine good_machine() {
  Machine machine;
  machine.id = MachineId{"3"};
  machine.name = "web-3";
  machine.group = "web";
  machine.image = "debian-12";
  machine.constraints.cores = 2;
  machine.placement = {PlacementKind::zone, "az1", ContainerKind::unknown};
  machine.labels = {{"team", "web"}, {"example.org/tier", ""}};
  machine.ssh_keys = {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA somebody@example.org",
                      "ssh-rsa AAAAB3NzaC1yc2EA"};
  machine.ports = {{Protocol::tcp, 80, 443, "0.0.0.0/0"}, {Protocol::icmp, 0, 0, "fd00::/8"}};
  machine.volumes = {{"fast", 1024, 2}};
  return machine;
}

template <class Change>
std::string problem(Change change) {
  Machine machine = good_machine();
  change(machine);
  return text(validate(machine));
}

TEST_CASE("a sensible machine is accepted, also with nothing but id and name") {
  CHECK(text(validate(good_machine())) == "ok");
  Machine bare;
  bare.id = MachineId{"0"};
  bare.name = "prod-0";
  CHECK(text(validate(bare)) == "ok");
}

TEST_CASE("each wrong member of a machine is named") {
  using M = Machine;
  CHECK(problem([](M& m) { m.id.value = "03"; }) ==
        "id: expected a machine id such as 3 or 3/lxc/0 (lxc, lxd or kvm), got \"03\"");
  CHECK(problem([](M& m) { m.name = "web_3"; }) ==
        "name: expected 1 to 63 characters of a-z, 0-9 and -, the first a letter or digit, got \"web_3\"");
  CHECK(problem([](M& m) { m.group = "Web"; }) ==
        "group: expected 1 to 63 characters of a-z, 0-9 and -, the first a letter or digit, got \"Web\"");
  CHECK(problem([](M& m) { m.constraints.instance_type = "m1"; }) ==
        "constraints: instance-type=m1 and cores=2 exclude each other; leave one of them out");
  CHECK(problem([](M& m) { m.placement.target = ""; }) ==
        "placement: zone: expected a name without spaces, got \"\"");
  CHECK(problem([](M& m) { m.image = "debian 12"; }) ==
        "image: expected at most 255 bytes without spaces, got \"debian 12\"");
  CHECK(problem([](M& m) {
          m.image = std::string(256, 'x');
        }).starts_with("image: expected at most 255 bytes"));
  CHECK(problem([](M& m) { m.ports[1].from = 8; }) ==
        "ports[1].from: icmp has no ports, expected from and to 0");
  CHECK(problem([](M& m) { m.volumes[0].count = 0; }) == "volumes[0].count: expected at least 1, got 0");
  CHECK(problem([](M& m) { m.ssh_keys[1] = "ssh-rsa"; }) ==
        "ssh_keys[1]: what follows ssh-rsa is no such key; copy the whole line of the .pub file");
  CHECK(problem([](M& m) {
          m.ssh_keys = {"ssh-rsa " + std::string(kMaxSshKey, 'A')};
        }).starts_with("ssh_keys[0]"));
}

TEST_CASE("an ssh key is a type and a blob that begins with it, without options or a second line") {
  const std::string rsa = "AAAAB3NzaC1yc2EA";
  const std::string good = "ssh-rsa " + rsa;
  CHECK(check_ssh_key(good));
  CHECK(check_ssh_key(good + " somebody@example.org on a laptop"));
  for (const std::string& bad :
       {std::string(), std::string("ssh-rsa"), std::string("ssh-rsa "), "ssh-rsa  " + rsa, " " + rsa,
        "ssh-ed25519 " + rsa, "ssh-dss " + rsa, "command=\"x\" " + good, good + "\n" + good,
        std::string("ssh-rsa AAAAB3NzaC1yc2E="), std::string("ssh-rsa AAAA"), std::string("ssh-rsa ****"),
        good + std::string(kMaxSshKey, ' ')}) {
    CAPTURE(bad);
    const auto status = check_ssh_key(bad);
    REQUIRE(!status);
    CHECK(status.error().code == Code::invalid);
  }
}

TEST_CASE("all that is wrong with a machine is told at once") {
  CHECK(problem([](Machine& m) {
          m.name = "";
          m.ports[0].to = 22;
          m.volumes[0] = {"Fast", 0, 1};
        }) ==
        "name: expected 1 to 63 characters of a-z, 0-9 and -, the first a letter or digit, got \"\"; "
        "ports[0].to: expected 80 (from) to 65535, got 22; "
        "volumes[0].pool: expected 1 to 63 characters of a-z, 0-9 and -, the first a letter or digit, got "
        "\"Fast\"; "
        "volumes[0].size_mib: expected 1 to 1073741824, got 0");
}

TEST_CASE("a placement that the machine's own constraints forbid is refused") {
  using M = Machine;
  CHECK(problem([](M& m) {
          m.constraints.zones = {"az2", "az3"};
        }) == "placement: zone az1 is not among the zones of the constraints");
  CHECK(problem([](M& m) { m.constraints.zones = {"az2", "az1"}; }) == "ok");
  CHECK(problem([](M& m) { m.constraints.zones.emplace(); }) == "ok");
  const Placement in_lxc = {PlacementKind::container, "1", ContainerKind::lxc};
  CHECK(problem([&](M& m) {
          m.placement = in_lxc;
          m.constraints.container = ContainerKind::kvm;
        }) == "placement: lxc:1 contradicts container=kvm of the constraints");
  CHECK(problem([&](M& m) {
          m.placement = in_lxc;
          m.constraints.container = ContainerKind::lxc;
        }) == "ok");
}

TEST_CASE("lists of a machine are bounded") {
  using M = Machine;
  CHECK(problem([](M& m) { m.ports.resize(64, m.ports[0]); }) == "ok");
  CHECK(problem([](M& m) { m.ports.resize(65, m.ports[0]); }) == "ports: expected at most 64, got 65");
  CHECK(problem([](M& m) { m.ssh_keys.resize(33); }) == "ssh_keys: expected at most 32, got 33");
  CHECK(problem([](M& m) { m.volumes.resize(17); }) == "volumes: expected at most 16, got 17");
  CHECK(problem([](M& m) { m.volumes = {{"fast", 1, 12}, {"slow", 1, 12}}; }) == "ok");
  CHECK(problem([](M& m) {
          m.volumes = {{"fast", 1, 12}, {"slow", 1, 13}};
        }) == "volumes, the counts together: expected at most 24, got 25");
  CHECK(problem([](M& m) {
          m.volumes = {{"fast", 1, 4294967295}, {"slow", 1, 4294967295}};
        }) == "volumes, the counts together: expected at most 24, got 8589934590");
}

TEST_CASE("ports are ranges in order, open to a network") {
  CHECK(text(validate(PortRange{Protocol::tcp, 22, 22, "10.0.0.0/8"})) == "ok");
  CHECK(text(validate(PortRange{Protocol::udp, 1, 65535, "::/0"})) == "ok");
  CHECK(text(validate(PortRange{Protocol::icmp, 0, 0, "0.0.0.0/0"})) == "ok");
  CHECK(text(validate(PortRange{Protocol::tcp, 0, 0, "0.0.0.0/0"})) == "from: expected 1 to 65535, got 0");
  CHECK(text(validate(PortRange{Protocol::tcp, 443, 80, "0.0.0.0/0"})) ==
        "to: expected 443 (from) to 65535, got 80");
  CHECK(text(validate(PortRange{Protocol::icmp, 0, 8, "0.0.0.0/0"})) ==
        "from: icmp has no ports, expected from and to 0");
  CHECK(text(validate(PortRange{Protocol::unknown, 1, 1, "0.0.0.0/0"})) ==
        "protocol: expected one of tcp, udp, icmp");
  CHECK(text(validate(PortRange{Protocol::tcp, 1, 1, "10.0.0.1"})) ==
        "source: \"10.0.0.1\" has no prefix length; for this address alone write 10.0.0.1/32");
  CHECK(text(validate(PortRange{Protocol::tcp, 1, 1, ""})) ==
        "source: expected a network such as 10.0.0.0/24, got \"\"");
}

TEST_CASE("a volume's request has a pool, a size and a count") {
  CHECK(text(validate(VolumeRequest{"fast", kMaxVolumeMib, 1})) == "ok");
  CHECK(text(validate(VolumeRequest{"fast", kMaxVolumeMib + 1, 1})) ==
        "size_mib: expected 1 to 1073741824, got 1073741825");
  CHECK(validate(VolumeRequest{}).error().code == Code::invalid);
}

TEST_CASE("labels have plain keys and values, and none of Slipway's own") {
  const auto problem_of = [](const std::string& key, const std::string& value) {
    return text(validate_labels({{key, value}}));
  };
  CHECK(problem_of("a.b/c_d-E9", "any text, ümlaut too") == "ok");
  CHECK(problem_of(std::string(63, 'k'), std::string(255, 'v')) == "ok");
  for (const std::string& key : {std::string(), std::string("-a"), std::string("a b"), std::string("a=b"),
                                 std::string("ü"), std::string(64, 'k')}) {
    INFO(key);
    CHECK(problem_of(key, "v").find(": expected a key of 1 to 63 characters") != std::string::npos);
  }
  CHECK(problem_of("slipway-nonce", "v") ==
        "labels.slipway-nonce: keys that start with \"slipway\" are kept for Slipway's own marks");
  CHECK(problem_of("a", std::string(256, 'v')) ==
        "labels.a: expected a value of at most 255 bytes without control characters, got 256 bytes");
  CHECK(problem_of("a", "x\ny") ==
        "labels.a: expected a value of at most 255 bytes without control characters, got 3 bytes");
  std::map<std::string, std::string> many;
  for (std::size_t i = 0; i < kMaxLabels; ++i) many["k" + std::to_string(i)] = "v";
  CHECK(validate_labels(many));
  many["one-more"] = "v";
  CHECK(text(validate_labels(many)) == "labels: expected at most 64, got 65");
}

TEST_CASE("an environment is checked for its name and its constraints") {
  Environment environment;
  environment.name = "prod";
  CHECK(validate(environment));
  environment.name = "Prod";
  environment.constraints.zones = {""};
  CHECK(text(validate(environment)).starts_with("environment name: expected 1 to 20 characters"));
  CHECK(text(validate(environment)).find("; constraints: zones: ") != std::string::npos);
}

}  // namespace
}  // namespace slipway::model
