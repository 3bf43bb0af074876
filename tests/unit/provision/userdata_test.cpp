// SPDX-License-Identifier: Apache-2.0
#include "provision/userdata.hpp"

#include <catch2/catch.hpp>
