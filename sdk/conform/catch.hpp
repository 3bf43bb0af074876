// SPDX-License-Identifier: Apache-2.0
// catch.hpp - the conformance kit inside a project's own tests (Catch2): SLIPWAY_CONFORM(options) in a test
// case makes each test of the kit a section. Thread rule: as Catch2, one thread.
#pragma once

#include "conform/conform.hpp"

#include <catch2/catch.hpp>

// `...`: an Options, made once for each section.
#define SLIPWAY_CONFORM(...)                                                                         \
  do {                                                                                               \
    auto slipway_suite = ::slipway::conform::Suite::open(__VA_ARGS__);                               \
    if (!slipway_suite) FAIL(slipway_suite.error().message);                                         \
    for (const std::string& slipway_name : (*slipway_suite)->names()) {                              \
      DYNAMIC_SECTION(slipway_name) {                                                                \
        const auto slipway_end = (*slipway_suite)->run(slipway_name);                                \
        INFO((slipway_end.failure ? ::slipway::conform::text_of(slipway_end) : slipway_end.reason)); \
        CHECK(slipway_end.verdict != ::slipway::conform::Verdict::failed);                           \
      }                                                                                              \
    }                                                                                                \
  } while (false)
