// SPDX-License-Identifier: Apache-2.0
// executor_test.cpp - the two executors and the strand over both.
#include "base/executor.hpp"

#include "base/random.hpp"
#include "base/stop.hpp"
#include "base/strand.hpp"

#include <catch2/catch.hpp>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace slipway;

namespace {

// A task that notes its name.
Task note(std::string& log, char name) {
  return [&log, name] { log += name; };
}

// Posts a random mix of tasks and timers, some of which post and cancel more; the log of what ran when.
std::string random_run(std::uint64_t seed) {
  VirtualExecutor executor;
  SeededRandom random(seed);
  std::string log;
  std::vector<TimerId> timers;
  std::function<void(int)> spawn = [&](int depth) {
    log += std::to_string(executor.clock().monotonic_ns() % 1'000'000) + (depth > 0 ? "," : ";");
    if (depth == 0) return;
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      const auto next = [&spawn, depth] { spawn(depth - 1); };
      if (random.below(2) == 0) executor.post(next);
      timers.push_back(executor.post_after(std::chrono::nanoseconds(random.below(50)), next));
      if (random.below(3) == 0) log += executor.cancel(timers[random.below(timers.size())]) ? "c" : "-";
    }
  };
  for (int i = 0; i < 20; ++i) executor.post([&spawn] { spawn(4); });
  executor.run_until_idle(1s);
  return log;
}

}  // namespace

TEST_CASE("virtual time runs ready tasks first in first out, then timers by time and order of posting") {
  VirtualExecutor executor;
  std::string log;
  executor.post_after(2s, note(log, 'e'));
  executor.post_after(1s, note(log, 'c'));
  executor.post_after(1s, note(log, 'd'));
  executor.post([&] {
    log += 'a';
    executor.post(note(log, 'b'));
  });
  CHECK(executor.run_ready() == 2);
  CHECK(log == "ab");
  CHECK(executor.run_until_idle(1h));
  CHECK(log == "abcde");
}

TEST_CASE("the virtual clock stands still for ready tasks and jumps to timers") {
  VirtualExecutor executor(1'000);
  const auto start = executor.clock().monotonic_ns();
  std::vector<std::int64_t> times;
  for (const auto span : {3s, 1s, 2s}) {
    executor.post_after(span, [&] { times.push_back(executor.clock().monotonic_ns() - start); });
  }
  CHECK(executor.run_for(2s) == 2);  // the end belongs to it
  CHECK(executor.clock().utc_ms() == 3'000);
  CHECK(executor.run_for(10s) == 1);
  CHECK(times == std::vector<std::int64_t>{1'000'000'000, 2'000'000'000, 3'000'000'000});
  CHECK(executor.clock().utc_ms() == 13'000);
}

TEST_CASE("a timer in the past runs at once, without moving the virtual clock") {
  VirtualExecutor executor;
  std::string log;
  const auto start = executor.clock().monotonic_ns();
  executor.post_at(Deadline::at_ns(start - 5), note(log, 'p'));
  CHECK(executor.run_ready() == 1);
  CHECK(executor.clock().monotonic_ns() == start);
}

TEST_CASE("a cancelled virtual timer never runs, and cancel says whether it still waited") {
  VirtualExecutor executor;
  std::string log;
  const auto first = executor.post_after(1s, note(log, '1'));
  const auto second = executor.post_after(1s, note(log, '2'));
  CHECK(executor.cancel(first));
  CHECK_FALSE(executor.cancel(first));
  CHECK(executor.run_until_idle(1min));
  CHECK(log == "2");
  CHECK_FALSE(executor.cancel(second));
}

TEST_CASE("run_until_idle stops at its limit when work never ends") {
  VirtualExecutor executor;
  int ticks = 0;
  Task tick = [&] {
    ++ticks;
    executor.post_after(1s, tick);
  };
  executor.post(tick);
  const auto start = executor.clock().monotonic_ns();
  CHECK_FALSE(executor.run_until_idle(1h));
  CHECK(ticks == 3601);
  CHECK(executor.clock().monotonic_ns() - start == 3'600'000'000'000);
}

TEST_CASE("drop_all drops everything unrun, also what the dropped post when they go") {
  VirtualExecutor executor;
  std::string log;
  struct PostsAtEnd {
    Executor& executor;
    std::string& log;
    PostsAtEnd(Executor& on, std::string& into) : executor(on), log(into) {}
    ~PostsAtEnd() { executor.post(note(log, 'x')); }
  };
  executor.post([held = std::make_shared<PostsAtEnd>(executor, log)] {});
  executor.post_after(1s, [held = std::make_shared<PostsAtEnd>(executor, log)] {});
  executor.drop_all();
  CHECK(executor.run_until_idle(1h));
  CHECK(log.empty());
}

TEST_CASE("the same seed gives the same virtual run, another seed another") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const auto log = random_run(seed);
    CHECK(log == random_run(seed));
    CHECK(log != random_run(seed + 1000));
    CHECK(log.find('c') != std::string::npos);
  }
}

TEST_CASE("an executor of one thread runs tasks in their order, in a named thread") {
  const SystemClock clock;
  std::vector<int> order;
  std::array<char, 16> name{};
  {
    ThreadExecutor executor(clock, 1, "pool");
    executor.post([&] { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); });
    for (int i = 0; i < 1000; ++i) executor.post([&, i] { order.push_back(i); });
  }
  REQUIRE(order.size() == 1000);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(std::string(name.data()) == "pool-0");
}

TEST_CASE("thread timers run at or after their time, in the order of their times") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 1, "timers");
  Event done(clock);
  std::string log;
  bool is_early = false;
  const auto first = Deadline::after(clock, 1ms);
  executor.post_at(Deadline::after(clock, 4ms), [&] {
    log += 'b';
    done.set();
  });
  executor.post_at(first, [&] {
    is_early = !first.has_passed(clock);
    log += 'a';
  });
  REQUIRE(done.wait(Deadline::after(clock, 10s)) == WaitEnd::ready);
  executor.stop_and_join();
  CHECK(log == "ab");
  CHECK_FALSE(is_early);
}

