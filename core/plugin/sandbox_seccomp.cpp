// SPDX-License-Identifier: Apache-2.0
// sandbox_seccomp.cpp - the system calls of a plugin, by libseccomp. Four answers:
//   allowed   what C's and C++'s libraries, threads, clocks and the descriptors of the process need
//   EPERM     known and refused: its author reads "Operation not permitted" and knows whose limit it is
//   killed    what no library does by accident and no provider needs: the way to attack the kernel or another
//             process. A host that sees SIGSYS knows more than one that sees nothing.
//   ENOSYS    all others, among them clone3: a newer library then does it in the older way
// Thread rule: see sandbox.hpp.
#include "plugin/sandbox_layers.hpp"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <system_error>
#include <utility>

namespace slipway::plugin::detail {

namespace {

constexpr std::array kAllowed{
    // memory
    "brk", "madvise", "mlock", "mprotect", "mremap", "msync", "munlock", "munmap", "pkey_alloc", "pkey_free",
    "pkey_mprotect",
    // threads
    "arch_prctl", "exit", "exit_group", "futex", "futex_waitv", "getcpu", "gettid", "membarrier",
    "restart_syscall", "rseq", "sched_getaffinity", "sched_getparam", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getscheduler", "sched_yield", "set_robust_list", "set_tid_address",
    // signals of its own
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "sigaltstack", "signalfd4", "pause",
    // time
    "alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep",
    "setitimer", "time", "timer_create", "timer_delete", "timer_gettime", "timer_settime", "timerfd_create",
    "timerfd_gettime", "timerfd_settime", "times",
    // itself
    "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid", "getrandom",
    "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "getuid", "sysinfo", "umask", "uname",
    // descriptors
    "close", "close_range", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "lseek", "pipe", "pipe2", "poll",
    "ppoll", "pread64", "preadv", "preadv2", "pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readv",
    "select", "write", "writev",
    // files; which ones is Landlock's and the private root's
    "access", "chdir", "faccessat", "faccessat2", "fadvise64", "fchdir", "fstat", "fstatfs", "getcwd",
    "getdents", "getdents64", "lstat", "newfstatat", "readlink", "readlinkat", "stat", "statfs", "statx",
    // the channel
    "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg",
    "sendto", "setsockopt", "shutdown"};

constexpr std::array kCallsOfSockets{"accept", "accept4", "bind", "connect", "listen"};

constexpr std::array kAllowedOfSanitizers{"mincore", "sched_setaffinity"};

constexpr std::array kRefused{
    // processes and programs
    "fork", "vfork", "execve", "execveat", "wait4", "waitid", "memfd_create", "memfd_secret", "setpgid",
    "setsid", "kcmp", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "tkill", "rt_sigqueueinfo",
    "rt_tgsigqueueinfo", "get_robust_list", "process_madvise", "process_mrelease",
    // writing to files and changing them
    "creat", "truncate", "ftruncate", "fallocate", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat",
    "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod",
    "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat",
    "futimesat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "flock",
    "name_to_handle_at", "inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init",
    "fanotify_mark", "quotactl", "quotactl_fd", "acct", "sync", "syncfs",
    // namespaces and mounts
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount",
    "mount_setattr", "fsopen", "fsconfig", "fsmount", "fspick", "swapon", "swapoff",
    // other identities, other limits
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
    "capset", "setrlimit", "setpriority", "ioprio_set", "sched_setparam", "sched_setscheduler",
    "sched_setattr", "personality", "seccomp", "landlock_create_ruleset", "landlock_add_rule",
    "landlock_restrict_self",
    // the machine
    "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog",
    "iopl", "ioperm", "vhangup", "modify_ldt", "mlockall",
    // other ways to memory and messages
    "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd",
    "msgrcv", "msgctl", "mq_open", "mq_unlink", "remap_file_pages", "mbind", "migrate_pages", "move_pages",
    "set_mempolicy", "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "vmsplice"};

constexpr std::array kKilled{
    "ptrace",          "process_vm_readv", "process_vm_writev", "bpf",           "perf_event_open",
    "userfaultfd",     "keyctl",           "add_key",           "request_key",   "kexec_load",
    "kexec_file_load", "init_module",      "finit_module",      "delete_module", "open_by_handle_at",
    "reboot",          "lookup_dcookie",   "nfsservctl",        "uselib"};

// Rules of one filter; the first failure is kept.
class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), &seccomp_release) {
    if (context_ == nullptr) error_ = -ENOMEM;
    set(SCMP_FLTATR_CTL_TSYNC, 1);
    set(SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree; a list would be walked at each call
    // Calls of the 32-bit and x32 tables, whose numbers mean something else.
    set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  }

