// SPDX-License-Identifier: Apache-2.0
// limits_test.cpp - the bounded pool and the token bucket, in virtual time and against simple models.
#include "base/pool.hpp"
#include "base/random.hpp"
#include "base/stop.hpp"
#include "base/token_bucket.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace slipway;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A pool in virtual time whose jobs note their key and keep their place for a while, as an asynchronous call.
struct PoolWorld {
  explicit PoolWorld(BoundedPool::Limits limits) : pool(executor, limits) {}

  void submit(const std::string& key, std::chrono::nanoseconds takes) {
    pool.submit(key, [this, key, takes](BoundedPool::Slot slot) {
      started += key;
      most_running = std::max(most_running, pool.load().running);
      const auto held = std::make_shared<BoundedPool::Slot>(std::move(slot));
      executor.post_after(takes, [held] { held->release(); });
    });
  }

  VirtualExecutor executor;
  BoundedPool pool;
  std::string started;  // keys of one character
  std::size_t most_running = 0;
};

}  // namespace

TEST_CASE("a pool runs no more jobs than its limit, and a slot counts until it is given back") {
  PoolWorld world({.total = 3, .per_key = 10});
  for (int i = 0; i < 10; ++i) world.submit("a", 1s);
  CHECK(world.executor.run_ready() == 3);
  CHECK(world.pool.load() == BoundedPool::Load{.queued = 7, .running = 3});
  world.executor.run_for(1s);
  CHECK(world.started.size() == 6);
  CHECK(world.executor.run_until_idle(1min));
  CHECK(world.started.size() == 10);
  CHECK(world.most_running == 3);
  CHECK(world.pool.load() == BoundedPool::Load{});
}

TEST_CASE("a full key blocks no other, and keys take turns") {
  PoolWorld world({.total = 4, .per_key = 2});
  for (int i = 0; i < 6; ++i) world.submit("a", 10s);
  world.submit("b", 1s);
  world.submit("b", 1s);
  world.submit("c", 1s);
  world.executor.run_ready();
  CHECK(world.started == "aabb");
  CHECK(world.pool.load("a") == BoundedPool::Load{.queued = 4, .running = 2});
  world.executor.run_for(1s);
  CHECK(world.started == "aabbc");

  PoolWorld single({.total = 1, .per_key = 1});
  for (int i = 0; i < 4; ++i) single.submit("a", 1s);
  for (int i = 0; i < 2; ++i) single.submit("b", 1s);
  single.executor.run_until_idle(1min);
  CHECK(single.started == "ababaa");
}

TEST_CASE("limits of a pool are live") {
  PoolWorld world({.total = 0, .per_key = 10});
  for (int i = 0; i < 20; ++i) world.submit("a", 1s);
  world.executor.run_for(1s);
  CHECK(world.started.empty());
  world.pool.set_limits({.total = 5, .per_key = 10});
  world.executor.run_ready();
  CHECK(world.started.size() == 5);
  world.pool.set_limits({.total = 5, .per_key = 1});  // what runs goes on
  CHECK(world.pool.load("a").running == 5);
  world.executor.run_for(1s);
  CHECK(world.started.size() == 6);
  world.pool.set_key_limit("a", 3);
  world.executor.run_ready();
  CHECK(world.pool.load("a").running == 3);
  world.pool.set_key_limit("a", 0);
  world.executor.run_for(10s);
  CHECK(world.pool.load("a") == BoundedPool::Load{.queued = 12, .running = 0});
  world.pool.set_key_limit("a", std::nullopt);
  world.executor.run_ready();
  CHECK(world.pool.load("a").running == 1);
}

TEST_CASE("queued jobs of a key can be cancelled, while running ones and other keys go on") {
  PoolWorld world({.total = 2, .per_key = 2});
  for (int i = 0; i < 5; ++i) world.submit("a", 1s);
  world.submit("b", 1s);
  world.executor.run_ready();
  CHECK(world.pool.cancel_queued("a") == 3);
  CHECK(world.pool.cancel_queued("a") == 0);
  CHECK(world.pool.cancel_queued("unknown") == 0);
  world.executor.run_until_idle(1min);
  CHECK(world.started == "aab");
  CHECK(world.pool.load() == BoundedPool::Load{});
}

TEST_CASE("a pool that goes drops its queue, and slots may come back later") {
  VirtualExecutor executor;
  std::vector<BoundedPool::Slot> slots;
  int ran = 0;
  {
    BoundedPool pool(executor, {.total = 2, .per_key = 1});
    for (int i = 0; i < 3; ++i) {
      pool.submit("a", [&](BoundedPool::Slot slot) {
        ++ran;
        slots.push_back(std::move(slot));
      });
    }
    executor.run_ready();
    pool.submit("b", [&](BoundedPool::Slot) { ran += 100; });  // on the executor, but not begun
  }
  slots.clear();
  executor.run_until_idle(1min);
  CHECK(ran == 1);
}

