// SPDX-License-Identifier: Apache-2.0
// boost_json.cpp - the one unit of a project that compiles Boost.JSON; slipway_add_plugin() puts it into
// every plugin.
#include <boost/json/src.hpp>