  // A call that this architecture or this libseccomp does not know is left to the default.
  void add(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> when = {}) {
    if (error_ != 0) return;
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    const int status =
        seccomp_rule_add_array(context_.get(), action, number, static_cast<unsigned>(when.size()),
                               when.size() == 0 ? nullptr : when.begin());
    if (status != 0) {
      error_ = status;
      failed_ = name;
    }
  }
  template <std::size_t N>
  void add_all(std::uint32_t action, const std::array<const char*, N>& names) {
    for (const char* name : names) add(action, name);
  }

  Status load() {
    if (error_ == 0) error_ = seccomp_load(context_.get());
    if (error_ == 0) return ok();
    return fail(Code::unsupported, "{}: {}", failed_, std::generic_category().message(-error_));
  }

 private:
  void set(scmp_filter_attr attribute, std::uint32_t value) {
    if (error_ == 0) error_ = seccomp_attr_set(context_.get(), attribute, value);
  }

  std::unique_ptr<void, decltype(&seccomp_release)> context_;
  int error_ = 0;  // negative errno
  const char* failed_ = "loading the filter";
};

// Comparisons of the argument with this number. `is` looks at 64 bits, which is right for what is allowed: a
// value that the kernel would cut to this one is refused.
constexpr scmp_arg_cmp is(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}
constexpr scmp_arg_cmp is_masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

void add_threads(Filter& filter) {
  constexpr std::uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                           CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  filter.add(SCMP_ACT_ALLOW, "clone", {is_masked(0, CLONE_THREAD | kNewNamespaces, CLONE_THREAD)});
  filter.add(SCMP_ACT_ERRNO(EPERM), "clone", {is_masked(0, CLONE_THREAD, 0)});
  // Not clone3: its flags are in memory, out of a filter's sight; by ENOSYS glibc falls back to clone.
  const auto self = static_cast<std::uint64_t>(getpid());
  for (const char* name : {"kill", "tgkill"}) {
    filter.add(SCMP_ACT_ALLOW, name, {is(0, self)});
    filter.add(SCMP_ACT_ERRNO(EPERM), name, {{0, SCMP_CMP_NE, self, 0}});
  }
}

// Private mappings only: RLIMIT_DATA does not count shared ones.
void add_memory(Filter& filter) {
  constexpr std::uint64_t kMapType = 0x0f;
  filter.add(SCMP_ACT_ALLOW, "mmap", {is_masked(3, kMapType, MAP_PRIVATE)});
  filter.add(SCMP_ACT_ERRNO(EPERM), "mmap", {is_masked(3, kMapType, MAP_SHARED)});
  filter.add(SCMP_ACT_ERRNO(EPERM), "mmap", {is_masked(3, kMapType, MAP_SHARED_VALIDATE)});
}

// Files are opened for reading only, whatever Landlock says.
void add_files(Filter& filter) {
  constexpr std::uint64_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;
  constexpr std::uint64_t kWriting = O_ACCMODE | O_CREAT | O_TRUNC | kUnnamed;
  const auto add = [&](const char* name, unsigned flags) {
    filter.add(SCMP_ACT_ALLOW, name, {is_masked(flags, kWriting, O_RDONLY)});
    for (const std::uint64_t bit : {std::uint64_t{O_WRONLY}, std::uint64_t{O_RDWR}, std::uint64_t{O_CREAT},
                                    std::uint64_t{O_TRUNC}, kUnnamed}) {
      filter.add(SCMP_ACT_ERRNO(EPERM), name, {is_masked(flags, bit, bit)});
    }
  };
  add("open", 1);
  add("openat", 2);
}

void add_descriptors(Filter& filter) {
  for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}) {
    filter.add(SCMP_ACT_ALLOW, "fcntl", {is(1, static_cast<std::uint64_t>(command))});
  }
  for (const int request : {FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS}) {
    filter.add(SCMP_ACT_ALLOW, "ioctl", {is(1, static_cast<std::uint64_t>(request))});
  }
  filter.add(SCMP_ACT_ERRNO(EPERM), "ioctl", {is(1, TIOCSTI)});
}

