// SPDX-License-Identifier: Apache-2.0
#include "provision/marker.hpp"

#include "model/names.hpp"
#include "provision/sighting.hpp"

#include <catch2/catch.hpp>

using namespace slipway;
using namespace slipway::provision;

namespace {

const std::string kController = "7f3a9c21-0b1c-4d2e-8f3a-111111111111";
const std::string kEnvironment = "a1b2c3d4-0b1c-4d2e-8f3a-222222222222";

Key32 key(char byte) { return *Key32::from_bytes(std::string(Key32::size, byte)); }
Markers markers(MarkerKind kind) { return {key('k'), kind, kController, kEnvironment}; }

}  // namespace

TEST_CASE("a marker is read back and verified, in both forms") {
  const auto kind = GENERATE(MarkerKind::labels, MarkerKind::compact);
  SeededRandom random(1);
  const Markers ours = markers(kind);
  for (const char* id : {"0", "41", "3/lxc/0", "99999/lxc/9999", ""}) {
    const model::MachineId machine{id};
    const Nonce nonce = Nonce::make(random);
    const Marker marker = ours.make(machine, nonce);
    const auto claim = ours.read(marker);
    REQUIRE(claim);
    CHECK(claim->nonce == nonce);
    CHECK(ours.is_signed(*claim, machine));
    CHECK_FALSE(ours.is_signed(*claim, model::MachineId{"7"}));
    for (const auto& [name, value] : ours.owner()) CHECK(marker.at(name) == value);
  }
}

TEST_CASE("the compact form is one entry of at most 63 characters of [a-z0-9-]") {
  SeededRandom random(2);
  const Marker marker = markers(MarkerKind::compact).make({"3/lxc/0"}, Nonce::make(random));
  REQUIRE(marker.size() == 1);
  const std::string& text = marker.begin()->second;
  CHECK(text.size() <= 63);
  CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
}

TEST_CASE("one changed character of a marker, or another key, is no signature of ours") {
  const auto kind = GENERATE(MarkerKind::labels, MarkerKind::compact);
  SeededRandom random(3);
  const Markers ours = markers(kind);
  const model::MachineId machine{"4"};
  const Marker good = ours.make(machine, Nonce::make(random));
  std::size_t changed = 0;
  for (const auto& [name, value] : good) {
    for (std::size_t at = 0; at < value.size(); ++at) {
      Marker forged = good;
      forged[name][at] = value[at] == 'a' ? 'b' : 'a';
      const auto claim = ours.read(forged);
      CHECK((!claim || !ours.is_signed(*claim, machine)));
      ++changed;
    }
  }
  CHECK(changed >= 60);
  const Markers others(key('o'), kind, kController, kEnvironment);
  CHECK_FALSE(others.is_signed(*others.read(good), machine));
}

TEST_CASE("a marker of another controller or environment claims nothing of ours") {
  const auto kind = GENERATE(MarkerKind::labels, MarkerKind::compact);
  SeededRandom random(4);
  const Markers ours = markers(kind);
  const Markers other_controller(key('k'), kind, "00000000-0b1c-4d2e-8f3a-111111111111", kEnvironment);
  const Markers other_environment(key('k'), kind, kController, "00000000-0b1c-4d2e-8f3a-222222222222");
  CHECK_FALSE(ours.read(other_controller.make({"1"}, Nonce::make(random))));
  CHECK_FALSE(ours.read(other_environment.make({"1"}, Nonce::make(random))));
  CHECK_FALSE(ours.read({}));
  CHECK_FALSE(ours.read({{"slipway", ""}, {"slipway-nonce", "x"}}));
}

TEST_CASE("what claims to be ours and cannot be read has no nonce and is never signed") {
  const Markers labels = markers(MarkerKind::labels);
  Marker half = labels.owner();
  half["slipway-nonce"] = "not a nonce";
  half["slipway-machine"] = "../../etc";
  const auto claim = labels.read(half);
  REQUIRE(claim);
  CHECK_FALSE(claim->nonce);
  CHECK_FALSE(claim->machine);
  CHECK_FALSE(labels.is_signed(*claim, {"1"}));

  const Markers compact = markers(MarkerKind::compact);
  const auto cut = compact.read({{"slipway", "7f3a9c21-a1b2c3d4-"}});
  REQUIRE(cut);
  CHECK_FALSE(cut->nonce);
}

TEST_CASE("the form follows from what the plugin can keep; too little is refused with both figures") {
  MarkerForm form;
  CHECK(*marker_kind(form) == MarkerKind::labels);
  form.max_value_bytes = 35;
  CHECK(marker_kind(form).error().code == Code::unsupported);
  form = {.place = MarkerPlace::name, .max_entries = 1, .max_value_bytes = 63};
  CHECK(*marker_kind(form) == MarkerKind::compact);
  form.max_value_bytes = 60;
  const Error error = marker_kind(form).error();
  CHECK_THAT(error.message, Catch::Contains("1 marker entries of 60 bytes"));
  CHECK_THAT(error.message, Catch::Contains("one of 61"));
}

TEST_CASE("the machine is found in the name of its resource") {
  for (const char* id : {"0", "17", "3/lxc/0", "9/lxc/9/kvm/99", ""}) {
    CAPTURE(id);
    const std::string name = model::resource_name(kController, "prod-eu", {id}, 17);
    CHECK(machine_in_name(kController, "prod-eu", name) == model::MachineId{id});
  }
  for (const char* name : {"", "slipway", "slipway-7f3a9c21-prod-eu-", "slipway-7f3a9c21-prod-eu-17",
                           "slipway-7f3a9c21-prod-eu-x-17", "slipway-00000000-prod-eu-3-17", "prod-eu-3"}) {
    CAPTURE(name);
    CHECK_FALSE(machine_in_name(kController, "prod-eu", name));
  }
}
