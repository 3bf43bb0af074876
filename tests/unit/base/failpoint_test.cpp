// SPDX-License-Identifier: Apache-2.0
// failpoint_test.cpp - fail points, and how a process ends: each end is looked at in a child.
#include "base/failpoint.hpp"

#include "base/crash.hpp"

#include <catch2/catch.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>

using namespace std::chrono_literals;
using namespace slipway;

namespace {

const FailPoint kFirstPoint("test.first");
const FailPoint kSecondPoint("test.second");

struct ChildEnd {
  int signal = 0;  // 0: it ended by itself
  int exit_code = 0;
  std::string error_output;
};

// Runs the body in a child of its own; a body that returns exits with its value.
ChildEnd run_in_child(const std::function<int()>& body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Catch's own handlers would report the signal as a failed test.
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) ::signal(signal, SIG_DFL);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(ends[1]);
  ChildEnd end;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    end.error_output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

std::string message_of(const Status& status) { return status ? "" : status.error().message; }

// Allowed for the rest of this process; off again at the end of a case.
struct Allowed {
  Allowed() { failpoints::allow_for_tests(); }
  ~Allowed() { failpoints::disarm_all(); }
};

}  // namespace

TEST_CASE("fail points cannot be armed, do nothing and count nothing unless they are allowed") {
  const auto end = run_in_child([] {
    FailPoint::any_allowed() = false;  // another case may have run in this process
    const auto hits_before = failpoints::hits();
    const auto armed = failpoints::arm("test.first=crash");
    if (armed || armed.error().code != Code::denied) return 1;
    if (!kFirstPoint.hit()) return 2;
    return failpoints::hits() == hits_before ? 0 : 3;
  });
  CHECK(end.signal == 0);
  CHECK(end.exit_code == 0);
}

TEST_CASE("an armed point returns its error, at every hit or only at the one that was named") {
  const Allowed allowed;
  CHECK(kFirstPoint.hit());

  REQUIRE(failpoints::arm("test.first=error"));
  for (int i = 0; i < 2; ++i) {
    const auto hit = kFirstPoint.hit();
    REQUIRE_FALSE(hit);
    CHECK(hit.error().code == Code::internal);
    CHECK(hit.error().message == "fail point test.first was hit");
  }
  CHECK(kSecondPoint.hit());

  REQUIRE(failpoints::arm("test.first=off;test.second=error:unavailable@3"));
  CHECK(kFirstPoint.hit());
  CHECK(kSecondPoint.hit());
  CHECK(kSecondPoint.hit());
  const auto third = kSecondPoint.hit();
  REQUIRE_FALSE(third);
  CHECK(third.error().code == Code::unavailable);
  CHECK(kSecondPoint.hit());

  REQUIRE(failpoints::arm("test.first=error"));
  failpoints::disarm_all();
  CHECK(kFirstPoint.hit());
}

TEST_CASE("hits are counted for every registered point, armed or not") {
  const Allowed allowed;
  const auto before = failpoints::hits();
  REQUIRE(before.count("test.first") == 1);
  REQUIRE(before.count("test.second") == 1);
  for (int i = 0; i < 5; ++i) CHECK(kFirstPoint.hit());
  const auto after = failpoints::hits();
  CHECK(after.at("test.first") == before.at("test.first") + 5);
  CHECK(after.at("test.second") == before.at("test.second"));
}

TEST_CASE("a delay waits, and then goes on") {
  const Allowed allowed;
  REQUIRE(failpoints::arm("test.first=delay:3@1"));
  const auto start = std::chrono::steady_clock::now();
  CHECK(kFirstPoint.hit());
  CHECK(std::chrono::steady_clock::now() - start >= 3ms);
}

TEST_CASE("a bad fail point specification arms nothing and says what is wrong") {
  const Allowed allowed;
  struct Row {
    std::string spec;
    std::string message;
  };
  const auto row = GENERATE(values<Row>({
      {"", "expected NAME=ACTION[@N], got \"\""},
      {"test.first", "expected NAME=ACTION[@N], got \"test.first\""},
      {"test.frist=error", "no fail point is named \"test.frist\" (did you mean \"test.first\"?)"},
      {"test.first=crush",
       "test.first: unknown action \"crush\" (did you mean \"crash\"?), expected error, "
       "error:CODE, delay:MS, crash or off"},
      {"test.first=off:1", "test.first: unknown action \"off:1\""},
      {"test.first=error:unavailible",
       "test.first: unknown error code \"unavailible\" (did you mean \"unavailable\"?)"},
      {"test.first=error@0", "test.first: the hit after @: expected a number from 1"},
      {"test.first=error@", "test.first: the hit after @: expected a number from 1"},
      {"test.first=delay", "test.first: delay in ms: expected a number from 0 to 60000, got \"\""},
      {"test.first=delay:60001", "test.first: delay in ms: expected a number from 0 to 60000"},
      {"test.first=delay:-1", "test.first: delay in ms: expected a number from 0 to 60000"},
  }));
  CAPTURE(row.spec);
  const auto alone = failpoints::arm(row.spec);
  REQUIRE_FALSE(alone);
  CHECK(alone.error().code == Code::invalid);
  CHECK_THAT(alone.error().message, Catch::Matchers::StartsWith(row.message));
  // All or nothing.
  CHECK_FALSE(failpoints::arm("test.second=error;" + row.spec));
  CHECK(message_of(kSecondPoint.hit()).empty());
}