TEST_CASE("a slot moves, and assigning over it gives its place back") {
  VirtualExecutor executor;
  BoundedPool pool(executor, {.total = 2, .per_key = 2});
  BoundedPool::Slot kept;
  CHECK_FALSE(static_cast<bool>(kept));
  for (int i = 0; i < 2; ++i) pool.submit("a", [&](BoundedPool::Slot slot) { kept = std::move(slot); });
  executor.run_ready();
  CHECK(static_cast<bool>(kept));
  CHECK(pool.load("a").running == 1);
  kept = {};
  CHECK(pool.load("a").running == 0);
}

TEST_CASE("an executor that drops jobs gives their slots back, however many") {
  VirtualExecutor executor;
  BoundedPool pool(executor, {.total = 1, .per_key = 1});
  for (int i = 0; i < 1000; ++i) pool.submit("a", [](BoundedPool::Slot) {});
  executor.drop_all();
  CHECK(pool.load() == BoundedPool::Load{});

  const SystemClock clock;
  ThreadExecutor stopped(clock, 1, "stopped");
  stopped.stop_and_join();
  BoundedPool useless(stopped, {.total = 1, .per_key = 1});
  useless.set_limits({.total = 0, .per_key = 1});
  for (int i = 0; i < 50'000; ++i) useless.submit("a", [](BoundedPool::Slot) {});
  useless.set_limits({.total = 1, .per_key = 1});  // a stack that grew with each would overflow
  CHECK(useless.load() == BoundedPool::Load{});
}

TEST_CASE("under random load a pool keeps its limits, each key's order and never idles") {
  const auto seed = GENERATE(range(1U, 13U));
  CAPTURE(seed);
  SeededRandom random(seed);
  VirtualExecutor executor;
  BoundedPool::Limits limits{.total = 1 + random.below(6), .per_key = 1 + random.below(3)};
  BoundedPool pool(executor, limits);
  std::map<std::string, int> submitted;
  std::map<std::string, int> started;
  bool is_over = false;
  bool is_out_of_order = false;
  for (int step = 0; step < 400; ++step) {
    const std::string key(1, static_cast<char>('a' + random.below(5)));
    switch (random.below(8)) {
      case 0:
        limits = {.total = 1 + random.below(6), .per_key = 1 + random.below(3)};
        pool.set_limits(limits);
        break;
      case 1: {
        // What is queued is the end of the key's jobs, so those numbers never start.
        started[key] += static_cast<int>(pool.cancel_queued(key));
        break;
      }
      default:
        pool.submit(key, [&, key, number = submitted[key]++,
                          takes = std::chrono::nanoseconds(random.below(100))](BoundedPool::Slot slot) {
          if (number != started[key]) is_out_of_order = true;
          ++started[key];
          executor.post_after(takes, [held = std::make_shared<BoundedPool::Slot>(std::move(slot))] {});
        });
    }
    const auto before = pool.load();
    executor.run_for(std::chrono::nanoseconds(random.below(40)));
    const auto load = pool.load();
    // A lowered limit lets running jobs end, so only growth beyond it is wrong.
    if (load.running > std::max(limits.total, before.running)) is_over = true;
    // Nobody idles: if there is room in total, every key with a queue is full.
    for (const auto& [name, count] : submitted) {
      const auto of_key = pool.load(name);
      if (of_key.queued > 0 && load.running < limits.total) CHECK(of_key.running >= limits.per_key);
    }
  }
  CHECK(executor.run_until_idle(1s));
  CHECK_FALSE(is_over);
  CHECK_FALSE(is_out_of_order);
  CHECK(pool.load() == BoundedPool::Load{});
  CHECK(started == submitted);
}

TEST_CASE("a pool on threads starts every job once and ends empty") {
  constexpr int kJobs = 3'000;
  const SystemClock clock;
  ThreadExecutor executor(clock, 4, "pool");
  Event done(clock);
  std::atomic<int> running = 0;
  std::atomic<int> ran = 0;
  std::atomic<bool> is_over = false;
  BoundedPool pool(executor, {.total = 3, .per_key = 2});
  for (int i = 0; i < kJobs; ++i) {
    pool.submit(std::to_string(i % 7), [&](BoundedPool::Slot slot) {
      if (++running > 3) is_over = true;
      --running;
      slot.release();
      if (++ran == kJobs) done.set();
    });
  }
  REQUIRE(done.wait(Deadline::after(clock, 30s)) == WaitEnd::ready);
  CHECK_FALSE(is_over);
  CHECK(pool.load() == BoundedPool::Load{});
}

TEST_CASE("a token bucket gives its burst, then its rate exactly, over hours") {
  TokenBucket bucket({.per_second = 20, .burst = 40});
  const std::int64_t start = 12'345;
  std::int64_t now = start;
  for (int i = 0; i < 40; ++i) REQUIRE(bucket.try_take(now).is_taken);
  std::int64_t taken = 0;
  while (now < start + 3 * 3600 * kSecond) {
    const auto take = bucket.try_take(now);
    if (take.is_taken) {
      ++taken;
    } else {
      REQUIRE(take.at_ns > now);
      now = take.at_ns;
    }
  }
  CHECK(now == start + 3 * 3600 * kSecond);  // every 50 ms to the nanosecond
  CHECK(taken == 3 * 3600 * 20 - 1);         // the last one is due just now
}

TEST_CASE("a token bucket keeps no more than its burst, and time does not run back in it") {
  TokenBucket bucket({.per_second = 3, .burst = 5});
  bucket.try_take(0);
  int taken = 0;
  while (bucket.try_take(1'000'000 * kSecond).is_taken) ++taken;
  CHECK(taken == 5);
  CHECK_FALSE(bucket.try_take(500'000 * kSecond).is_taken);
  const auto take = bucket.try_take(1'000'000 * kSecond);
  CHECK(take.at_ns == 1'000'000 * kSecond + 333'333'334);  // rounded up: never early
  CHECK_FALSE(bucket.try_take(take.at_ns - 1).is_taken);
  CHECK(bucket.try_take(take.at_ns).is_taken);
}

TEST_CASE("reservations queue, and one that comes too late takes nothing") {
  TokenBucket bucket({.per_second = 10, .burst = 1});
  constexpr std::int64_t kTenth = kSecond / 10;
  CHECK(bucket.reserve(0, kSecond) == 0);
  CHECK(bucket.reserve(0, kSecond) == kTenth);
  CHECK(bucket.reserve(0, kSecond) == 2 * kTenth);
  CHECK(bucket.reserve(0, 3 * kTenth - 1) == std::nullopt);
  CHECK(bucket.reserve(0, 3 * kTenth) == 3 * kTenth);
  const auto take = bucket.try_take(kTenth);  // behind what is reserved
  CHECK_FALSE(take.is_taken);
  CHECK(take.at_ns == 4 * kTenth);
}

TEST_CASE("a throttled bucket loses its savings and half its rate, and has it back after 60 s") {
  TokenBucket bucket({.per_second = 20, .burst = 40});
  bucket.on_throttled(0);
  CHECK(bucket.rate_per_second(0) == 10.0);
  CHECK(bucket.try_take(0).at_ns == kSecond / 10);
  bucket.on_throttled(kSecond - 1);  // of the same event
  CHECK(bucket.rate_per_second(kSecond - 1) == 10.0);
  CHECK(bucket.rate_per_second(30 * kSecond) == 15.0);
  CHECK(bucket.rate_per_second(60 * kSecond - 1) < 20.0);
  CHECK(bucket.rate_per_second(60 * kSecond) == 20.0);
  CHECK(bucket.rate_per_second(1'000'000 * kSecond) == 20.0);

  bucket.on_throttled(30 * kSecond);
  CHECK(bucket.rate_per_second(30 * kSecond) == 7.5);
  for (int i = 2; i < 100; ++i) bucket.on_throttled(30 * kSecond + i * kSecond);
  CHECK(bucket.rate_per_second(130 * kSecond) >= 20.0 / 32);  // never dries up
  CHECK(bucket.rate_per_second(300 * kSecond) == 20.0);
}

TEST_CASE("the tokens of a recovery are the sum of its rates, whoever asks how often") {
  const auto seed = GENERATE(range(1U, 9U));
  CAPTURE(seed);
  SeededRandom random(seed);
  TokenBucket often({.per_second = 20, .burst = 100'000});
  TokenBucket seldom({.per_second = 20, .burst = 100'000});
  often.on_throttled(0);
  seldom.on_throttled(0);
  std::int64_t now = 0;
  std::int64_t taken = 0;
  const std::int64_t end = 3600 * kSecond;
  while (now < end) {
    now = std::min(end, now + static_cast<std::int64_t>(random.below(10 * kSecond)));
    while (often.try_take(now).is_taken) ++taken;
  }
  std::int64_t at_once = 0;
  while (seldom.try_take(end).is_taken) ++at_once;
  CHECK(taken == at_once);
  // 60 steps of 1 s from 10/s to 20/s, each rate a whole number of thousandths; then 20/s.
  std::int64_t thousandths = 0;
  for (std::int64_t step = 0; step < 60; ++step) thousandths += 10'000 + 10'000 * step / 60;
  thousandths += std::int64_t{3600 - 60} * 20'000;
  CHECK(taken == thousandths / 1000);
}

TEST_CASE("the time that a bucket names is the first at which a token is there") {
  const auto seed = GENERATE(range(1U, 9U));
  CAPTURE(seed);
  SeededRandom random(seed);
  TokenBucket bucket({.per_second = static_cast<std::uint32_t>(1 + random.below(50)),
                      .burst = static_cast<std::uint32_t>(1 + random.below(10))});
  std::int64_t now = 0;
  int named = 0;
  for (int i = 0; i < 2'000; ++i) {
    now += static_cast<std::int64_t>(random.below(kSecond / 5));
    if (random.below(100) == 0) bucket.on_throttled(now);
    const auto take = bucket.try_take(now);
    if (take.is_taken) continue;
    ++named;
    REQUIRE(take.at_ns > now);
    REQUIRE_FALSE(bucket.try_take(take.at_ns - 1).is_taken);
    REQUIRE(bucket.try_take(take.at_ns).is_taken);
    now = take.at_ns;
  }
  CHECK(named > 0);
}
