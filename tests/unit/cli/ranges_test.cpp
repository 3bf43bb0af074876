// SPDX-License-Identifier: Apache-2.0
#include "cli/ranges.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

namespace slipway::cli {
namespace {

using Words = std::vector<std::string>;

std::vector<MachineRef> machines(const Words& words) {
  auto result = parse_machines(words);
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
  return *std::move(result);
}

std::string refusal(const Words& words) {
  const auto result = parse_machines(words);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Code::invalid);
  return result.error().message;
}

}  // namespace

TEST_CASE("ids, ranges and lists name machines in the order written") {
  CHECK(machines({"7"}) == std::vector<MachineRef>{{"", "7"}});
  CHECK(machines({"2-4", "0"}) == std::vector<MachineRef>{{"", "2"}, {"", "3"}, {"", "4"}, {"", "0"}});
  CHECK(machines({"3,5", "9-9"}) == std::vector<MachineRef>{{"", "3"}, {"", "5"}, {"", "9"}});
  CHECK(machines({"1/lxc/0", "1/lxc/0/kvm/12"}) ==
        std::vector<MachineRef>{{"", "1/lxc/0"}, {"", "1/lxc/0/kvm/12"}});
  CHECK(machines({}).empty());
}

TEST_CASE("an environment holds for the rest of its word") {
  CHECK(machines({"prod:3,5", "5"}) == std::vector<MachineRef>{{"prod", "3"}, {"prod", "5"}, {"", "5"}});
  CHECK(machines({"prod:0-1,eu-1:1/lxc/0"}) ==
        std::vector<MachineRef>{{"prod", "0"}, {"prod", "1"}, {"eu-1", "1/lxc/0"}});
}

TEST_CASE("a machine that is named twice is taken once") {
  CHECK(machines({"1-3", "2", "prod:2", "3,1"}) ==
        std::vector<MachineRef>{{"", "1"}, {"", "2"}, {"", "3"}, {"prod", "2"}});
}

TEST_CASE("what is no machine is refused by name") {
  for (const char* word :
       {"",      "web",     "-",  "1-",       "-1",    "1--2",      "07",         "+7",           "1/",
        "1/lxc", "1/LXC/0", "/1", "1/lxc/00", "1-2-3", "1-2/lxc/0", "1234567890", "0-1234567890", " 1",
        "1 ",    "0x1"}) {
    CAPTURE(word);
    CHECK(refusal({"0", word}) ==
          "machine \"" + std::string(word) +
              "\": expected an id like 7 or 1/lxc/0, a range like 0-19, a list like 3,5, or "
              "one of these behind ENVIRONMENT:");
  }
  CHECK(refusal({"9-2"}) == "machine range 9-2: runs backwards; write 2-9");
  CHECK(refusal({"1,,2"}).starts_with("machine \"\": "));
  CHECK(refusal({"prod:"}).starts_with("machine \"\": "));
  CHECK(refusal({":1"}).find("environment") != std::string::npos);
  CHECK(refusal({"Prod:1"}).find("environment") != std::string::npos);
  CHECK(refusal({"a-name-of-21-letters-:1"}).find("environment") != std::string::npos);
}

TEST_CASE("no more than the bound is named at once, and a huge range is refused before it is made") {
  CHECK(machines({"0-99999"}).size() == kMaxMachineRefs);
  CHECK(machines({"0-99999", "5-70000"}).size() == kMaxMachineRefs);
  const std::string too_many = "more than 100000 machines are named at once; name fewer, or use a selector";
  CHECK(refusal({"0-100000"}) == too_many);
  CHECK(refusal({"0-999999999"}) == too_many);
  CHECK(refusal({"0-99999", "prod:0"}) == too_many);
}

TEST_CASE("machines are written as short as they can be read") {
  CHECK(format_machines(machines({"0-7", "21", "prod:3,4", "1/lxc/0", "9,8"})) ==
        Words{"0-7", "21", "prod:3-4", "1/lxc/0", "9", "8"});
  CHECK(format_machines({}).empty());
}

TEST_CASE("what is written is read back the same, for any list of machines") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  for (int round = 0; round < 300; ++round) {
    std::vector<MachineRef> wanted;
    for (unsigned i = below(40); i > 0; --i) {
      MachineRef machine{below(3) == 0 ? "prod" : "", std::to_string(below(30))};
      if (below(5) == 0) machine.id += "/lxc/" + std::to_string(below(3));
      if (std::find(wanted.begin(), wanted.end(), machine) == wanted.end()) wanted.push_back(machine);
      if (below(3) == 0)
        std::sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) {
          return std::pair(a.environment, a.id) < std::pair(b.environment, b.id);
        });
    }
    const Words written = format_machines(wanted);
    CHECK(written.size() <= wanted.size());
    CHECK(machines(written) == wanted);
  }
}

}  // namespace slipway::cli
