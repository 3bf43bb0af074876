// SPDX-License-Identifier: Apache-2.0
// bare_client.hpp - a job of bare.hpp where the run wants it: in a child, or in this process. One thread.
#pragma once

#include "conform/bare.hpp"
#include "conform/bench.hpp"

namespace slipway::conform {

struct BareOutcome {
  BareReport report;
  std::vector<Usage> usages;  // before and after the rounds
};

// The job's spec, with library, sandbox and create message of the run.
[[nodiscard]] BareSpec bare_spec(const Bench& bench, BareJob job);
// A failure: how the process ended, or that it did not.
[[nodiscard]] Result<BareOutcome> run_bare(Bench& bench, const BareSpec& spec);

}  // namespace slipway::conform
