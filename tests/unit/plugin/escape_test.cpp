// SPDX-License-Identifier: Apache-2.0
// The escape suite: what a confined child tries, by name, in each profile; and the control, which shows that
// it is the sandbox that stops it (SECURITY: tests).
#include "base/text.hpp"
#include "plugin/spawner.hpp"
#include "support/child_run.hpp"
#include "support/temp_dir.hpp"
#include "support/unix_listener.hpp"

#include <catch2/catch.hpp>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace slipway {
namespace {

using plugin::Spawner;

enum class Wanted { refused, allowed };
constexpr auto kNo = Wanted::refused;
constexpr auto kYes = Wanted::allowed;
// Whether root can do it without a sandbox on every machine; some things depend on the kernel's
// configuration.
enum class Control { yes, no };

struct Row {
  std::string_view attempt;
  Wanted pure;
  Wanted net;
  Control control = Control::yes;
};

constexpr Row kRows[] = {
    {"open-passwd", kNo, kNo},
    {"open-shadow", kNo, kNo},
    {"open-private-key-directory", kNo, kNo, Control::no},
    {"read-init-environment", kNo, kNo, Control::no},
    {"read-parent-memory-file", kNo, kNo, Control::no},
    {"list-root", kNo, kNo},
    {"list-outside", kNo, kNo},
    {"see-outside", kNo, kNo},
    {"read-outside", kNo, kNo},
    {"read-above-own", kNo, kNo},
    {"write-outside", kNo, kNo},
    {"create-outside", kNo, kNo},
    {"create-in-tmp", kNo, kNo, Control::no},
    {"create-in-own", kNo, kNo, Control::no},
    {"write-own", kNo, kNo},
    {"truncate-own", kNo, kNo},
    {"chmod-own", kNo, kNo},
    {"mkdir", kNo, kNo},
    {"unlink", kNo, kNo},
    {"rename", kNo, kNo},
    {"symlink", kNo, kNo},
    {"mknod", kNo, kNo},
    {"open-by-handle", kNo, kNo},
    {"inotify", kNo, kNo},
    {"quotactl", kNo, kNo, Control::no},
    {"socket-inet", kNo, kYes},
    {"socket-inet6-udp", kNo, kYes, Control::no},
    {"connect-tcp", kNo, kYes},
    {"bind-tcp", kNo, kYes},
    {"socket-raw", kNo, kNo, Control::no},
    {"socket-packet", kNo, kNo, Control::no},
    {"socket-netlink", kNo, kNo},
    {"socket-vsock", kNo, kNo},
    {"connect-daemon", kNo, kNo},
    {"connect-abstract", kNo, kNo},
    {"send-from-datagram-pair", kNo, kNo},
    {"resolve-name", kNo, kYes},
    {"read-resolver-settings", kNo, kYes},
    {"ptrace-parent", kNo, kNo, Control::no},
    {"read-parent-memory", kNo, kNo, Control::no},
    {"signal-parent", kNo, kNo},
    {"signal-parent-thread", kNo, kNo},
    {"signal-all", kNo, kNo},
    {"pidfd-of-parent", kNo, kNo},
    {"fork", kNo, kNo},
    {"vfork", kNo, kNo},
    {"clone-process", kNo, kNo},
    {"clone-namespace", kNo, kNo, Control::no},
    {"clone3-process", kNo, kNo},
    {"execve", kNo, kNo},
    {"execute-memory-file", kNo, kNo},
    {"mount", kNo, kNo},
    {"umount", kNo, kNo},
    {"open-tree", kNo, kNo},
    {"fsopen", kNo, kNo},
    {"unshare-mounts", kNo, kNo},
    {"unshare-user", kNo, kNo, Control::no},
    {"setns", kNo, kNo},
    {"chroot", kNo, kNo},
    {"pivot-root", kNo, kNo},
    {"io-uring", kNo, kNo, Control::no},
    {"bpf", kNo, kNo, Control::no},
    {"perf-events", kNo, kNo, Control::no},
    {"userfaultfd", kNo, kNo, Control::no},
    {"keyctl", kNo, kNo, Control::no},
    {"add-key", kNo, kNo, Control::no},
    {"kexec", kNo, kNo, Control::no},
    {"load-module", kNo, kNo, Control::no},
    {"reboot", kNo, kNo},
    {"set-host-name", kNo, kNo},
    {"set-clock", kNo, kNo},
    {"read-kernel-log", kNo, kNo},
    {"personality", kNo, kNo},
    {"other-system-call-table", kNo, kNo, Control::no},
    {"push-to-terminal", kNo, kNo},
    {"become-dumpable", kNo, kNo},
    {"outlive-parent", kNo, kNo},
    {"setuid", kNo, kNo},
    {"set-capabilities", kNo, kNo},
    {"set-limit", kNo, kNo},
    {"memory-over-limit", kNo, kNo},
    {"shared-memory", kNo, kNo},
    {"system-v-memory", kNo, kNo},
    {"descriptors-10000", kNo, kNo, Control::no},
    {"threads", kYes, kYes},
    {"read-own", kYes, kYes},
    {"list-own", kYes, kYes},
    {"load-library", kYes, kYes},
    {"random", kYes, kYes},
    {"open-null", kYes, kYes},
    {"open-random-device", kYes, kYes},
    {"memory-below-limit", kYes, kYes},
    {"events", kYes, kYes},
    {"stream-pair", kYes, kYes},
    {"name-thread", kYes, kYes},
    {"signal-itself", kYes, kYes},
};

// A directory of the plugin's and one beside it, with a daemon's sockets.
class Place {
 public:
  Place() : daemon_(outside() + "/daemon.sock"), abstract_(outside(), testing::UnixListener::Kind::abstract) {
    std::ofstream(own() + "/library") << "library";
    std::ofstream(outside() + "/secret") << "secret";
  }
  [[nodiscard]] std::string own() const { return made("own"); }
  [[nodiscard]] std::string outside() const { return made("outside"); }