TEST_CASE("a cancelled thread timer never runs, and its task is gone") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 2, "cancel");
  std::atomic<int> ran = 0;
  auto held = std::make_shared<int>(0);
  const auto timer = executor.post_after(1h, [&, held] { ++ran; });
  CHECK(executor.cancel(timer));
  CHECK(held.use_count() == 1);
  CHECK_FALSE(executor.cancel(timer));
  // Cancelled against firing at the same moment: exactly one of the two wins.
  int cancelled = 0;
  for (int i = 0; i < 500; ++i) {
    if (executor.cancel(executor.post_after(0ns, [&] { ++ran; }))) ++cancelled;
  }
  executor.stop_and_join();
  CHECK(cancelled + ran == 500);
}

TEST_CASE("stopping runs what is queued and due, drops later timers, and takes nothing more") {
  const SystemClock clock;
  std::atomic<int> ran = 0;
  auto held = std::make_shared<int>(0);
  ThreadExecutor executor(clock, 2, "stop");
  for (int i = 0; i < 100; ++i) executor.post([&] { ++ran; });
  executor.post_after(1h, [&, held] { ran += 1'000'000; });
  executor.post_after(0ns, [&] { ran += 1'000; });
  executor.stop_and_join();
  executor.stop_and_join();
  CHECK(ran == 1'100);
  CHECK(held.use_count() == 1);
  executor.post([&] { ++ran; });
  executor.post_after(0ns, [&, held] { ++ran; });
  CHECK(ran == 1'100);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a strand on many threads runs one task at a time, in each poster's order") {
  constexpr int kPosters = 4;
  constexpr int kTasks = 2'000;
  const SystemClock clock;
  ThreadExecutor executor(clock, 4, "strand");
  Strand strand(executor);
  Event done(clock);
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  std::atomic<bool> was_foreign = false;
  std::array<std::vector<int>, kPosters> order;  // no lock: the strand is the lock
  int total = 0;
  {
    std::vector<std::jthread> posters;
    for (int poster = 0; poster < kPosters; ++poster) {
      posters.emplace_back([&, poster] {
        for (int i = 0; i < kTasks; ++i) {
          strand.post([&, poster, i] {
            if (inside.fetch_add(1) != 0) overlapped = true;
            if (!strand.is_current()) was_foreign = true;
            order[static_cast<std::size_t>(poster)].push_back(i);
            if (++total == kPosters * kTasks) done.set();
            inside.fetch_sub(1);
          });
        }
      });
    }
  }
  REQUIRE(done.wait(Deadline::after(clock, 30s)) == WaitEnd::ready);
  CHECK_FALSE(strand.is_current());
  strand.close();
  CHECK_FALSE(overlapped);
  CHECK_FALSE(was_foreign);
  for (const auto& of_one : order) {
    REQUIRE(of_one.size() == kTasks);
    CHECK(std::is_sorted(of_one.begin(), of_one.end()));
  }
}

TEST_CASE("a long queue of one strand does not hold up another") {
  VirtualExecutor executor;
  Strand busy(executor);
  Strand other(executor);
  int before = 0;
  int ran = 0;
  for (int i = 0; i < 1'000; ++i) busy.post([&] { ++ran; });
  other.post([&] { before = ran; });
  executor.run_ready();
  CHECK(ran == 1'000);
  CHECK(before < 100);
}

TEST_CASE("closing a strand from outside waits for the running task and drops the rest") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 2, "close");
  Strand strand(executor);
  Event started(clock);
  std::atomic<bool> has_ended = false;
  std::atomic<int> later = 0;
  auto held = std::make_shared<int>(0);
  strand.post([&, held] {
    started.set();
    std::this_thread::sleep_for(2ms);
    has_ended = true;
  });
  strand.post([&, held] { ++later; });
  strand.post_after(0ns, [&, held] { ++later; });
  strand.post_after(1h, [&, held] { ++later; });
  REQUIRE(started.wait(Deadline::after(clock, 10s)) == WaitEnd::ready);
  strand.close();
  CHECK(has_ended);
  CHECK(held.use_count() == 1);
  strand.post([&, held] { ++later; });
  strand.post_after(0ns, [&, held] { ++later; });
  executor.stop_and_join();
  CHECK(later == 0);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a strand can be closed and destroyed from its own task") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 2, "inside");
  auto strand = std::make_unique<Strand>(executor);
  std::atomic<int> later = 0;
  Event ready(clock);
  Event done(clock);
  strand->post([&] {
    // Both are there before the strand goes.
    if (ready.wait(Deadline::after(clock, 10s)) != WaitEnd::ready) return;
    strand->close();
    strand.reset();
    done.set();
  });
  strand->post([&] { ++later; });
  ready.set();
  REQUIRE(done.wait(Deadline::after(clock, 10s)) == WaitEnd::ready);
  executor.stop_and_join();
  CHECK(later == 0);
  CHECK(strand == nullptr);
}

TEST_CASE("closing while others post and set timers loses no task and leaves none") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 3, "race");
  for (int round = 0; round < 50; ++round) {
    Strand strand(executor);
    std::atomic<bool> is_closed = false;
    std::atomic<bool> ran_late = false;
    const Task note_late = [&] {
      if (is_closed) ran_late = true;
    };
    std::array<std::jthread, 2> posters;
    for (auto& poster : posters) {
      poster = std::jthread([&] {
        for (int i = 0; i < 50; ++i) {
          strand.post(note_late);
          strand.cancel(strand.post_after(std::chrono::nanoseconds(i % 3), note_late));
        }
      });
    }
    strand.close();
    is_closed = true;
    for (auto& poster : posters) poster.join();
    CHECK_FALSE(ran_late);
  }
}

TEST_CASE("a strand's timer can be cancelled until it runs, also when it is due") {
  VirtualExecutor executor;
  Strand strand(executor);
  std::string log;
  std::optional<TimerId> second;
  strand.post_after(1s, [&] {
    log += 'a';
    CHECK(strand.cancel(*second));  // due too, behind this one
    CHECK_FALSE(strand.cancel(*second));
  });
  second = strand.post_after(1s, note(log, 'b'));
  const auto third = strand.post_after(2s, note(log, 'c'));
  CHECK(executor.run_until_idle(1min));
  CHECK(log == "ac");
  CHECK_FALSE(strand.cancel(third));
  CHECK(&strand.clock() == &executor.clock());
}

TEST_CASE("a timer that came while its strand was busy can still be cancelled") {
  const SystemClock clock;
  ThreadExecutor executor(clock, 2, "busy");
  Strand strand(executor);
  Event done(clock);
  std::atomic<bool> is_cancelled = false;
  std::atomic<bool> has_run = false;
  strand.post([&] {
    const auto timer = strand.post_after(0ns, [&] { has_run = true; });
    std::this_thread::sleep_for(2ms);  // the other thread puts the timer behind this task
    is_cancelled = strand.cancel(timer);
    strand.post([&] { done.set(); });
  });
  REQUIRE(done.wait(Deadline::after(clock, 10s)) == WaitEnd::ready);
  CHECK(is_cancelled);
  CHECK_FALSE(has_run);
}

TEST_CASE("a strand on a strand keeps the order") {
  VirtualExecutor executor;
  Strand outer(executor);
  Strand inner(static_cast<Executor&>(outer));  // not a copy, which there is none of
  std::string log;
  inner.post([&] {
    log += inner.is_current() && outer.is_current() ? 'a' : '?';
    inner.post(note(log, 'c'));
  });
  inner.post(note(log, 'b'));
  CHECK(executor.run_until_idle(1s));
  CHECK(log == "abc");
}
