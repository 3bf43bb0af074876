// SPDX-License-Identifier: Apache-2.0
// bad_artefacts_test.cpp - plugins that must not get in, each made from a good one by one change. Each is
// refused by the check that it names, gets through with that check switched off (so it is that check), and
// nothing of it is run.
#include "support/bad_artefacts.hpp"

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

// Brings the spoiled artefact to a fresh machine; the error of the step that refused it.
Result<Verified> bring(const BadArtefact& bad, bool is_check_off) {
  Artefact artefact;
  Site& site = artefact.site;
  if (is_check_off) site.policy.disabled.insert(bad.check);
  bad.spoil(artefact);
  auto result = artefact.deliver();
  INFO(bad.name);
  CHECK_FALSE(site.was_code_run());
  if (!result) CHECK(site.store().entries().value().plugins.size() == (artefact.is_installed ? 1U : 0U));
  return result;
}

}  // namespace

TEST_CASE("an artefact that nobody spoiled gets in, and loading it leaves its mark") {
  for (const Vehicle vehicle : {Vehicle::directory, Vehicle::archive, Vehicle::installed}) {
    Artefact artefact;
    artefact.vehicle = vehicle;
    const auto good = artefact.deliver();
    if (!good) FAIL(good.error().message);
    CHECK(good->signer.has_value());
    CHECK_FALSE(artefact.site.was_code_run());
    // In a child: what is loaded stays. A copy: the site may be where nothing can be run.
    const TempDir place;
    const std::string copy = place.path("tiny.so");
    write_text(copy, read_text(good->library));
    const pid_t child = fork();
    if (child == 0) _exit(dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr ? 1 : 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(artefact.site.was_code_run());
  }
}

TEST_CASE("each bad artefact is refused by the check that it names, and only by that") {
  std::map<TrustCheck, unsigned> refused;
  unsigned got_through = 0;  // with its check off, and only then
  for (const BadArtefact& bad : bad_artefacts()) {
    if (bad.needs_root && geteuid() != 0) continue;
    INFO(bad.name);
    const auto result = bring(bad, false);
    if (result) {
      FAIL_CHECK("it got in");
      continue;
    }
    const auto check = result.error().details.find("check");
    INFO(result.error().message);
    REQUIRE(check != result.error().details.end());
    CHECK(check->second == boost::describe::enum_to_string(bad.check, "?"));
    ++refused[bad.check];
    if (!bad.could_get_in) continue;
    const auto through = bring(bad, true);
    if (!through) {
      FAIL_CHECK("with the check off: " + through.error().message);
      continue;
    }
    ++got_through;
  }
  CHECK(got_through >= 60);
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<TrustCheck>>([&](auto enumerator) {
    INFO(enumerator.name);
    CHECK(refused[enumerator.value] > 0);
  });
}
