// SPDX-License-Identifier: Apache-2.0
// constraints_test - constraints as text and back, what they refuse, the laws of merging, and what hardware
// misses.
#include "model/constraints.hpp"

#include "base/random.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <vector>

namespace slipway::model {
namespace {

Constraints parsed(std::string_view text) {
  auto constraints = parse_constraints(text);
  INFO(text);
  if (!constraints) FAIL(constraints.error().message);
  return *std::move(constraints);
}

std::string refusal(std::string_view text) {
  const auto constraints = parse_constraints(text);
  if (constraints) return "accepted";
  CHECK(constraints.error().code == Code::invalid);
  return constraints.error().message;
}

std::string merged(std::string_view fallback, std::string_view own) {
  return print_constraints(merge(parsed(fallback), parsed(own)));
}

TEST_CASE("every key of constraints is read into its member") {
  const Constraints c = parsed(
      "arch=arm64 cores=2 mem=8G root-disk=20G root-disk-source=volume zones=a,b tags=x,^y spaces=^s "
      "virt-type=kvm image-id=5d1c77e0 allocate-public-ip=true cpu-power=150 container=lxc");
  CHECK(c.arch == Arch::arm64);
  CHECK(c.cores == 2);
  CHECK(c.mem_mib == 8192);
  CHECK(c.root_disk_mib == 20480);
  CHECK(c.root_disk_source == "volume");
  CHECK(c.zones == std::vector<std::string>{"a", "b"});
  CHECK(c.tags == Selection{{"x"}, {"y"}});
  CHECK(c.spaces == Selection{{}, {"s"}});
  CHECK(c.virt_type == "kvm");
  CHECK(c.image_id == "5d1c77e0");
  CHECK(c.allocate_public_ip == true);
  CHECK(c.cpu_power == 150);
  CHECK(c.container == ContainerKind::lxc);
  CHECK_FALSE(c.instance_type);
  CHECK(parsed("instance-type=m1.small").instance_type == "m1.small");
  CHECK(parsed("").operator==(Constraints{}));
  CHECK(parsed(" \t\n ") == Constraints{});
  CHECK(constraint_keys().size() == 14);
}

TEST_CASE("constraints are printed in one order and one form") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", ""},
      {"mem=8192 cores=2", "cores=2 mem=8G"},
      {"  cores=2\t\n mem=1.5G ", "cores=2 mem=1536M"},
      {"tags=^b,a,^c,d", "tags=a,d,^b,^c"},
      {"container=none", "container=none"},
      {"container=", "container=none"},
      {"allocate-public-ip=", "allocate-public-ip=false"},
      {"cores=0", "cores="},
      {"mem=0G", "mem="},
      {"zones= tags= spaces=", "zones= tags= spaces="},
      {"image-id=a=b", "image-id=a=b"},
      {"cpu-power=18446744073709551615", "cpu-power=18446744073709551615"},
      {"zones=b,a", "zones=b,a"},
  };
  for (const auto& [text, printed] : cases) CHECK(print_constraints(parsed(text)) == printed);
}

TEST_CASE("nothing behind the equals sign is an explicit none") {
  Constraints none;
  none.arch = Arch::unknown;
  none.cores = 0;
  none.cpu_power = 0;
  none.mem_mib = 0;
  none.root_disk_mib = 0;
  none.root_disk_source = none.instance_type = none.virt_type = none.image_id = "";
  none.zones.emplace();
  none.tags.emplace();
  none.spaces.emplace();
  none.allocate_public_ip = false;
  none.container = ContainerKind::none;
  std::string text;
  for (const std::string_view key : constraint_keys()) text.append(key).append("= ");
  CHECK(parsed(text) == none);
  CHECK(check_constraints(none));
  CHECK(parsed(print_constraints(none)) == none);
}

