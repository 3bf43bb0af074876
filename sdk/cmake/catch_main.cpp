// SPDX-License-Identifier: Apache-2.0
// catch_main.cpp - the main() of the programs of slipway_add_plugin_test().
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
