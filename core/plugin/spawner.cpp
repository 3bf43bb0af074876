// SPDX-License-Identifier: Apache-2.0
// spawner.cpp - prepares everything that a child needs before it is made (spawner_child.cpp), and watches
// over it through its pidfd, which unlike a number never means another process. Thread rule: see the header.
#include "plugin/spawner.hpp"

#include "base/crash.hpp"
#include "base/log.hpp"
#include "base/stop.hpp"
#include "plugin/pids_cgroup.hpp"
#include "plugin/sandbox_layers.hpp"
#include "plugin/spawner_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr Logger kLog("spawner");
constexpr std::size_t kStackBytes = 64 * 1024;  // until exec; the deepest path takes a few hundred bytes
constexpr unsigned kMaxSystemProcesses = 1024;  // far above a plugin with its helpers, far below a fork bomb
constexpr unsigned long kNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET;

constexpr std::array kEnvironment{"PATH",         "LANG",          "TZ",          "ASAN_OPTIONS",
                                  "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};

// "NAME=value" of those that are set here, and for enter_sandbox() who this is.
std::vector<std::string> environment_of(Profile profile) {
  std::vector<std::string> environment;
  for (const char* name : kEnvironment) {
    const char* value = std::getenv(name);
    const bool is_asan = std::string_view(name) == "ASAN_OPTIONS";
    // The leak check starts a process that traces this one, which no sandbox allows.
    const bool no_leak_check = is_asan && detail::kHasSanitizer && profile != Profile::system;
    if (value == nullptr && !no_leak_check) continue;
    environment.push_back(
        message("{}={}{}", name, value == nullptr ? "" : value, no_leak_check ? ":detect_leaks=0" : ""));
  }
  if (profile != Profile::system) {
    environment.push_back(message("{}={} {}", detail::kOuterIdsVariable, geteuid(), getegid()));
  }
  return environment;
}

// As exec takes it; points into `strings`.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// From the most confined to the least. Without a user namespace the others need CAP_SYS_ADMIN, and the
// capabilities of the child go in enter_sandbox().
std::vector<unsigned long> namespaces_of(const ChildSpec& spec) {
  if (spec.profile == Profile::system) return {0};
  const unsigned long network = spec.profile == Profile::net ? CLONE_NEWNET : 0;
  const unsigned long wanted = kNamespaces & ~network;
  if (spec.mode == SandboxMode::require) return {wanted};
  return {wanted, wanted & ~static_cast<unsigned long>(CLONE_NEWUSER), 0};
}

// The child's stack until exec, and what every child gets. Only on the spawner's thread.
struct Workplace {
  Workplace()
      : stack(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1,
                   0)),
        null(open("/dev/null", O_RDWR | O_CLOEXEC)),
        self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))) {}
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    if (stack != MAP_FAILED) munmap(stack, kStackBytes);
  }

  void* const stack;
  const fs::FileDescriptor null;
  const fs::FileDescriptor self;
};

// Made anew for each child, so that a failure for want of descriptors or memory passes.
Status check(const Workplace& place) {
  if (place.stack == MAP_FAILED) return fs::error_of(errno, "making", "a stack for the child");
  if (!place.null.is_open()) return fs::error_of(errno, "opening", "/dev/null");
  if (!place.self.is_open()) return fs::error_of(errno, "opening", "a pidfd of this process");
  return ok();
}

struct PidsCgroup {
  std::string directory;
  fs::FileDescriptor procs;
};

// Best effort: a system plugin is trusted, and its cgroup only bounds its mistakes.
PidsCgroup pids_cgroup_for(const ChildSpec& spec) {
  if (spec.profile != Profile::system) return {};
  auto directory = make_pids_cgroup(kMaxSystemProcesses);
  if (!directory) {
    kLog.debug("no pids cgroup", {{"error", directory.error().message}});
    return {};
  }
  return {*directory, fs::FileDescriptor(open((*directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC))};
}

Error error_of(const detail::ChildFailure& failure, const ChildSpec& spec, bool lacks_namespaces) {
  Error error = fs::error_of(failure.error, "starting", spec.program);
  error.message += message(" (when {})", failure.step);
  if (!lacks_namespaces) return error;
  error.code = Code::unsupported;
  error.message +=
      ": the sandbox's layer \"user namespace\" is missing; allow it (sysctl user.max_user_namespaces), or "
      "set plugins.sandbox = best-effort to do without";
  return error;
}

// Namespaces are not allowed here, or not known; anything else would fail without them too.
bool is_refusal(int error) {
  return error == EPERM || error == EACCES || error == EINVAL || error == ENOSPC || error == EUSERS;
}

}  // namespace

struct Spawner::Job {
  const ChildSpec& spec;
  std::optional<Result<Child>> child;
  Event done;
};

