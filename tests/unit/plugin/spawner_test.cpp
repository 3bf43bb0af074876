// SPDX-License-Identifier: Apache-2.0
// How a child starts, what it inherits, and how it ends.
#include "plugin/spawner.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"
#include "plugin/sandbox_layers.hpp"
#include "support/child_run.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace slipway {
namespace {

using Catch::Matchers::Contains;
using plugin::ChildSpec;
using plugin::SandboxMode;
using plugin::Spawner;
using testing::ChildWithChannel;
using testing::run_child;

ChildSpec spawned(std::vector<std::string> arguments, Profile profile = Profile::system) {
  return {.program = SLIPWAY_SPAWNED,
          .arguments = std::move(arguments),
          .profile = profile,
          .mode = SandboxMode::best_effort};
}

ChildSpec ending(const std::string& way, Profile profile) {
  return {.program = SLIPWAY_ESCAPEE,
          .arguments = {std::string(boost::describe::enum_to_string(profile, "")), way, "/nowhere",
                        "/nowhere", "1"},
          .profile = profile,
          .mode = SandboxMode::best_effort};
}

std::vector<std::string> lines_with(const std::string& text, std::string_view start) {
  std::vector<std::string> lines;
  for (const auto line : text::split(text, '\n')) {
    if (line.starts_with(start)) lines.emplace_back(line.substr(start.size()));
  }
  return lines;
}

TEST_CASE("a child inherits no descriptor, no signal setting and no environment but what it needs") {
  const fs::FileDescriptor leaked(open("/dev/zero", O_RDONLY));  // NOLINT: without O_CLOEXEC on purpose
  REQUIRE(leaked.is_open());
  REQUIRE(setenv("SLIPWAY_CANARY", "secret", 1) == 0);
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  struct sigaction before {};
  REQUIRE(sigaction(SIGPIPE, &ignored, &before) == 0);

  Spawner spawner;
  const auto run = run_child(spawner, spawned({"report"}));
  REQUIRE(sigaction(SIGPIPE, &before, nullptr) == 0);
  REQUIRE(unsetenv("SLIPWAY_CANARY") == 0);

  CHECK(run.end.text == "exited with code 0");
  const auto descriptors = lines_with(run.told, "fd ");
  REQUIRE(descriptors.size() == 4);
  CHECK(descriptors[0] == "0 /dev/null");
  CHECK(descriptors[1] == "1 /dev/null");
  CHECK_THAT(descriptors[3], Contains("3 socket:"));
  for (const auto& variable : lines_with(run.told, "env ")) {
    INFO(variable);
    const auto name = variable.substr(0, variable.find('='));
    CHECK((name == "PATH" || name == "LANG" || name == "TZ" || name.ends_with("SAN_OPTIONS")));
  }
  CHECK(lines_with(run.told, "SigBlk:\t") == std::vector<std::string>{"0000000000000000"});
  CHECK(lines_with(run.told, "SigIgn:\t") == std::vector<std::string>{"0000000000000000"});
  CHECK(lines_with(run.told, "cwd ") == std::vector<std::string>{"/"});
  CHECK(lines_with(run.told, "session ") == std::vector<std::string>{"true"});
}

TEST_CASE("a system child gets nothing that its machines would inherit") {
  Spawner spawner;
  const auto run = run_child(spawner, spawned({"report"}));
  CHECK(lines_with(run.told, "NoNewPrivs:\t") == std::vector<std::string>{"0"});
  CHECK(lines_with(run.told, "Seccomp:\t") == std::vector<std::string>{"0"});
  const auto own = fs::read_file("/proc/self/status", 65536).value();
  for (const char* capabilities : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}) {
    CHECK(lines_with(run.told, capabilities) == lines_with(own, capabilities));
  }
  const auto namespaces = lines_with(run.told, "ns ");
  REQUIRE(namespaces.size() == 6);
  for (const auto& name : namespaces) {
    const std::string kind = name.substr(0, name.find(':'));
    CHECK(name == std::filesystem::read_symlink("/proc/self/ns/" + kind).string());
  }
}