TEST_CASE("wrong constraints are refused with the key and what was expected") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"coers=2",
       "constraints: unknown key \"coers\" (did you mean \"cores\"?); the keys are arch, cores, mem, "
       "root-disk, "
       "root-disk-source, instance-type, zones, tags, spaces, virt-type, image-id, allocate-public-ip, "
       "cpu-power, "
       "container"},
      {"cores=two", "constraints: cores: expected a whole number from 0 to 4294967295, got \"two\""},
      {"cores=-1", "constraints: cores: expected a whole number from 0 to 4294967295, got \"-1\""},
      {"cores=4294967296",
       "constraints: cores: expected a whole number from 0 to 4294967295, got \"4294967296\""},
      {"cores=2.5", "constraints: cores: expected a whole number from 0 to 4294967295, got \"2.5\""},
      {"cores=2 mem=1G cores=2", "constraints: cores is given twice"},
      {"cores= cores=2", "constraints: cores is given twice"},
      {"mem=8X",
       "constraints: mem: expected a size such as 512M, 8G or 1.5T (a bare number is MiB), got \"8X\""},
      {"arch=amd46",
       "constraints: arch: expected one of amd64, arm64, armhf, i386, ppc64el, riscv64, s390x, got \"amd46\" "
       "(did you "
       "mean \"amd64\"?)"},
      {"arch=unknown",
       "constraints: arch: expected one of amd64, arm64, armhf, i386, ppc64el, riscv64, s390x, got "
       "\"unknown\""},
      {"container=docker", "constraints: container: expected one of none, lxc, lxd, kvm, got \"docker\""},
      {"allocate-public-ip=yes", "constraints: allocate-public-ip: expected true or false, got \"yes\""},
      {"tags=a,,b",
       "constraints: tags: expected names between commas, ^ before one that is excluded, got \"a,,b\""},
      {"tags=^",
       "constraints: tags: expected names between commas, ^ before one that is excluded, got \"^\""},
      {"tags=^^a",
       "constraints: tags: expected names between commas, ^ before one that is excluded, got \"^^a\""},
      {"spaces=a,^a", "constraints: spaces: \"a\" stands twice in \"a,^a\""},
      {"zones=a,^b",
       "constraints: zones: names cannot be excluded by ^ here, got \"a,^b\"; list the ones that are "
       "allowed"},
      {"image-id=\"Ubuntu 24.04\"",
       "constraints: image-id: a value has no spaces, quotes or control characters, got \"\"Ubuntu\""},
      {"cores=2 24.04",
       "constraints: expected key=value, got \"24.04\"; a value has no spaces, and quotes do not help"},
      {"virt-type=a\x01",
       "constraints: virt-type: a value has no spaces, quotes or control characters, got \"a\\x01\""},
      {"=2", "constraints: unknown key \"\"; the keys are"},
      {"Cores=2", "constraints: unknown key \"Cores\" (did you mean \"cores\"?)"},
      {"instance-type=m1 cores=2",
       "constraints: instance-type=m1 and cores=2 exclude each other; leave one of them out"},
      {"cpu-power=9 instance-type=m1",
       "constraints: instance-type=m1 and cpu-power=9 exclude each other; leave one of "
       "them out"},
  };
  for (const auto& [text, error] : cases) {
    INFO(text);
    CHECK(refusal(text).substr(0, error.size()) == error);
  }
}

TEST_CASE("an instance type goes with what it does not settle, and with explicit nones") {
  for (const char* text :
       {"instance-type=m1 root-disk=20G", "instance-type=m1 root-disk=20G root-disk-source=volume",
        "instance-type=m1 cores= mem=", "instance-type= cores=2 mem=4G", "instance-type=m1 zones=a"}) {
    INFO(text);
    CHECK(refusal(text) == "accepted");
  }
  for (const char* text : {"arch=amd64", "cores=1", "mem=1G", "cpu-power=1"}) {
    INFO(text);
    CHECK(refusal(std::string("instance-type=m1 ") + text) != "accepted");
  }
}

TEST_CASE("constraints that came as a struct are held to the rules of the text") {
  const auto problem = [](auto change) {
    Constraints c;
    change(c);
    const auto status = check_constraints(c);
    return status ? "accepted" : status.error().message;
  };
  CHECK(problem([](Constraints& c) { c.cores = 2; }) == "accepted");
  CHECK(problem([](Constraints& c) { c.image_id = "Ubuntu 24.04"; }) ==
        "constraints: image-id: a value has no spaces, quotes or control characters, got \"Ubuntu 24.04\"");
  CHECK(problem([](Constraints& c) { c.zones = {"a,b"}; }) ==
        "constraints: zones: written as \"a,b\" it would mean another value; names are not empty and have no "
        "comma and no ^ in front");
  CHECK(problem([](Constraints& c) { c.zones = {""}; }) ==
        "constraints: zones: written as \"\" it would mean another value; names are not empty and have no "
        "comma and no ^ in front");
  CHECK(problem([](Constraints& c) {
          c.zones = {"a", "a"};
        }) == "constraints: zones: \"a\" stands twice in \"a,a\"");
  CHECK(problem([](Constraints& c) {
          c.tags = Selection{{"^a"}, {}};
        }) ==
        "constraints: tags: written as \"^a\" it would mean another value; names are not empty and have no "
        "comma and no ^ in front");
  CHECK(problem([](Constraints& c) {
          c.tags = Selection{{"a"}, {"a"}};
        }) == "constraints: tags: \"a\" stands twice in \"a,^a\"");
  CHECK(problem([](Constraints& c) { c.container = ContainerKind::unknown; }) ==
        "constraints: container: written as \"\" it would mean another value; names are not empty and have "
        "no comma and no ^ in front");
  CHECK(problem([](Constraints& c) {
          c.instance_type = "m1";
          c.arch = Arch::amd64;
        }) == "constraints: instance-type=m1 and arch=amd64 exclude each other; leave one of them out");
}