Spawner::Spawner() : thread_([this] { run(); }) {}

Spawner::~Spawner() {
  {
    const std::lock_guard lock(jobs_mutex_);
    is_ending_ = true;
  }
  jobs_changed_.notify_one();
  thread_.join();
}

Result<Child> Spawner::spawn(const ChildSpec& spec) {
  SLIPWAY_ASSERT(spec.program.starts_with('/') && spec.channel_fd >= 0 && spec.profile != Profile::unknown);
  const SystemClock clock;
  Job job{spec, {}, Event(clock)};
  {
    const std::lock_guard lock(jobs_mutex_);
    jobs_.push_back(&job);
  }
  jobs_changed_.notify_one();
  static_cast<void>(job.done.wait(Deadline::never()));
  return *std::move(job.child);
}

void Spawner::run() noexcept {
  // start_child() wants it; and no handler of this process needs this thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);

  std::unique_lock lock(jobs_mutex_);
  while (true) {
    jobs_changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = *jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    job.child = make_child(job.spec);
    job.done.set();
    lock.lock();
  }
}

Result<Child> Spawner::make_child(const ChildSpec& spec) {
  const Workplace place;
  SLIPWAY_TRY(check(place));
  std::vector<std::string> arguments{spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = environment_of(spec.profile);
  const auto argv = pointers_to(arguments);
  const auto envp = pointers_to(environment);
  auto cgroup = pids_cgroup_for(spec);
  detail::ChildPlan plan{.program = spec.program.c_str(),
                         .argv = argv.data(),
                         .environment = envp.data(),
                         .namespaces = 0,
                         .null_fd = place.null.get(),
                         .stderr_fd = spec.stderr_fd.value_or(fcntl(STDERR_FILENO, F_GETFD) < 0 ? -1 : 2),
                         .channel_fd = spec.channel_fd,
                         .parent_fd = place.self.get(),
                         .cgroup_fd = cgroup.procs.get()};

  detail::ChildFailure failure;
  bool lacks_namespaces = false;
  for (const unsigned long namespaces : namespaces_of(spec)) {
    plan.namespaces = namespaces;
    detail::StartedChild started;
    failure = detail::start_child(plan, static_cast<std::byte*>(place.stack), kStackBytes, started);
    if (failure.step == nullptr) {
      return Child(started.pid, std::move(started.pidfd), (namespaces & CLONE_NEWPID) != 0,
                   std::move(cgroup.directory));
    }
    if (!is_refusal(failure.error)) break;
    lacks_namespaces = namespaces != 0 && started.pid < 0;
  }
  if (!cgroup.directory.empty()) remove_pids_cgroup(cgroup.directory);
  return error_of(failure, spec, lacks_namespaces);
}

namespace {

// "SIGSEGV (segmentation fault)"
std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (name == nullptr || description == nullptr) return message("signal {}", signal);
  std::string words = description;
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return message("SIG{} ({})", name, words);
}

ChildEnd end_of(const siginfo_t& info, bool is_init) {
  int code = info.si_status;
  // An init that aborts cannot be killed by it and says so by this code.
  const bool has_aborted = is_init && info.si_code == CLD_EXITED && code == detail::kAbortExitCode;
  if (has_aborted) code = SIGABRT;
  if (info.si_code == CLD_EXITED && !has_aborted) return {false, code, message("exited with code {}", code)};
  return {true, code, message("was killed by {}", signal_text(code))};
}

}  // namespace

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = other.pid_;
    pidfd_ = std::move(other.pidfd_);
    is_init_ = other.is_init_;
    cgroup_ = std::move(other.cgroup_);
    ended_ = std::move(other.ended_);
  }
  return *this;
}

Child::~Child() { end(); }

void Child::end() noexcept {
  if (!pidfd_.is_open() || ended_) return;
  kill();
  static_cast<void>(wait(SystemClock(), Deadline::never()));
}

void Child::kill() const { syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0); }

std::optional<ChildEnd> Child::wait(const Clock& clock, Deadline deadline) {
  while (!ended_) {
    constexpr std::chrono::milliseconds kLongest = std::chrono::hours(1);
    const auto left = std::min(std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock)), kLongest);
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (poll(&ended, 1, static_cast<int>(left.count())) <= 0) {
      if (deadline.has_passed(clock)) return std::nullopt;
      continue;
    }
    siginfo_t info{};
    if (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) == 0) {
      ended_ = end_of(info, is_init_);
    } else if (errno != EINTR) {
      // Somebody waits for children that are not his, or ignores SIGCHLD.
      ended_ = ChildEnd{false, -1, message("ended, but how is unknown: {}", std::strerror(errno))};
    }
    if (ended_ && !cgroup_.empty()) remove_pids_cgroup(cgroup_);
  }
  return ended_;
}

}  // namespace slipway::plugin
