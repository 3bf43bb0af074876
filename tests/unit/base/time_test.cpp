// SPDX-License-Identifier: Apache-2.0
// time_test.cpp - clocks, deadlines, waiting and backoff.
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/stop.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace std::chrono_literals;
using namespace slipway;

TEST_CASE("the system clock moves forward and knows the date") {
  const SystemClock clock;
  const auto first = clock.monotonic_ns();
  CHECK(clock.monotonic_ns() >= first);
  CHECK(clock.utc_ms() > 1'700'000'000'000);  // after 2023
}

TEST_CASE("a fake clock moves both times, and loses nothing of steps below a millisecond") {
  FakeClock clock(5'000);
  const auto start = clock.monotonic_ns();
  for (int i = 0; i < 1000; ++i) clock.advance(1'500us);
  CHECK(clock.monotonic_ns() - start == 1'500'000'000);
  CHECK(clock.utc_ms() == 6'500);
  clock.set_utc_ms(1'000);
  CHECK(clock.utc_ms() == 1'000);
  CHECK(clock.monotonic_ns() - start == 1'500'000'000);
}

TEST_CASE("a deadline passes at its time, not before") {
  FakeClock clock;
  const auto deadline = Deadline::after(clock, 10ms);
  CHECK(deadline.left(clock) == 10ms);
  clock.advance(10ms - 1ns);
  CHECK_FALSE(deadline.has_passed(clock));
  clock.advance(1ns);
  CHECK(deadline.has_passed(clock));
  clock.advance(1h);
  CHECK(deadline.left(clock) == 0ns);
  CHECK(deadline.sooner(Deadline::never()) == deadline);
  CHECK(Deadline::never().sooner(deadline) == deadline);
}

TEST_CASE("deadlines at the ends of the range saturate") {
  const FakeClock clock;
  CHECK(Deadline::after(clock, std::chrono::nanoseconds::max()).is_never());
  CHECK(Deadline::never().left(clock) == std::chrono::nanoseconds::max());
  CHECK_FALSE(Deadline::never().has_passed(clock));
  const auto past = Deadline::after(clock, std::chrono::nanoseconds::min());
  CHECK(past.has_passed(clock));
  CHECK(Deadline::at_ns(std::numeric_limits<std::int64_t>::min()).left(clock) == 0ns);
}

TEST_CASE("an event wakes every thread that waits for it, and shows what was written before") {
  const SystemClock clock;
  Event event(clock);
  int result = 0;
  std::atomic<int> right = 0;
  {
    std::array<std::jthread, 3> waiters;
    for (auto& waiter : waiters) {
      waiter = std::jthread([&] {
        if (event.wait(Deadline::never()) == WaitEnd::ready && result == 42) ++right;
      });
    }
    CHECK_FALSE(event.is_set());
    result = 42;
    event.set();
  }
  CHECK(right == 3);
  CHECK(event.is_set());
  CHECK(event.wait(Deadline::after(clock, 0ns)) == WaitEnd::ready);
}

TEST_CASE("an event may be destroyed by the thread that waited for it") {
  const SystemClock clock;
  for (int round = 0; round < 200; ++round) {
    auto event = std::make_unique<Event>(clock);
    const std::jthread setter([raw = event.get()] { raw->set(); });
    REQUIRE(event->wait(Deadline::never()) == WaitEnd::ready);
    event.reset();
  }
}

TEST_CASE("waiting ends at the deadline or at a request to stop") {
  const SystemClock clock;
  const Event event(clock);
  const auto deadline = Deadline::after(clock, 3ms);
  CHECK(event.wait(deadline) == WaitEnd::deadline);
  CHECK(deadline.has_passed(clock));

  std::stop_source source;
  std::atomic<bool> is_stopped = false;
  {
    const std::jthread waiter(
        [&] { is_stopped = event.wait(Deadline::never(), source.get_token()) == WaitEnd::stopped; });
    source.request_stop();
  }
  CHECK(is_stopped);
  CHECK(event.wait(Deadline::never(), source.get_token()) == WaitEnd::stopped);
}

TEST_CASE("backoff doubles from its first delay to its cap, within its jitter") {
  const auto seed = GENERATE(1U, 2U, 3U);
  CAPTURE(seed);
  SeededRandom random(seed);
  for (unsigned tries = 1; tries <= 2000; ++tries) {
    const auto base = tries > 6 ? 300s : std::min(300s, 10s * (1 << (tries - 1)));
    const auto delay = kStartBackoff.delay(tries, random);
    CAPTURE(tries, delay.count());
    CHECK(delay >= base * 8 / 10);
    CHECK(delay <= base * 12 / 10);
  }
}

TEST_CASE("jitter spreads over its whole range, and none gives exact delays") {
  SeededRandom random(7);
  auto least = 1h + 0ns;
  auto most = 0ns;
  for (int i = 0; i < 1000; ++i) {
    const auto delay = kPluginRestartBackoff.delay(1, random);
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  CHECK(least < 810ms);
  CHECK(most > 1190ms);

  const Backoff exact{.first = 3s, .cap = 20s, .factor = 3.0, .jitter = 0.0};
  CHECK(exact.delay(1, random) == 3s);
  CHECK(exact.delay(2, random) == 9s);
  CHECK(exact.delay(3, random) == 20s);
}
