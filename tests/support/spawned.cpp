// SPDX-License-Identifier: Apache-2.0
// spawned.cpp - a child for tests of the spawner. What it finds goes to the channel.
//   spawned report            its status, environment, descriptors, namespaces
//   spawned nest SELF         makes a child of its own that waits, writes its pid, waits
//   spawned wait              waits for its end
//   spawned poor ESCAPEE      tries to make confined children where no namespaces are left
#include "base/fs.hpp"
#include "plugin/spawner.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

using namespace slipway;

namespace {

void tell(const std::string& text) {
  if (write(plugin::kChannelFd, text.data(), text.size()) < 0) std::_Exit(4);
}

int report() {
  std::string text = fs::read_file("/proc/self/status", 65536).value();
  for (char** variable = environ; *variable != nullptr; ++variable) text += message("env {}\n", *variable);
  for (const char* name : {"user", "pid", "mnt", "ipc", "net", "uts"}) {
    text += message("ns {}\n", std::filesystem::read_symlink(message("/proc/self/ns/{}", name)).string());
  }
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    text +=
        message("fd {} {}\n", fd, std::filesystem::read_symlink(message("/proc/self/fd/{}", fd)).string());
  }
  text += message("cwd {}\nsession {}\n", std::filesystem::current_path().string(), getsid(0) == getpid());
  tell(text);
  return 0;
}

int nest(const char* self) {
  plugin::Spawner spawner;
  const auto child = spawner.spawn(
      {.program = self, .arguments = {"wait"}, .profile = Profile::system, .channel_fd = plugin::kChannelFd});
  if (!child) return 2;
  tell(message("{}\n", child->pid()));
  return pause();
}

bool write_text(const char* path, std::string_view text) {
  const fs::FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file.is_open() && write(file.get(), text.data(), text.size()) >= 0;
}

// In a user namespace of its own, where the number of further ones is 0.
int poor(const char* escapee) {
  const std::string users = message("0 {} 1", geteuid());
  const std::string groups = message("0 {} 1", getegid());
  if (unshare(CLONE_NEWUSER) != 0 || !write_text("/proc/self/setgroups", "deny") ||
      !write_text("/proc/self/uid_map", users) || !write_text("/proc/self/gid_map", groups) ||
      !write_text("/proc/sys/user/max_user_namespaces", "0") ||
      !write_text("/proc/sys/user/max_pid_namespaces", "0")) {
    tell("SKIPPED: limits to namespaces cannot be set here\n");
    return 0;
  }
  plugin::Spawner spawner;
  for (const auto mode : {plugin::SandboxMode::require, plugin::SandboxMode::best_effort}) {
    auto child = spawner.spawn({.program = escapee,
                                .arguments = {"pure", "fork", "/nowhere", "/nowhere", "1"},
                                .profile = Profile::pure,
                                .mode = mode,
                                .channel_fd = plugin::kChannelFd});
    tell(child ? child->wait(SystemClock(), Deadline::never())->text + "\n" : child.error().message + "\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "report") return report();
  if (what == "nest" && argc == 3) return nest(argv[2]);
  if (what == "poor" && argc == 3) return poor(argv[2]);
  if (what == "wait") return pause();
  return 3;
}
