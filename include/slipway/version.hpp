// SPDX-License-Identifier: Apache-2.0
// version.hpp - the SDK's version, the project's. For people: it decides nothing, the ABI's does.
#pragma once

#define SLIPWAY_SDK_VERSION "0.1.0"
#define SLIPWAY_SDK_VERSION_NUMBER ((0u << 16) | (1u << 8) | 0u) /* major << 16 | minor << 8 | patch */
