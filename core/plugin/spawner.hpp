// SPDX-License-Identifier: Apache-2.0
// spawner.hpp - makes the child processes of isolated plugins: in namespaces of their own, with closed
// descriptors, a clean environment and clean signals, and dead as soon as this process is.
#pragma once

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "plugin/sandbox.hpp"

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace slipway::plugin {

constexpr int kChannelFd = 3;  // where a child finds its channel

struct ChildSpec {
  std::string program;                      // absolute path of slipway-plugin-host
  std::vector<std::string> arguments = {};  // without the program's name; visible to everybody: no secrets
  Profile profile = Profile::pure;
  SandboxMode mode = SandboxMode::require;
  int channel_fd = -1;                // becomes kChannelFd; borrowed
  std::optional<int> stderr_fd = {};  // becomes descriptor 2; borrowed; none: this process's stderr
};

// How a process ended.
struct ChildEnd {
  bool was_signalled = false;
  int code = 0;      // the signal's number, or the exit code
  std::string text;  // "was killed by SIGSEGV (segmentation fault)", "exited with code 3"
};

// A running child. Dropped, it is killed and reaped. One owner; kill() from any thread while it lives.
class Child {
 public:
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) noexcept;
  ~Child();

  // In this process's pid namespace.
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when the child has ended; for a poll loop.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }

  // SIGKILL. A child that has ended is left as it is.
  void kill() const;
  // Waits until it has ended, reaps it and says how; nothing when the deadline passes first. Once it has
  // said how, it says the same again.
  [[nodiscard]] std::optional<ChildEnd> wait(const Clock& clock, Deadline deadline);

 private:
  friend class Spawner;
  Child(pid_t pid, fs::FileDescriptor pidfd, bool is_init, std::string cgroup)
      : pid_(pid), pidfd_(std::move(pidfd)), is_init_(is_init), cgroup_(std::move(cgroup)) {}
  void end() noexcept;

  pid_t pid_;
  fs::FileDescriptor pidfd_;
  bool is_init_;        // process 1 of a pid namespace: its abort arrives as an exit code (sandbox.cpp)
  std::string cgroup_;  // of its own, removed with it; empty: none
  std::optional<ChildEnd> ended_;
};

// One thread does all forking and lives as long as this object: the kernel kills a child when the *thread*
// that made it ends, not the process. So the destructor kills all children. Thread-safe.
class Spawner {
 public:
  Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  ~Spawner();

  // Blocks until the child runs its program, or has failed to; the error names the step and the reason.
  //   pure    in user, pid, mount, ipc and net namespaces of its own
  //   net     the same without the net namespace
  //   system  in a pids cgroup where one can be made
  // The environment holds PATH, LANG, TZ and sanitizers' options, as they are here, and nothing else.
  // unsupported: namespaces cannot be had and the mode is `require`; with `best_effort` the child runs
  // without them, and its enter_sandbox() reports that.
  [[nodiscard]] Result<Child> spawn(const ChildSpec& spec);

 private:
  struct Job;
  void run() noexcept;
  static Result<Child> make_child(const ChildSpec& spec);  // on thread_

  std::mutex jobs_mutex_;  // guards jobs_ and is_ending_
  std::condition_variable jobs_changed_;
  std::deque<Job*> jobs_;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace slipway::plugin
