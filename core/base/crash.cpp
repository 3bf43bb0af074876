// SPDX-License-Identifier: Apache-2.0
// crash.cpp - how a process ends that cannot go on. What runs in the signal handler uses write(), a buffer on
// the stack and backtrace() (whose library is loaded before), nothing else. Thread-safe.
#include "base/crash.hpp"

#include <execinfo.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

namespace slipway {

namespace {

constexpr int kMaxFrames = 64;
constexpr std::size_t kSignalStackBytes = 64 * 1024;

constexpr std::array<std::pair<int, std::string_view>, 5> kFatalSignals{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}}};

// A line built without the heap or locale; what does not fit is cut.
class SafeLine {
 public:
  SafeLine& add(std::string_view text) {
    const std::size_t count = std::min(text.size(), bytes_.size() - size_);
    std::copy_n(text.data(), count, bytes_.data() + size_);
    size_ += count;
    return *this;
  }
  SafeLine& add_hex(std::uintptr_t value) {
    add("0x");
    unsigned shift = 8 * sizeof value;
    do {
      shift -= 4;
    } while (shift > 0 && (value >> shift) == 0);
    for (;; shift -= 4) {
      add(std::string_view("0123456789abcdef").substr((value >> shift) & 0xf, 1));
      if (shift == 0) return *this;
    }
  }
  void write_to(int fd) const {
    for (std::size_t at = 0; at < size_;) {
      const ssize_t written = ::write(fd, bytes_.data() + at, size_ - at);
      if (written <= 0) return;  // there is nobody left to tell
      at += static_cast<std::size_t>(written);
    }
  }

 private:
  std::array<char, 256> bytes_{};
  std::size_t size_ = 0;
};

extern "C" void report_fatal_signal(int signal, siginfo_t* info, void*) {
  const auto* known = std::find_if(kFatalSignals.begin(), kFatalSignals.end(),
                                   [signal](const auto& entry) { return entry.first == signal; });
  SafeLine line;
  line.add("slipway: fatal signal ").add(known != kFatalSignals.end() ? known->second : "?");
  // A positive code comes from the kernel, and only then is there an address; kill() and abort() have none.
  if (info->si_code > 0) line.add(" at address ").add_hex(reinterpret_cast<std::uintptr_t>(info->si_addr));
  line.add(", backtrace:\n").write_to(STDERR_FILENO);

  std::array<void*, kMaxFrames> frames{};
  const int count = ::backtrace(frames.data(), kMaxFrames);
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);

  // The default action is back (SA_RESETHAND); the signal is blocked until this handler returns.
  ::raise(signal);
}

// For the calling thread, because its own stack may be what overflowed. Never freed: a signal may come at any
// time.
bool use_signal_stack() {
  static const auto* const stack = new std::array<char, kSignalStackBytes>();
  stack_t request{};
  request.ss_sp = const_cast<char*>(stack->data());
  request.ss_size = stack->size();
  return ::sigaltstack(&request, nullptr) == 0;
}

Failure system_failure(std::string_view call) {
  const int error = errno;
  return fail(Code::internal, "{}: {}", call, std::generic_category().message(error));
}

}  // namespace

Status install_crash_handler() {
  // The first backtrace() loads a library and allocates, which a handler must not.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);

  if (!use_signal_stack()) return system_failure("sigaltstack");
  struct sigaction action {};
  action.sa_sigaction = report_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const auto& [signal, name] : kFatalSignals) {
    if (::sigaction(signal, &action, nullptr) != 0) return system_failure("sigaction");
  }
  return ok();
}

Status forbid_core_dumps() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return system_failure("setrlimit(RLIMIT_CORE)");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_failure("prctl(PR_SET_DUMPABLE)");
  return ok();
}

namespace detail {

void end_by_assertion(std::string_view expression, std::string_view file, int line,
                      std::string_view text) noexcept {
  std::fprintf(stderr, "slipway: assertion failed: %.*s, at %.*s:%d%s%.*s\n",
               static_cast<int>(expression.size()), expression.data(), static_cast<int>(file.size()),
               file.data(), line, text.empty() ? "" : ": ", static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace detail

}  // namespace slipway