TEST_CASE("merging takes each key from the machine, else from the environment") {
  CHECK(merged("cores=2 mem=4G", "mem=8G zones=a") == "cores=2 mem=8G zones=a");
  CHECK(merged("", "cores=2") == "cores=2");
  CHECK(merged("cores=2", "") == "cores=2");
  CHECK(merged("tags=a,b", "tags=^c") == "tags=^c");  // a key is one thing: lists are not joined
  CHECK(merged("allocate-public-ip=true", "allocate-public-ip=false") == "allocate-public-ip=false");
}

TEST_CASE("an explicit none beats a default, and stays to be seen") {
  CHECK(merged("cores=2 mem=4G", "mem=") == "cores=2 mem=");
  CHECK(merged("instance-type=m1", "instance-type=") == "instance-type=");
  CHECK(merged("container=lxc zones=a", "container= zones=") == "zones= container=none");
}

TEST_CASE(
    "an instance type of the machine drops what the environment wants of the hardware, and the other way "
    "round") {
  CHECK(merged("arch=arm64 cores=2 mem=4G cpu-power=100 root-disk=20G zones=a", "instance-type=m1") ==
        "root-disk=20G instance-type=m1 zones=a");
  for (const char* own : {"arch=arm64", "cores=2", "mem=4G", "cpu-power=100"}) {
    CHECK(merged("instance-type=m1 zones=a", own).find("instance-type") == std::string::npos);
  }
  CHECK(merged("instance-type=m1", "root-disk=20G") == "root-disk=20G instance-type=m1");
  CHECK(merged("instance-type=m1", "cores=") == "cores= instance-type=m1");  // none is no wish
  CHECK(merged("cores=2 mem=4G", "instance-type=") == "cores=2 mem=4G instance-type=");
}

// ---- Properties ----

std::string random_name(Random& random) {
  std::string name(1 + random.below(5), 'x');
  for (char& c : name) c = "abcxyz019.-_="[random.below(13)];
  return name;
}

std::vector<std::string> random_names(Random& random, char prefix) {
  std::vector<std::string> names;
  for (std::uint64_t n = random.below(4); n > 0; --n) {
    names.push_back(prefix + std::to_string(names.size()) + random_name(random));
  }
  return names;
}

// Every member absent, none or with a value; one that check_constraints() accepts.
Constraints random_constraints(Random& random, bool may_name_type = true) {
  const auto is_given = [&] { return random.below(2) == 0; };
  const auto number = [&]() -> std::uint64_t {
    if (random.below(4) == 0) return 0;
    return random.below(2) == 0 ? random.below(100) : random.u64();
  };
  const auto text = [&] { return random.below(4) == 0 ? std::string() : random_name(random); };
  Constraints c;
  if (is_given()) c.arch = static_cast<Arch>(random.below(8));
  if (is_given()) c.cores = static_cast<std::uint32_t>(number());
  if (is_given()) c.cpu_power = number();
  if (is_given()) c.mem_mib = number();
  if (is_given()) c.root_disk_mib = number();
  if (is_given()) c.root_disk_source = text();
  if (is_given()) c.zones = random_names(random, 'z');
  if (is_given()) c.tags = Selection{random_names(random, 'i'), random_names(random, 'e')};
  if (is_given()) c.spaces = Selection{random_names(random, 'i'), random_names(random, 'e')};
  if (is_given()) c.virt_type = text();
  if (is_given()) c.image_id = text();
  if (is_given()) c.allocate_public_ip = random.below(2) == 0;
  if (is_given()) c.container = static_cast<ContainerKind>(1 + random.below(4));
  if (may_name_type && random.below(3) == 0) {
    c.instance_type = text();
    if (!c.instance_type->empty()) {
      c.arch.reset();
      c.cores.reset();
      c.cpu_power.reset();
      c.mem_mib.reset();
    }
  }
  return c;
}

constexpr std::uint64_t kSeed = 20260214;