// Not PR_SET_PDEATHSIG, with which a child would outlive its parent, nor PR_SET_DUMPABLE.
void add_own_properties(Filter& filter) {
  constexpr int kSetVma = 0x53564d41;  // PR_SET_VMA: names of mappings, since Linux 5.17
  for (const int option : {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, kSetVma}) {
    filter.add(SCMP_ACT_ALLOW, "prctl", {is(0, static_cast<std::uint64_t>(option))});
  }
  for (const int option : {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER, PR_SET_MM, PR_SET_SECCOMP}) {
    filter.add(SCMP_ACT_ERRNO(EPERM), "prctl", {is(0, static_cast<std::uint64_t>(option))});
  }
  constexpr unsigned kNewLimit = 2;
  filter.add(SCMP_ACT_ALLOW, "prlimit64", {is(0, 0), is(kNewLimit, 0)});
  filter.add(SCMP_ACT_ERRNO(EPERM), "prlimit64", {{kNewLimit, SCMP_CMP_NE, 0, 0}});
}

// A pair of streams reaches nobody; a pair of datagram sockets can send to any path.
void add_socket_pairs(Filter& filter) {
  constexpr std::uint64_t kTypeMask = 0x0f;
  filter.add(SCMP_ACT_ALLOW, "socketpair", {is(0, AF_UNIX), is_masked(1, kTypeMask, SOCK_STREAM)});
  for (const std::uint64_t type : {SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW}) {
    filter.add(SCMP_ACT_ERRNO(EPERM), "socketpair", {is_masked(1, kTypeMask, type)});
  }
}

// TCP and UDP. Not AF_UNIX, behind whose paths are the daemon's and others' services, nor AF_NETLINK: glibc's
// name resolution does without both.
void add_sockets(Filter& filter) {
  constexpr std::uint64_t kTypeMask = 0x0f;
  constexpr unsigned kType = 1;
  constexpr unsigned kProtocol = 2;
  for (std::uint64_t family = 0; family < AF_MAX; ++family) {
    if (family != AF_INET && family != AF_INET6) {
      filter.add(SCMP_ACT_ERRNO(EPERM), "socket", {is(0, family)});
      continue;
    }
    for (const auto& [type, protocol] :
         {std::pair<std::uint64_t, std::uint64_t>{SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, IPPROTO_UDP}}) {
      for (const std::uint64_t number : {std::uint64_t{0}, protocol}) {
        filter.add(SCMP_ACT_ALLOW, "socket",
                   {is(0, family), is_masked(kType, kTypeMask, type), is(kProtocol, number)});
      }
    }
    for (const std::uint64_t type : {SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_PACKET}) {
      filter.add(SCMP_ACT_ERRNO(EPERM), "socket", {is(0, family), is_masked(kType, kTypeMask, type)});
    }
  }
}

}  // namespace

Result<std::string> filter_system_calls(Profile profile) {
  Filter filter;
  filter.add_all(SCMP_ACT_ALLOW, kAllowed);
  filter.add_all(SCMP_ACT_ERRNO(EPERM), kRefused);
  filter.add_all(SCMP_ACT_KILL_PROCESS, kKilled);
  if constexpr (kHasSanitizer) filter.add_all(SCMP_ACT_ALLOW, kAllowedOfSanitizers);
  add_threads(filter);
  add_memory(filter);
  add_files(filter);
  add_descriptors(filter);
  add_own_properties(filter);
  add_socket_pairs(filter);
  if (profile == Profile::net) {
    filter.add_all(SCMP_ACT_ALLOW, kCallsOfSockets);
    add_sockets(filter);
  } else {
    filter.add_all(SCMP_ACT_ERRNO(EPERM), kCallsOfSockets);
    filter.add(SCMP_ACT_ERRNO(EPERM), "socket");
  }
  SLIPWAY_TRY(filter.load());
  return kHasSanitizer ? "seccomp (with what the sanitizer needs)" : "seccomp";
}

}  // namespace slipway::plugin::detail
