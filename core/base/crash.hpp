// SPDX-License-Identifier: Apache-2.0
// crash.hpp - the end of a process that cannot go on: assertions that are on in every build, a last line with
// a backtrace on a fatal signal, and no core file that could hold secrets (SECURITY 2). Thread-safe.
#pragma once

#include <slipway/result.hpp>

#include <string_view>

// A programmer error ends the process: "slipway: assertion failed: EXPRESSION, at FILE:LINE". Bad input never
// asserts. The expression may hold commas.
#define SLIPWAY_ASSERT(...)       \
  (static_cast<bool>(__VA_ARGS__) \
       ? static_cast<void>(0)     \
       : ::slipway::detail::end_by_assertion(#__VA_ARGS__, __FILE__, __LINE__, {}))
// The same, with a text that says what went wrong; the text is made only on failure.
#define SLIPWAY_ASSERT_MSG(cond, text)            \
  (static_cast<bool>(cond) ? static_cast<void>(0) \
                           : ::slipway::detail::end_by_assertion(#cond, __FILE__, __LINE__, (text)))

namespace slipway {

// On SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT writes one line and a backtrace to stderr,
// async-signal-safe, then lets the signal end the process as it would have. A stack overflow is reported only
// in the thread that called this: that one gets a signal stack of its own. Idempotent; called once, early in
// main().
Status install_crash_handler();

// No core file, and no reading of this process's memory by others of the same user (ptrace, /proc/PID/mem).
Status forbid_core_dumps();

namespace detail {
[[noreturn]] void end_by_assertion(std::string_view expression, std::string_view file, int line,
                                   std::string_view text) noexcept;
}  // namespace detail

}  // namespace slipway