TEST_CASE("what is printed is read back to the same constraints") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 3000; ++i) {
    const Constraints c = random_constraints(random);
    const std::string text = print_constraints(c);
    INFO(i << ": " << text);
    REQUIRE(check_constraints(c));
    const auto again = parse_constraints(text);
    REQUIRE(again);
    REQUIRE(*again == c);
    REQUIRE(print_constraints(*again) == text);
  }
}

TEST_CASE("merging has an identity, is idempotent, keeps what is own, and gives checked constraints") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const Constraints a = random_constraints(random);
    const Constraints b = random_constraints(random);
    INFO(i << ": " << print_constraints(a) << " | " << print_constraints(b));
    REQUIRE(merge(a, {}) == a);
    REQUIRE(merge({}, a) == a);
    REQUIRE(merge(a, a) == a);
    const Constraints both = merge(a, b);
    REQUIRE(check_constraints(both));
    REQUIRE(merge(both, b) == both);
    REQUIRE(merge(a, both) == both);
  }
}

TEST_CASE("merging three sets is associative where no instance type is among them") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const Constraints a = random_constraints(random, false);
    const Constraints b = random_constraints(random, false);
    const Constraints c = random_constraints(random, false);
    REQUIRE(merge(merge(a, b), c) == merge(a, merge(b, c)));
  }
  // With one it is not: why three sets are merged from the outermost in.
  const Constraints wide = parsed("cores=1 mem=2G");
  const Constraints typed = parsed("instance-type=m1");
  const Constraints own = parsed("cores=4");
  CHECK(print_constraints(merge(merge(wide, typed), own)) == "cores=4");
  CHECK(print_constraints(merge(wide, merge(typed, own))) == "cores=4 mem=2G");
}

TEST_CASE("no text makes the parser of constraints fail in another way than by an error") {
  INFO("seed " << kSeed);
  SeededRandom random(kSeed);
  const std::string_view pieces[] = {"cores", "mem",  "=",    "=",     " ",    ",",
                                     "^",     "8G",   "a",    "\"",    "\xff", "instance-type",
                                     "zones", "tags", "arch", "amd64", "-1",   "99999999999999999999",
                                     "\n"};
  std::size_t accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(9); n > 0; --n) text += pieces[random.below(std::size(pieces))];
    const auto constraints = parse_constraints(text);
    if (!constraints) {
      REQUIRE(constraints.error().code == Code::invalid);
      continue;
    }
    ++accepted;
    INFO(text);
    REQUIRE(parsed(print_constraints(*constraints)) == *constraints);
  }
  CHECK(accepted > 100);
}

// ---- Hardware ----

TEST_CASE("what hardware misses is told all at once, in words") {
  const Hardware small{Arch::amd64, 2, 4096, 10240, 100};
  CHECK(unmet(parsed("arch=amd64 cores=2 mem=4G root-disk=10G cpu-power=100 zones=a"), small).empty());
  CHECK(unmet(parsed(""), Hardware{}).empty());
  CHECK(unmet(parsed("arch=arm64 cores=3 mem=64G root-disk=1T cpu-power=101"), small) ==
        std::vector<Unmet>{{"arch=arm64", "amd64"},
                           {"cores=3", "2"},
                           {"mem=64G", "4G"},
                           {"root-disk=1T", "10G"},
                           {"cpu-power=101", "100"}});
  CHECK(unmet(parsed("arch= cores= mem= root-disk= cpu-power="), Hardware{}).empty());
}

TEST_CASE("hardware that is not known does not meet a constraint") {
  CHECK(unmet(parsed("arch=arm64 cores=1 root-disk=1G"), Hardware{}) ==
        std::vector<Unmet>{
            {"arch=arm64", "not known"}, {"cores=1", "not known"}, {"root-disk=1G", "not known"}});
  Hardware odd;
  odd.arch = Arch::unknown;
  odd.root_disk_mib = 0;
  CHECK(unmet(parsed("arch=arm64 root-disk=1G"), odd) ==
        std::vector<Unmet>{{"arch=arm64", "not known"}, {"root-disk=1G", "0"}});
}

TEST_CASE("a root disk that comes from elsewhere is not asked of the hardware") {
  const Hardware no_disk{Arch::amd64, 2, 4096, 0, std::nullopt};
  CHECK(unmet(parsed("root-disk=20G root-disk-source=volume"), no_disk).empty());
  CHECK(unmet(parsed("root-disk=20G root-disk-source=local"), no_disk).size() == 1);
  CHECK(unmet(parsed("root-disk=20G root-disk-source="), no_disk).size() == 1);
}

}  // namespace
}  // namespace slipway::model