 private:
  [[nodiscard]] std::string made(std::string_view name) const {
    std::string path = dir_.path(name);
    std::filesystem::create_directory(path);
    return path;
  }

  testing::TempDir dir_;
  testing::UnixListener daemon_;
  testing::UnixListener abstract_;
};

testing::ChildRun try_it(Spawner& spawner, const Place& place, Profile profile, std::string_view attempt) {
  const std::string name = boost::describe::enum_to_string(profile, "");
  return testing::run_child(spawner, {.program = SLIPWAY_ESCAPEE,
                                      .arguments = {name, std::string(attempt), place.own(), place.outside(),
                                                    std::to_string(getpid())},
                                      .profile = profile,
                                      .mode = plugin::SandboxMode::best_effort});
}

bool is_there(const Row& row, std::string_view layers) {
  return row.attempt != "memory-over-limit" || layers.find("without memory") == layers.npos;
}

// What the child said of its sandbox: layers, and what is missing.
struct Told {
  std::string layers, missing, reason;
  explicit Told(const std::string& told) {
    const auto bar = told.find('|');
    const auto end = told.find('\n');
    REQUIRE(end != told.npos);
    layers = told.substr(0, bar);
    missing = told.substr(bar + 1, end - bar - 1);
    reason = told.substr(end + 1);
  }
};

void run_suite(Profile profile, Wanted Row::*wanted) {
  const Place place;
  Spawner spawner;
  const Told first(try_it(spawner, place, profile, "random").told);
  std::cout << boost::describe::enum_to_string(profile, "") << ": " << first.layers << "\n";
  if (!first.missing.empty()) {
    std::cout << "SKIPPED: this machine lacks " << first.missing << "\n";
    return;
  }
  for (const Row& row : kRows) {
    if (!is_there(row, first.layers)) continue;
    const auto run = try_it(spawner, place, profile, row.attempt);
    INFO(row.attempt << ": " << run.end.text << ", told " << run.told);
    if (row.*wanted == Wanted::allowed) {
      CHECK(run.end.text == "exited with code 0");
    } else {
      const bool is_refused = run.end.code == 1 && !run.end.was_signalled;
      CHECK((is_refused || (run.end.was_signalled && run.end.code == SIGSYS)));
    }
  }
}

TEST_CASE("a pure plugin computes and reads its own directory, and every attempt at more fails") {
  run_suite(Profile::pure, &Row::pure);
}

TEST_CASE("a net plugin also opens TCP and UDP, and every attempt at more fails") {
  run_suite(Profile::net, &Row::net);
}

TEST_CASE("without the sandbox the same attempts succeed") {
  if (geteuid() != 0) {
    std::cout << "SKIPPED: most of what the sandbox forbids needs root\n";
    return;
  }
  const Place place;
  Spawner spawner;
  for (const Row& row : kRows) {
    if (row.control == Control::no) continue;
    const auto run = try_it(spawner, place, Profile::system, row.attempt);
    INFO(row.attempt << ": " << run.told);
    CHECK(run.end.text == "exited with code 0");
  }
}

TEST_CASE("what only an attack does kills the child, and the host sees it") {
  const Place place;
  Spawner spawner;
  for (const char* attempt : {"ptrace-parent", "read-parent-memory", "bpf", "kexec", "open-by-handle"}) {
    const auto run = try_it(spawner, place, Profile::pure, attempt);
    if (!Told(run.told).missing.empty()) {
      std::cout << "SKIPPED: this machine lacks " << Told(run.told).missing << "\n";
      return;
    }
    INFO(attempt);
    CHECK(run.end.text == "was killed by SIGSYS (bad system call)");
  }
}

TEST_CASE("a refusal that an author can meet says so in the system's words") {
  const Place place;
  Spawner spawner;
  const auto reason = [&](const char* attempt) {
    return Told(try_it(spawner, place, Profile::pure, attempt).told).reason;
  };
  CHECK(reason("fork") == std::strerror(EPERM));
  CHECK(reason("execve") == std::strerror(EPERM));
  CHECK(reason("socket-inet") == std::strerror(EPERM));
  CHECK(reason("write-own") == std::strerror(EPERM));
  CHECK(reason("clone3-process") == std::strerror(ENOSYS));
}

}  // namespace
}  // namespace slipway
