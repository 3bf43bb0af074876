// SPDX-License-Identifier: Apache-2.0
// Each layer of the sandbox alone, so that one cannot hide another's hole. All of them together, in the
// process that they are made for: escape_test.cpp.
#include "plugin/sandbox.hpp"

#include "plugin/sandbox_layers.hpp"
#include "support/temp_dir.hpp"
#include "support/unix_listener.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace slipway {
namespace {

using testing::TempDir;
using Checks = std::vector<std::pair<const char*, bool>>;

constexpr int kNoLayer = 100;  // exit code: not on this machine

// Enters the layer in a child and makes the checks there; the first that does not hold is named.
template <class Enter, class Try>
void check_in_child(Enter enter, Try attempt) {
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    if (auto layer = enter(); !layer) {
      std::fprintf(stderr, "%s\n", layer.error().message.c_str());
      _exit(kNoLayer);
    }
    for (const auto& [name, holds] : Checks(attempt())) {
      if (holds) continue;
      std::fprintf(stderr, "does not hold: %s\n", name);
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoLayer) {
    std::cout << "SKIPPED: this machine lacks the layer\n";
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}

// The error number of an open, 0 when it works.
int opened(const std::string& path, int flags = O_RDONLY) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int connected_abstract(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
}

int connected_tcp() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// One that may be read, one beside it.
struct Directories {
  TempDir dir;
  std::string own = dir.path("own");
  std::string outside = dir.path("outside");

  Directories() {
    for (const auto& path : {own, outside}) {
      std::filesystem::create_directory(path);
      std::ofstream(path + "/file") << "content";
    }
  }
};

TEST_CASE("landlock alone leaves one directory to read, and no socket and no signal that leads out") {
  const Directories place;
  const testing::UnixListener listener(place.outside, testing::UnixListener::Kind::abstract);
  const pid_t parent = getpid();
  std::string version;
  check_in_child(
      [&]() -> Result<std::string> {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail(Code::unsupported, "no_new_privs");
        auto name = plugin::detail::restrict_by_landlock({place.own, "/does/not/exist"}, true);
        if (name) version = *name;
        return name;
      },
      [&]() -> Checks {
        const int number = std::atoi(version.substr(std::strlen("landlock ")).c_str());
        return {{"own can be read", opened(place.own + "/file") == 0},
                {"own can be listed", opened(place.own, O_DIRECTORY) == 0},
                {"own cannot be written", opened(place.own + "/file", O_WRONLY) == EACCES},
                {"nothing is created in own", opened(place.own + "/new", O_WRONLY | O_CREAT) == EACCES},
                {"outside cannot be read", opened(place.outside + "/file") == EACCES},
                {"outside cannot be listed", opened(place.outside, O_DIRECTORY) == EACCES},
                {"nothing is executed", execl("/bin/true", "true", nullptr) == -1 && errno == EACCES},
                {"no TCP", number < 4 || connected_tcp() == EACCES},
                {"no abstract socket", number < 6 || connected_abstract(place.outside) == EPERM},
                {"no signal", number < 6 || (kill(parent, 0) == -1 && errno == EPERM)}};
      });
}

TEST_CASE(
    "the filter of system calls alone opens files for reading only, and makes neither process nor socket") {
  const Directories place;
  const auto profile = GENERATE(Profile::pure, Profile::net);
  const int tcp_error = profile == Profile::net ? ECONNREFUSED : EPERM;
  check_in_child([&] { return plugin::detail::filter_system_calls(profile); },
                 [&]() -> Checks {
                   return {{"outside can be read", opened(place.outside + "/file") == 0},
                           {"nothing is written", opened(place.own + "/file", O_WRONLY) == EPERM},
                           {"nothing is appended", opened(place.own + "/file", O_RDWR | O_APPEND) == EPERM},
                           {"nothing is truncated", opened(place.own + "/file", O_TRUNC) == EPERM},
                           {"nothing is created", opened(place.own + "/file", O_CREAT) == EPERM},
                           {"no file without a name", opened(place.own, O_TMPFILE | O_RDWR) == EPERM},
                           {"no process", fork() == -1 && errno == EPERM},
                           {"no unix socket", socket(AF_UNIX, SOCK_STREAM, 0) == -1 && errno == EPERM},
                           {"TCP of net only", connected_tcp() == tcp_error}};
                 });
}

TEST_CASE("the private root alone holds what was listed and nothing else, read-only") {
  const Directories place;
  const auto uid = std::to_string(geteuid());
  const auto gid = std::to_string(getegid());
  check_in_child(
      [&]() -> Result<std::string> {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return fail(Code::unsupported, "no user namespace");
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << "0 " + uid + " 1";
        std::ofstream("/proc/self/gid_map") << "0 " + gid + " 1";
        return plugin::detail::enter_private_root({"/dev/null", "/nowhere", place.own, place.own + "/file"});
      },
      [&]() -> Checks {
        return {{"own can be read", opened(place.own + "/file") == 0},
                {"own cannot be written", opened(place.own + "/file", O_WRONLY) == EROFS},
                {"outside is not there", opened(place.outside) == ENOENT},
                {"a file is not there", opened("/etc/passwd") == ENOENT},
                {"no /proc", opened("/proc/self/status") == ENOENT},
                {"the root cannot be written", opened("/new", O_WRONLY | O_CREAT) == EROFS},
                {"devices work", opened("/dev/null", O_RDWR) == 0},
                {"above the root is the root", opened("/../../etc/passwd") == ENOENT}};
      });
}

TEST_CASE("a profile that nobody knows is refused") {
  const auto report = plugin::enter_sandbox({.profile = Profile::unknown});
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::invalid);
  CHECK(report.error().message == "profile: expected pure, net or system");
}

}  // namespace
}  // namespace slipway
