// SPDX-License-Identifier: Apache-2.0
#include <slipway/result.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

using namespace slipway;  // NOLINT(google-build-using-namespace): a test
using namespace std::chrono_literals;

namespace {

Result<int> half(int x) {
  if (x % 2 == 0) return x / 2;
  return fail(Code::invalid, "{} is odd", x);
}
Result<int> quarter(int x) {
  SLIPWAY_TRY(const int once, half(x));
  SLIPWAY_TRY(const int twice, half(once));
  return twice;
}
Status check(int x) {
  SLIPWAY_TRY(half(x));
  return ok();
}

// The signal that ended a child that ran `work`, or 0.
template <class Work>
int signal_of(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);  // Catch has its own
    ::close(STDERR_FILENO);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("SLIPWAY_TRY gives a value or hands the error on") {
  CHECK(quarter(8).value() == 2);
  CHECK(quarter(6).error().message == "3 is odd");
  CHECK(check(2).has_value());
  CHECK(check(3).error().code == Code::invalid);
}

TEST_CASE("fail builds every part of an error") {
  const Error error =
      fail(Code::exhausted, "no capacity in zone {} ({} of {}{})", std::string("z1"), 3, 4U, '!')
          .scope(Scope::zone)
          .quota("instances", 4, 3)
          .retry_after(2s)
          .accepted_id("srv-1")
          .detail("request", "r-9")
          .rejected();
  CHECK(error.message == "no capacity in zone z1 (3 of 4!)");
  CHECK(error.scope == Scope::zone);
  CHECK(error.outcome == Outcome::rejected);
  CHECK(error.quota == Quota{"instances", 4, 3});
  CHECK(error.retry_after_ms == 2000);
  CHECK(error.accepted_id == "srv-1");
  CHECK(error.details.at("request") == "r-9");
}

TEST_CASE("an error is unknown until somebody proves that nothing was made") {
  CHECK(Error(fail(Code::unavailable, "reset")).outcome == Outcome::unknown);
}

TEST_CASE("a message takes enumerators, durations, braces and booleans") {
  CHECK(message("{{{}}} {} {} {}", Code::not_found, 1500ms, true, 2.5) == "{not_found} 1500 ms true 2.5");
}

TEST_CASE("each layer puts its context in front") {
  CHECK(half(3).error().within("machine 7").message == "machine 7: 3 is odd");
}

TEST_CASE("a result holds what its type can be made of") {
  const Result<std::string> text = [] { return Result<std::string>("abc"); }();
  CHECK(text.value() == "abc");
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(4);
  const std::unique_ptr<int> moved = *std::move(pointer);
  CHECK(*moved == 4);
  CHECK(half(3).value_or(9) == 9);
}

TEST_CASE("reading what is not there ends the process") {
  CHECK(signal_of([] { static_cast<void>(half(3).value()); }) == SIGABRT);
  CHECK(signal_of([] { static_cast<void>(half(2).error()); }) == SIGABRT);
  CHECK(signal_of([] { static_cast<void>(half(2).value()); }) == 0);
}

TEST_CASE("a failed result that nobody reads ends the process, where that is built in") {
#ifdef SLIPWAY_CHECK_RESULTS
  CHECK(signal_of([] { static_cast<void>(half(3)); }) == SIGABRT);
  CHECK(signal_of([] { static_cast<void>(half(3).has_value()); }) == 0);
  CHECK(signal_of([] {
          const Result<int> moved = half(3), kept = moved;
          static_cast<void>(kept.has_value());
        }) == 0);
#else
  WARN("SKIPPED: only in builds with SLIPWAY_CHECK_RESULTS (preset dev)");
#endif
}
