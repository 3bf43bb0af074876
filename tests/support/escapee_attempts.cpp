// SPDX-License-Identifier: Apache-2.0
// escapee_attempts.cpp - see the header. System calls are made directly where a library would choose another.
#include "escapee_attempts.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <thread>

namespace slipway::testing {

namespace {

using S = Surroundings;

const char* const kNoAddress = nullptr;

int error_of(long result) { return result < 0 ? errno : 0; }

// The kernel got as far as the arguments, so nobody refused the call.
int harmless(long result, int expected, int other = 0) {
  const int error = error_of(result);
  return error == expected || error == other ? 0 : error;
}

int opens(const std::string& path, int flags = O_RDONLY) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  const int error = error_of(fd);
  if (fd >= 0) close(fd);
  return error;
}

// Reading, because /proc checks some things only then.
int reads(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  char byte = 0;
  return error_of(read(fd, &byte, 1));
}

int lists(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return errno;
  closedir(directory);
  return 0;
}

// A child is made for a moment; a refusal is a negative result.
int ends_child(long pid) {
  if (pid == 0) _exit(0);
  if (pid < 0) return errno;
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return 0;
}

int makes_socket(int family, int type, int protocol = 0) {
  const int fd = socket(family, type, protocol);
  const int error = error_of(fd);
  if (fd >= 0) close(fd);
  return error;
}

struct UnixAddress {
  sockaddr_un address{};
  socklen_t size;

  explicit UnixAddress(const std::string& path, bool is_abstract = false) {
    address.sun_family = AF_UNIX;
    std::copy_n(path.data(), std::min(path.size(), sizeof address.sun_path - 1),
                address.sun_path + (is_abstract ? 1 : 0));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

int connects_unix(const UnixAddress& to) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return fd < 0 ? errno : error_of(connect(fd, to.get(), to.size));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connects_tcp(const S&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  const auto nobody = loopback(1);
  return harmless(connect(fd, reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody), ECONNREFUSED);
}

int binds_tcp(const S&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  const auto any_port = loopback(0);
  return error_of(bind(fd, reinterpret_cast<const sockaddr*>(&any_port), sizeof any_port));
}

int sends_from_pair(const S& s) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data()) != 0) return errno;
  const UnixAddress to(s.outside + "/daemon.sock");
  return harmless(sendto(pair[0], "x", 1, 0, to.get(), to.size), EPROTOTYPE, EISCONN);
}

int clones3(const S&) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  return ends_child(syscall(SYS_clone3, &arguments, sizeof arguments));
}

int reads_parent_memory(const S& s) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{const_cast<char*>(kNoAddress), 1};
  return harmless(process_vm_readv(s.parent, &here, 1, &there, 1, 0), EFAULT);
}

int runs_program(const S&) {
  std::array<char*, 2> argv{const_cast<char*>("true"), nullptr};
  execve("/bin/true", argv.data(), nullptr);  // its exit code is 0
  return errno;
}

int runs_memory_file(const S&) {
  const int fd = memfd_create("x", 0);
  if (fd < 0) return errno;
  std::array<char*, 2> argv{const_cast<char*>("x"), nullptr};
  if (write(fd, "#!/bin/true\n", 12) != 12) return errno;
  syscall(SYS_execveat, fd, "", argv.data(), nullptr, AT_EMPTY_PATH);
  return errno;
}

int raises_limit(const S&) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  return error_of(setrlimit(RLIMIT_CORE, &limit));
}

int sets_capabilities(const S&) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return errno;
  return error_of(syscall(SYS_capset, &header, sets.data()));
}

int maps(std::size_t bytes, int kind) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
}

int opens_descriptors(const S&) {
  for (int i = 0; i < 10'000; ++i) {
    if (dup(STDIN_FILENO) < 0) return errno;
  }
  return 0;
}

// The table of another architecture, where 20 is getpid and 11 execve.
int calls_other_table([[maybe_unused]] const S& s) {
#if defined(__x86_64__)
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "cc", "r8", "r9", "r10", "r11");
  return result > 0 ? 0 : ENOSYS;
#else
  return ENOSYS;
#endif
}

int runs_threads(const S&) {
  int sum = 0;
  std::thread first([&] { sum += 1; });
  first.join();
  std::thread([&] { sum += 1; }).join();
  return sum == 2 ? 0 : EINVAL;
}

int waits_for_events(const S&) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int event = eventfd(1, EFD_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (epoll < 0 || event < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) != 0) return errno;
  return epoll_wait(epoll, &wanted, 1, 1000) == 1 ? 0 : ETIMEDOUT;
}

int makes_stream_pair(const S&) {
  std::array<int, 2> pair{};
  char byte = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return errno;
  return write(pair[0], "x", 1) == 1 && read(pair[1], &byte, 1) == 1 ? 0 : errno;
}

int resolves_name(const S&) {
  addrinfo* found = nullptr;
  if (getaddrinfo("localhost", "80", nullptr, &found) != 0) return EHOSTUNREACH;
  freeaddrinfo(found);
  return 0;
}

int gets_random(const S&) {
  std::array<char, 16> bytes{};
  return error_of(getrandom(bytes.data(), bytes.size(), 0));
}

