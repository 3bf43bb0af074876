// SPDX-License-Identifier: Apache-2.0
// spawner_child.hpp - the moment between clone and exec, of spawner.cpp only. The child borrows its parent's
// memory until exec (as vfork's does), so that a large daemon's page tables are not copied; it may therefore
// do system calls and nothing else: no heap, no lock, no library function that keeps state.
// Thread rule: one call at a time, from a thread that has all signals blocked.
#pragma once

#include "base/fs.hpp"

#include <sys/types.h>

#include <cstddef>

namespace slipway::plugin::detail {

// Everything is prepared by the parent and outlives the call; descriptors are -1 when there is none.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* environment;
  unsigned long namespaces;  // CLONE_NEW…; 0: none
  int null_fd;               // becomes 0 and 1, and 2 where there is no stderr_fd
  int stderr_fd;
  int channel_fd;
  int parent_fd;  // pidfd of the parent
  int cgroup_fd;  // cgroup.procs of the cgroup that the child enters
};

// Where the child failed; written by the child into the parent's memory.
struct ChildFailure {
  const char* step = nullptr;  // a text without end of life; null: the program runs
  int error = 0;
};

struct StartedChild {
  pid_t pid = -1;
  fs::FileDescriptor pidfd;
};

// Returns when the program runs or the child has failed and is reaped. `stack` is used by the child alone.
ChildFailure start_child(const ChildPlan& plan, std::byte* stack, std::size_t stack_bytes,
                         StartedChild& started);

}  // namespace slipway::plugin::detail
