// SPDX-License-Identifier: Apache-2.0
// thread_executor.cpp - the executor of the daemon: threads over one Boost.Asio context, which brings the
// queue and the timers. Thread-safe; no task is run or destroyed with a lock held.
#include "base/crash.hpp"
#include "base/executor.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace slipway {

namespace asio = boost::asio;

namespace {
constexpr std::size_t kMaxThreadName = 15;  // pthread_setname_np(3)
}

struct ThreadExecutor::Impl {
  struct Timer {
    Deadline when;
    asio::steady_timer wait;
    Task task;
  };

  explicit Impl(const Clock& clock_given) : clock(clock_given), work(asio::make_work_guard(io)) {}

  void start_threads(unsigned count, const std::string& name) {
    for (unsigned i = 0; i < count; ++i) {
      std::string full_name = name + "-" + std::to_string(i);
      SLIPWAY_ASSERT_MSG(full_name.size() <= kMaxThreadName, "thread name is too long: " + full_name);
      threads.emplace_back([this, full_name = std::move(full_name)]() noexcept {
        ::pthread_setname_np(::pthread_self(), full_name.c_str());
        io.run();  // in a noexcept function: a task that throws ends the process
      });
    }
  }

  // The task of a timer that still waits, or an empty one.
  Task take(std::uint64_t id) {
    const std::lock_guard lock(timers_mutex);
    const auto node = timers.extract(id);  // destroying the asio timer ends its wait
    return node ? std::move(node.mapped().task) : Task();
  }

  void start_timer(std::uint64_t id, Timer& timer) {
    timer.wait.expires_after(timer.when.left(clock));
    // A cancelled wait completes too; then the task is no longer there.
    timer.wait.async_wait([this, id](const boost::system::error_code&) {
      if (const Task task = take(id)) task();
    });
  }

  void stop_and_join() {
    stopped = true;
    std::unordered_map<std::uint64_t, Timer> waiting;
    {
      const std::lock_guard lock(timers_mutex);
      waiting.swap(timers);
    }
    for (auto& [id, timer] : waiting) {
      if (timer.when.has_passed(clock)) asio::post(io, std::move(timer.task));
    }
    waiting.clear();
    work.reset();
    for (auto& thread : threads) {
      SLIPWAY_ASSERT_MSG(thread.get_id() != std::this_thread::get_id(),
                         "an executor cannot be stopped from one of its own tasks");
      thread.join();
    }
  }

  const Clock& clock;
  std::atomic<bool> stopped = false;
  std::mutex timers_mutex;  // guards timers and last_timer
  std::unordered_map<std::uint64_t, Timer> timers;
  std::uint64_t last_timer = 0;
  std::once_flag joined;
  // After what tasks call when they are destroyed with the context unrun.
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::vector<std::thread> threads;
};

ThreadExecutor::ThreadExecutor(const Clock& clock, unsigned threads, const std::string& name)
    : impl_(std::make_unique<Impl>(clock)) {
  SLIPWAY_ASSERT(threads >= 1);
  impl_->start_threads(threads, name);
}

ThreadExecutor::~ThreadExecutor() { stop_and_join(); }

void ThreadExecutor::post(Task task) {
  SLIPWAY_ASSERT(task != nullptr);
  if (impl_->stopped) return;
  asio::post(impl_->io, std::move(task));
}

TimerId ThreadExecutor::post_at(Deadline when, Task task) {
  SLIPWAY_ASSERT(task != nullptr && !when.is_never());
  const std::lock_guard lock(impl_->timers_mutex);
  const std::uint64_t id = ++impl_->last_timer;
  if (impl_->stopped) return TimerId{id};
  const auto added =
      impl_->timers.try_emplace(id, Impl::Timer{when, asio::steady_timer(impl_->io), std::move(task)});
  impl_->start_timer(id, added.first->second);
  return TimerId{id};
}

bool ThreadExecutor::cancel(TimerId timer) {
  return impl_->take(static_cast<std::uint64_t>(timer)) != nullptr;
}

const Clock& ThreadExecutor::clock() const { return impl_->clock; }

void ThreadExecutor::stop_and_join() {
  std::call_once(impl_->joined, [this] { impl_->stop_and_join(); });
}

}  // namespace slipway