constexpr const char* kNowhere = "/slipway-nowhere";

constexpr Attempt kAttempts[] = {
    // files
    {"open-passwd", [](const S&) { return opens("/etc/passwd"); }},
    {"open-shadow", [](const S&) { return opens("/etc/shadow"); }},
    {"open-private-key-directory", [](const S&) { return lists("/etc/ssl/private"); }},
    {"read-init-environment", [](const S&) { return reads("/proc/1/environ"); }},
    {"read-parent-memory-file",
     [](const S& s) { return opens("/proc/" + std::to_string(s.parent) + "/mem"); }},
    {"list-root", [](const S&) { return lists("/"); }},
    {"list-outside", [](const S& s) { return lists(s.outside); }},
    {"see-outside", [](const S& s) { return error_of(access(s.outside.c_str(), F_OK)); }},
    {"read-outside", [](const S& s) { return reads(s.outside + "/secret"); }},
    {"read-above-own", [](const S& s) { return reads(s.own + "/../outside/secret"); }},
    {"write-outside", [](const S& s) { return opens(s.outside + "/secret", O_WRONLY); }},
    {"create-outside", [](const S& s) { return opens(s.outside + "/new", O_WRONLY | O_CREAT); }},
    {"create-in-tmp", [](const S&) { return opens("/tmp", O_WRONLY | O_TMPFILE); }},
    {"create-in-own", [](const S& s) { return opens(s.own, O_WRONLY | O_TMPFILE); }},
    {"write-own", [](const S& s) { return opens(s.own + "/library", O_RDWR); }},
    {"truncate-own", [](const S& s) { return error_of(truncate((s.own + "/library").c_str(), 7)); }},
    {"chmod-own", [](const S& s) { return error_of(chmod((s.own + "/library").c_str(), 0644)); }},
    {"mkdir", [](const S&) { return harmless(mkdir("/tmp", 0700), EEXIST); }},
    {"unlink", [](const S&) { return harmless(unlink(kNowhere), ENOENT); }},
    {"rename", [](const S&) { return harmless(rename(kNowhere, "/slipway-elsewhere"), ENOENT); }},
    {"symlink", [](const S&) { return harmless(symlink("x", "/tmp"), EEXIST); }},
    {"mknod", [](const S&) { return harmless(mknod("/tmp", S_IFCHR | 0600, 0x103), EEXIST); }},
    {"open-by-handle",
     [](const S&) { return harmless(syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0), EFAULT); }},
    {"inotify", [](const S&) { return error_of(syscall(SYS_inotify_init1, 0)); }},
    {"quotactl",
     [](const S&) { return harmless(syscall(SYS_quotactl, -1, nullptr, 0, nullptr), EINVAL, ENODEV); }},
    // sockets
    {"socket-inet", [](const S&) { return makes_socket(AF_INET, SOCK_STREAM); }},
    {"socket-inet6-udp", [](const S&) { return makes_socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP); }},
    {"connect-tcp", connects_tcp},
    {"bind-tcp", binds_tcp},
    {"socket-raw", [](const S&) { return makes_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }},
    {"socket-packet", [](const S&) { return makes_socket(AF_PACKET, SOCK_RAW); }},
    {"socket-netlink", [](const S&) { return makes_socket(AF_NETLINK, SOCK_RAW); }},
    {"socket-vsock", [](const S&) { return harmless(socket(AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT); }},
    {"connect-daemon", [](const S& s) { return connects_unix(UnixAddress(s.outside + "/daemon.sock")); }},
    {"connect-abstract", [](const S& s) { return connects_unix(UnixAddress(s.outside, true)); }},
    {"send-from-datagram-pair", sends_from_pair},
    {"resolve-name", resolves_name},
    {"read-resolver-settings", [](const S&) { return reads("/etc/nsswitch.conf"); }},
    // processes
    {"ptrace-parent", [](const S& s) { return error_of(ptrace(PTRACE_SEIZE, s.parent, 0, 0)); }},
    {"read-parent-memory", reads_parent_memory},
    {"signal-parent", [](const S& s) { return error_of(kill(s.parent, 0)); }},
    {"signal-parent-thread", [](const S& s) { return error_of(syscall(SYS_tgkill, s.parent, s.parent, 0)); }},
    {"signal-all", [](const S&) { return error_of(kill(-1, 0)); }},
    {"pidfd-of-parent", [](const S& s) { return error_of(syscall(SYS_pidfd_open, s.parent, 0)); }},
    {"fork", [](const S&) { return ends_child(fork()); }},
#if defined(SYS_fork)
    {"fork-directly", [](const S&) { return ends_child(syscall(SYS_fork)); }},
#endif
    {"vfork", [](const S&) { return ends_child(vfork()); }},
    {"clone-process", [](const S&) { return ends_child(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
    {"clone-namespace",
     [](const S&) { return ends_child(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }},
    {"clone3-process", clones3},
    {"execve", runs_program},
    {"execute-memory-file", runs_memory_file},
    // namespaces and mounts
    {"mount",
     [](const S&) { return harmless(syscall(SYS_mount, "x", kNowhere, "tmpfs", 0, nullptr), ENOENT); }},
    {"umount", [](const S&) { return harmless(syscall(SYS_umount2, kNowhere, 0), ENOENT); }},
    {"open-tree", [](const S&) { return error_of(syscall(SYS_open_tree, AT_FDCWD, "/", 1)); }},
    {"fsopen", [](const S&) { return error_of(syscall(SYS_fsopen, "tmpfs", 0)); }},
    {"unshare-mounts", [](const S&) { return error_of(unshare(CLONE_NEWNS)); }},
    {"unshare-user", [](const S&) { return error_of(unshare(CLONE_NEWUSER)); }},
    {"setns", [](const S&) { return harmless(setns(-1, 0), EBADF); }},
    {"chroot", [](const S&) { return error_of(chroot("/")); }},
    {"pivot-root", [](const S&) { return harmless(syscall(SYS_pivot_root, kNowhere, kNowhere), ENOENT); }},
    // the kernel
    {"io-uring", [](const S&) { return harmless(syscall(SYS_io_uring_setup, 1, nullptr), EFAULT); }},
    {"bpf", [](const S&) { return harmless(syscall(SYS_bpf, -1, nullptr, 0), EINVAL, EFAULT); }},
    {"perf-events",
     [](const S&) { return harmless(syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0), EFAULT); }},
    {"userfaultfd", [](const S&) { return harmless(syscall(SYS_userfaultfd, -1), EINVAL); }},
    {"keyctl", [](const S&) { return harmless(syscall(SYS_keyctl, -1, 0, 0, 0, 0), EOPNOTSUPP); }},
    {"add-key",
     [](const S&) { return harmless(syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0), EFAULT); }},
    {"kexec", [](const S&) { return harmless(syscall(SYS_kexec_load, 0, 1000, nullptr, 0), EINVAL); }},
    {"load-module", [](const S&) { return harmless(syscall(SYS_finit_module, -1, "", 0), EBADF); }},
    {"reboot", [](const S&) { return harmless(syscall(SYS_reboot, 0, 0, 0, nullptr), EINVAL); }},
    {"set-host-name", [](const S&) { return harmless(syscall(SYS_sethostname, nullptr, -1), EINVAL); }},
    {"set-clock",
     [](const S&) { return harmless(syscall(SYS_clock_settime, CLOCK_MONOTONIC, nullptr), EINVAL); }},
    {"read-kernel-log", [](const S&) { return error_of(syscall(SYS_syslog, 10, nullptr, 0)); }},
    {"personality", [](const S&) { return error_of(syscall(SYS_personality, 0xffffffff)); }},
    {"other-system-call-table", calls_other_table},
    // itself and its terminal
    {"push-to-terminal", [](const S&) { return harmless(ioctl(STDIN_FILENO, TIOCSTI, "x"), ENOTTY, EIO); }},
    {"become-dumpable", [](const S&) { return error_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
    {"outlive-parent", [](const S&) { return error_of(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }},
    {"setuid", [](const S&) { return error_of(setuid(getuid())); }},
    {"set-capabilities", sets_capabilities},
    {"set-limit", raises_limit},
    // limits
    {"memory-over-limit", [](const S&) { return maps(2 * kMemoryLimit, MAP_PRIVATE); }},
    {"shared-memory", [](const S&) { return maps(4096, MAP_SHARED); }},
    {"system-v-memory", [](const S&) { return harmless(syscall(SYS_shmget, 0, 0, 01000), EINVAL); }},
    {"descriptors-10000", opens_descriptors},
    // what a plugin may
    {"threads", runs_threads},
    {"read-own", [](const S& s) { return reads(s.own + "/library"); }},
    {"list-own", [](const S& s) { return lists(s.own); }},
    {"load-library", [](const S&) { return dlopen("libanl.so.1", RTLD_NOW) != nullptr ? 0 : ENOENT; }},
    {"random", gets_random},
    {"open-null", [](const S&) { return opens("/dev/null"); }},
    {"open-random-device", [](const S&) { return opens("/dev/urandom"); }},
    {"memory-below-limit", [](const S&) { return maps(kMemoryLimit / 4, MAP_PRIVATE); }},
    {"events", waits_for_events},
    {"stream-pair", makes_stream_pair},
    {"name-thread", [](const S&) { return error_of(prctl(PR_SET_NAME, "plugin", 0, 0, 0)); }},
    {"signal-itself", [](const S&) { return error_of(kill(getpid(), 0)); }},
    // ways to end
    {"exit-7", [](const S&) -> int { _exit(7); }},
    {"abort", [](const S&) -> int { std::abort(); }},
    {"segfault", [](const S&) -> int { return *const_cast<const volatile char*>(kNoAddress); }},
    {"wait", [](const S&) -> int { return pause(); }},
};

}  // namespace

const Attempt* find_attempt(std::string_view name) {
  const auto* found = std::find_if(std::begin(kAttempts), std::end(kAttempts),
                                   [name](const Attempt& attempt) { return attempt.name == name; });
  return found == std::end(kAttempts) ? nullptr : found;
}

}  // namespace slipway::testing