TEST_CASE("the reason of a child's end is told in words") {
  Spawner spawner;
  const auto profile = GENERATE(Profile::pure, Profile::net, Profile::system);
  CAPTURE(profile);
  CHECK(run_child(spawner, ending("exit-7", profile)).end.text == "exited with code 7");
  const auto aborted = run_child(spawner, ending("abort", profile)).end;
  CHECK(aborted.text == "was killed by SIGABRT (aborted)");
  CHECK(aborted.was_signalled);
  CHECK(aborted.code == SIGABRT);
  const auto fault = run_child(spawner, ending("segfault", profile)).end;
  if constexpr (plugin::detail::kHasSanitizer) {
    CHECK(fault.code != 0);  // which reports it and chooses the exit code
  } else {
    CHECK(fault.text == "was killed by SIGSEGV (segmentation fault)");
  }

  ChildWithChannel waiting(spawner, ending("wait", profile));
  CHECK_FALSE(waiting.read_some().empty());
  const SystemClock clock;
  CHECK_FALSE(waiting.child().wait(clock, Deadline::after(clock, std::chrono::milliseconds(1))).has_value());
  waiting.child().kill();
  CHECK(waiting.finish().end.text == "was killed by SIGKILL (killed)");
  CHECK(waiting.finish().end.text == "was killed by SIGKILL (killed)");
}

TEST_CASE("a child that cannot start leaves nothing behind and its error names step, path and reason") {
  Spawner spawner;
  const auto profile = GENERATE(Profile::pure, Profile::system);
  ChildSpec spec = spawned({}, profile);
  spec.channel_fd = STDIN_FILENO;
  spec.program = "/nowhere/slipway-plugin-host";
  const auto child = spawner.spawn(spec);
  REQUIRE_FALSE(child);
  CHECK(child.error().code == Code::not_found);
  CHECK(child.error().message ==
        "starting /nowhere/slipway-plugin-host: No such file or directory (when running its program)");
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a dropped child is killed and reaped") {
  Spawner spawner;
  { ChildWithChannel dropped(spawner, spawned({"wait"})); }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("children made by several threads at once all start") {
  Spawner spawner;
  std::vector<std::thread> threads;
  std::vector<std::string> ends(4);
  for (auto& end : ends) {
    threads.emplace_back([&spawner, &end] {
      const fs::FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
      ChildSpec spec = spawned({"unknown"}, Profile::pure);
      spec.channel_fd = null.get();
      auto child = spawner.spawn(spec);
      end = child ? child->wait(SystemClock(), Deadline::never())->text : child.error().message;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& end : ends) CHECK(end == "exited with code 3");
}

TEST_CASE("a child dies with the process that made it, and with the spawner") {
  Spawner spawner;
  ChildWithChannel parent(spawner, spawned({"nest", SLIPWAY_SPAWNED}));
  const pid_t grandchild = std::atoi(parent.read_some().c_str());
  REQUIRE(grandchild > 1);
  const fs::FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, grandchild, 0)));
  REQUIRE(pidfd.is_open());
  parent.child().kill();
  pollfd ended{pidfd.get(), POLLIN, 0};
  CHECK(poll(&ended, 1, 5000) == 1);

  auto second = std::make_unique<Spawner>();
  ChildWithChannel orphan(*second, spawned({"wait"}));
  second.reset();
  CHECK(orphan.finish().end.text == "was killed by SIGKILL (killed)");
}

TEST_CASE("where namespaces cannot be had, require names what is missing and best effort goes on") {
  Spawner spawner;
  const auto run = run_child(spawner, spawned({"poor", SLIPWAY_ESCAPEE}));
  if (run.told.starts_with("SKIPPED")) {
    std::cout << run.told;
    return;
  }
  INFO(run.told);
  CHECK_THAT(run.told, Contains("No space left on device (when making its namespaces)") &&
                           Contains("\"user namespace\" is missing") && Contains("plugins.sandbox"));
  // The second child wrote its report to the same channel.
  CHECK_THAT(run.told, Contains("user namespace: not allowed here"));
  CHECK_THAT(run.told, Contains("seccomp"));
  CHECK_THAT(run.told, Contains("exited with code 1"));  // fork is refused all the same
}

}  // namespace
}  // namespace slipway
