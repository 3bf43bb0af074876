// SPDX-License-Identifier: Apache-2.0
#include "provision/firewaller.hpp"