TEST_CASE("a crash at a fail point is a kill -9, at its hit") {
  const auto end = run_in_child([] {
    const Allowed allowed;
    if (!failpoints::arm("test.second=crash@2") || !kSecondPoint.hit()) return 1;
    static_cast<void>(std::fputs("alive", stderr));
    return kSecondPoint.hit() ? 2 : 3;
  });
  CHECK(end.signal == SIGKILL);
  CHECK(end.error_output == "alive");
}

TEST_CASE("a failed assertion ends the process with the expression and the place") {
  const auto end = run_in_child([] {
    const auto two = [](int a, int b) { return a + b; };
    SLIPWAY_ASSERT(two(1, 1) == 2);
    SLIPWAY_ASSERT_MSG(two(1, 1) == 2, "not shown");
    SLIPWAY_ASSERT(two(1, 1) == 3);
    return 0;
  });
  CHECK(end.signal == SIGABRT);
  CHECK_THAT(end.error_output, Catch::Matchers::StartsWith("slipway: assertion failed: two(1, 1) == 3, at "));
  CHECK_THAT(end.error_output, Catch::Matchers::Contains("failpoint_test.cpp:"));

  const auto with_text = run_in_child([] {
    SLIPWAY_ASSERT_MSG(1 > 2, "machine " + std::to_string(7));
    return 0;
  });
  CHECK(with_text.signal == SIGABRT);
  CHECK_THAT(with_text.error_output, Catch::Matchers::EndsWith(": machine 7\n"));
}

TEST_CASE("a fatal signal leaves a line and a backtrace, and still ends the process") {
  const auto aborted = run_in_child([] {
    if (!install_crash_handler()) return 1;
    std::abort();
  });
  CHECK(aborted.signal == SIGABRT);
  CHECK_THAT(aborted.error_output,
             Catch::Matchers::StartsWith("slipway: fatal signal SIGABRT, backtrace:\n"));
  CHECK_THAT(aborted.error_output,
             Catch::Matchers::Contains("slipway_base_tests"));  // frames of this program

  const auto faulted = run_in_child([] {
    if (!install_crash_handler()) return 1;
    // 0x1000 is below what the kernel lets anybody map.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is none is what it takes
    const volatile int* const nowhere = reinterpret_cast<const volatile int*>(std::uintptr_t{0x1000});
    return *nowhere;
  });
  CHECK(faulted.signal == SIGSEGV);
  CHECK_THAT(faulted.error_output,
             Catch::Matchers::StartsWith("slipway: fatal signal SIGSEGV at address 0x1000, backtrace:\n"));

  const auto sent = run_in_child([] {
    if (!install_crash_handler()) return 1;
    ::raise(SIGBUS);
    return 0;
  });
  CHECK(sent.signal == SIGBUS);
  CHECK_THAT(sent.error_output, Catch::Matchers::StartsWith("slipway: fatal signal SIGBUS, backtrace:\n"));
}

TEST_CASE("a process that forbids core dumps is not dumpable") {
  const auto end = run_in_child([] {
    if (!forbid_core_dumps()) return 1;
    rlimit limit{};
    if (::getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_max != 0) return 2;
    return ::prctl(PR_GET_DUMPABLE) == 0 ? 0 : 3;
  });
  CHECK(end.signal == 0);
  CHECK(end.exit_code == 0);
}

#ifdef SLIPWAY_CHECK_RESULTS
TEST_CASE("a failed result that nobody read ends the process") {
  const auto end = run_in_child([] {
    { const Status unread = fail(Code::invalid, "nobody looks"); }
    return 0;
  });
  CHECK(end.signal == SIGABRT);
  CHECK_THAT(end.error_output, Catch::Matchers::Contains("never read: nobody looks"));
}
#endif
