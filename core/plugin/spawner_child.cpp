// SPDX-License-Identifier: Apache-2.0
// spawner_child.cpp - what a child does before exec. System calls are made directly: the library's wrappers
// are hooked by sanitizers, which would note the child's doings as the parent's. Thread rule: see the header.
#include "plugin/spawner_child.hpp"

#include "plugin/spawner.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

// The child's frames lie on a stack that sanitizers do not know, and vanish without return.
#define SLIPWAY_BEFORE_EXEC __attribute__((no_sanitize("address", "thread", "undefined")))

// clone() under its other name in glibc: ThreadSanitizer hooks the first, and marks this process as forked,
// because the child runs in the same memory.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept;

namespace slipway::plugin::detail {

namespace {

constexpr int kFirstHighFd = 10;  // above every descriptor that the child puts in place
constexpr int kSignals = 64;

struct Launch {
  const ChildPlan* plan;
  ChildFailure* failure;
};

SLIPWAY_BEFORE_EXEC long move_up(int fd) { return syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstHighFd); }

// A handler of the parent must not run here, and what the parent ignores the child must not.
SLIPWAY_BEFORE_EXEC bool reset_signals() {
  struct KernelAction {  // the kernel's, smaller than the library's
    std::uintptr_t handler, flags, restorer, mask;
  };
  const KernelAction standard{};
  for (int signal = 1; signal <= kSignals; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    if (syscall(SYS_rt_sigaction, signal, &standard, nullptr, sizeof standard.mask) != 0) return false;
  }
  return true;
}

// A parent that died before the request was made sends no signal; its pidfd tells in every namespace, while
// getppid() is 0 in a new one.
SLIPWAY_BEFORE_EXEC bool die_with_parent(int parent_fd) {
  if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return false;
  pollfd parent{parent_fd, POLLIN, 0};
  const timespec at_once{};
  const long count = syscall(SYS_ppoll, &parent, 1, &at_once, nullptr, 0);
  if (count > 0) errno = ESRCH;
  return count == 0;
}

// All moves up come first: each of the sources may be one of 0 to 3.
SLIPWAY_BEFORE_EXEC bool place_descriptors(const ChildPlan& plan) {
  const long null = move_up(plan.null_fd);
  const long channel = move_up(plan.channel_fd);
  const long error = plan.stderr_fd >= 0 ? move_up(plan.stderr_fd) : null;
  if (null < 0 || channel < 0 || error < 0) return false;
  return syscall(SYS_dup3, null, STDIN_FILENO, 0) >= 0 && syscall(SYS_dup3, null, STDOUT_FILENO, 0) >= 0 &&
         syscall(SYS_dup3, error, STDERR_FILENO, 0) >= 0 && syscall(SYS_dup3, channel, kChannelFd, 0) >= 0 &&
         syscall(SYS_close_range, kChannelFd + 1, ~0U, 0) == 0;
}

// The first program in a user namespace has all capabilities there, but a user without a name, and so loses
// them at exec. enter_sandbox() needs this one to build its root; it drops it.
SLIPWAY_BEFORE_EXEC bool keep_mount_capability() {
  const std::uint32_t mount = 1U << static_cast<unsigned>(CAP_SYS_ADMIN);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{mount, mount, mount}, {0, 0, 0}};
  return syscall(SYS_capset, &header, sets) == 0 &&
         syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0;
}

// Returns the step that failed.
SLIPWAY_BEFORE_EXEC const char* prepare_and_exec(const ChildPlan& plan) {
  if (!reset_signals()) return "resetting its signals";
  if (plan.cgroup_fd >= 0 && syscall(SYS_write, plan.cgroup_fd, "0", 1) != 1)
    return "entering its pids cgroup";
  if ((plan.namespaces & CLONE_NEWUSER) != 0 && !keep_mount_capability()) return "keeping CAP_SYS_ADMIN";
  if (!die_with_parent(plan.parent_fd)) return "binding its life to its parent's";
  if (!place_descriptors(plan)) return "placing its descriptors";
  // No terminal, and no Ctrl-C that is meant for the daemon.
  if (syscall(SYS_setsid) < 0) return "making its session";
  if (syscall(SYS_chdir, "/") != 0) return "changing to /";
  const std::uint64_t no_signal = 0;
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signal, nullptr, sizeof no_signal) != 0) {
    return "unblocking its signals";
  }
  syscall(SYS_execve, plan.program, plan.argv, plan.environment);
  return "running its program";
}

SLIPWAY_BEFORE_EXEC int child_main(void* argument) {
  const auto* launch = static_cast<const Launch*>(argument);
  launch->failure->step = prepare_and_exec(*launch->plan);
  launch->failure->error = errno;
  syscall(SYS_exit_group, 127);
  return 127;
}

}  // namespace

ChildFailure start_child(const ChildPlan& plan, std::byte* stack, std::size_t stack_bytes,
                         StartedChild& started) {
  ChildFailure failure;
  Launch launch{&plan, &failure};
  int pidfd = -1;
  const auto flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | plan.namespaces;
  const pid_t pid = __clone(child_main, stack + stack_bytes, static_cast<int>(flags), &launch, &pidfd);
  if (pid < 0) return {plan.namespaces != 0 ? "making its namespaces" : "making a process", errno};

  started = {pid, fs::FileDescriptor(pidfd)};
  if (failure.step != nullptr) {
    siginfo_t end{};
    while (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED) != 0 && errno == EINTR) {
    }
  }
  return failure;
}

}  // namespace slipway::plugin::detail
