// SPDX-License-Identifier: Apache-2.0
// bare_child.cpp - slipway-conform-child: one job of bare.hpp in a process of its own. Started by the
// conformance kit, never by hand.
#include "conform/bare.hpp"
#include "conform/line_channel.hpp"

#include <slipway/codec.hpp>

#include <unistd.h>

#include <cstdio>

namespace slipway::conform {

int run_bare_child() {
  constexpr int kSocket = 3;
  LineChannel channel(kSocket);
  const auto line = channel.read();
  if (!line) {
    std::fputs("slipway-conform-child: expected a job on descriptor 3; it is started by the kit\n", stderr);
    return 2;
  }
  BareReport report;
  if (const auto spec = decode<BareSpec>(*line); !spec) {
    report.problems = {spec.error().message};
  } else if (const auto sandbox = plugin::enter_sandbox(spec->sandbox); !sandbox) {
    report.problems = {sandbox.error().message};
  } else {
    report = run_bare(*spec, [&] {
      // The other side looks at this process, and says when it has.
      static_cast<void>(channel.write("measure"));
      static_cast<void>(channel.read());
    });
  }
  const bool is_told = channel.write(encode(report));
  // Not by return: a plugin's static destructors and left-over threads have nothing to say any more.
  ::_exit(is_told ? 0 : 1);
}

}  // namespace slipway::conform

int main() { return slipway::conform::run_bare_child(); }
