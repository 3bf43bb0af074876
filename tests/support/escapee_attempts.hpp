// SPDX-License-Identifier: Apache-2.0
// escapee_attempts.hpp - what escapee.cpp can try, by name. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::testing {

constexpr std::uint64_t kMemoryLimit = 128ULL << 20U;

struct Surroundings {
  std::string own;      // the directory that it may read; holds the file "library"
  std::string outside;  // another; holds "secret" and the listening socket "daemon.sock"; its name is also
                        // that of a listening abstract socket
  int parent = 0;
};

struct Attempt {
  std::string_view name;
  int (*run)(const Surroundings&);  // 0, or the error number of what refused it
};

[[nodiscard]] const Attempt* find_attempt(std::string_view name);

}  // namespace slipway::testing
