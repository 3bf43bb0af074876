// SPDX-License-Identifier: Apache-2.0
// executor.hpp - where work runs and when: an interface with two implementations, threads in the daemon and
// one thread in virtual time in tests and in the simulation. Everything that waits goes through post_at(), so
// that a simulated hour costs what its work costs.
#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace slipway {

using Task = std::function<void()>;
enum class TimerId : std::uint64_t {};

// Thread-safe in all implementations. A task must not throw: an exception that leaves one ends the process.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Runs the task as soon as a thread is free; tasks of one poster start in the order of posting.
  virtual void post(Task task) = 0;
  // Runs the task once the time has come, at once if it has passed. Deadline::never() is a programmer error.
  virtual TimerId post_at(Deadline when, Task task) = 0;
  // True if the task was still waiting: then it never runs.
  virtual bool cancel(TimerId timer) = 0;
  [[nodiscard]] virtual const Clock& clock() const = 0;

  TimerId post_after(std::chrono::nanoseconds span, Task task) {
    return post_at(Deadline::after(clock(), span), std::move(task));
  }
};

// N threads over one queue (Boost.Asio). The destructor runs what is queued, drops timers that are not due,
// and joins.
class ThreadExecutor final : public Executor {
 public:
  // `clock` runs as the machine's does (SystemClock) and outlives the executor. `threads` at least 1. `name`
  // shows in ps and gdb, at most 15 characters with the number.
  ThreadExecutor(const Clock& clock, unsigned threads, const std::string& name);
  ~ThreadExecutor() override;

  void post(Task task) override;
  TimerId post_at(Deadline when, Task task) override;
  bool cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;

  // No new task is taken; waits for the queued ones. Called by the destructor; idempotent. Not from a task of
  // its own.
  void stop_and_join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One thread, virtual time: run() executes what is ready, then jumps the clock to the next timer. Order is
// fixed (ready tasks first in first out, timers by time then by order of posting), so a seed replays bit for
// bit. One strand: all calls from the thread that runs it.
class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(std::int64_t utc_ms = 1'800'000'000'000);
  ~VirtualExecutor() override;

  void post(Task task) override;
  TimerId post_at(Deadline when, Task task) override;
  bool cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;

  // Runs ready tasks, without moving the clock, until none is left. Returns how many ran.
  std::size_t run_ready();
  // Runs ready tasks and timers, moving the clock, until `span` has passed (the clock then stands at its
  // end).
  std::size_t run_for(std::chrono::nanoseconds span);
  // Runs until nothing is ready and no timer waits, or `limit` virtual time has passed. Returns false at the
  // limit.
  bool run_until_idle(std::chrono::nanoseconds limit);
  // Drops every task and timer unrun, as a crash of the process does.
  void drop_all();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway
