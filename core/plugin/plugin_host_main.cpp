// SPDX-License-Identifier: Apache-2.0
// plugin_host_main.cpp - slipway-plugin-host: one instance of a plugin in a process of its own. Started by
// slipwayd and by `slipway plugin`, never by hand.
#include "plugin/child.hpp"

int main() { return slipway::plugin::run_child(); }
