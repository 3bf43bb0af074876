// SPDX-License-Identifier: Apache-2.0
// sandbox.cpp - the order in which a child confines itself: what needs capabilities first, then they go, then
// what needs none, and the filter of system calls last, because it forbids all the rest.
// Thread rule: see the header.
#include "plugin/sandbox.hpp"

#include "base/fs.hpp"
#include "base/text.hpp"
#include "plugin/pids_cgroup.hpp"
#include "plugin/sandbox_layers.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr std::size_t kMaxProcFile = 64 * 1024;

// For the loader, and for C++'s and C's libraries; nothing here is secret.
constexpr std::array kLoaderPaths{"/lib",      "/lib64",       "/usr/lib",           "/etc/ld.so.cache",
                                  "/dev/null", "/dev/urandom", "/usr/share/zoneinfo"};
// For name resolution and TLS. Not /etc/ssl as a whole: it holds private keys.
constexpr std::array kNetPaths{
    "/etc/resolv.conf", "/etc/hosts",     "/etc/host.conf",       "/etc/nsswitch.conf",
    "/etc/gai.conf",    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/usr/share/ca-certificates"};

Error system_error(std::string_view call) { return fs::error_of(errno, "calling", call); }

std::vector<std::string> readable_paths(const SandboxSpec& spec) {
  std::vector<std::string> paths = spec.readable_paths;
  paths.insert(paths.end(), kLoaderPaths.begin(), kLoaderPaths.end());
  if (spec.profile == Profile::net) paths.insert(paths.end(), kNetPaths.begin(), kNetPaths.end());
  if constexpr (detail::kHasSanitizer) {  // for their reports: own mappings, own symbols
    std::error_code ignored;
    paths.emplace_back("/proc");
    paths.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string());
  }
  // Under the name that was given and under its real one, which the loader may use.
  for (std::size_t i = paths.size(); i-- > 0;) {
    std::error_code error;
    const auto real = std::filesystem::canonical(paths[i], error);
    if (!error && real != paths[i]) paths.push_back(real.string());
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Status write_kernel_file(const char* path, std::string_view text) {
  const fs::FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return fs::error_of(errno, "opening", path);
  if (write(file.get(), text.data(), text.size()) < 0) return fs::error_of(errno, "writing", path);
  return ok();
}

// A new user namespace knows no user, and without one nothing can be created, not even the private root. Not
// done before exec: the daemon is not dumpable, so there the files in /proc/self belong to root. Inside the
// user is nobody: as 0 it would get capabilities by exec.
Status name_user_in_namespace() {
  const char* outer = std::getenv(detail::kOuterIdsVariable);
  const auto ids = text::split(outer == nullptr ? "" : outer, ' ');
  if (ids.size() != 2) {
    return fail(Code::invalid, "environment variable {}: expected UID GID", detail::kOuterIdsVariable);
  }
  SLIPWAY_TRY(write_kernel_file("/proc/self/setgroups", "deny"));
  SLIPWAY_TRY(write_kernel_file("/proc/self/uid_map", message("65534 {} 1", ids[0])));
  return write_kernel_file("/proc/self/gid_map", message("65534 {} 1", ids[1]));
}

Status set_limit(__rlimit_resource_t resource, std::uint64_t value) {
  const rlimit both{value, value};
  if (setrlimit(resource, &both) != 0) return system_error("setrlimit");
  return ok();
}

Result<std::string> set_limits(const SandboxLimits& limits) {
  SLIPWAY_TRY(set_limit(RLIMIT_CORE, 0));
  SLIPWAY_TRY(set_limit(RLIMIT_NOFILE, limits.open_files));
  // No file can be opened for writing anyway; but messages may go to one that was given as stderr.
  struct stat error_output {};
  const bool writes_file = fstat(STDERR_FILENO, &error_output) == 0 && S_ISREG(error_output.st_mode);
  if (!writes_file) SLIPWAY_TRY(set_limit(RLIMIT_FSIZE, 0));
  // Sanitizers reserve terabytes.
  if constexpr (detail::kHasSanitizer) return "limits without memory (sanitizer)";
  SLIPWAY_TRY(set_limit(RLIMIT_DATA, limits.memory_bytes));
  return "limits";
}

// Capabilities of the namespace, or of the machine where there is none; also those that exec would give.
Result<std::string> drop_capabilities() {
  constexpr int kMaxCapability = 63;
  for (int capability = 0; capability <= kMaxCapability; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);  // who has no CAP_SETPCAP also has none to drop
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) != 0) return system_error("capset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("prctl(PR_SET_NO_NEW_PRIVS)");
  return "no capabilities, no new privileges";
}

struct sigaction abort_action_before {};  // set once, before the handler is

extern "C" void end_by_abort(int signal, siginfo_t* info, void* context) {
  const auto& before = abort_action_before;  // a crash handler's report
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
  }
  _exit(detail::kAbortExitCode);
}

// The kernel ignores a deadly signal that process 1 of a pid namespace sends to itself, so abort() would end
// it by an illegal instruction, and the report would name that.
Status handle_abort() {
  struct sigaction action {};
  action.sa_sigaction = end_by_abort;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGABRT, &action, &abort_action_before) != 0) return system_error("sigaction");
  return ok();
}

// Collects the layers, and what is missing with its reason.
class Layers {
 public:
  void add(std::string_view name, Result<std::string> layer) {
    if (layer) {
      report_.layers.push_back(*std::move(layer));
    } else {
      report_.missing.push_back(message("{}: {}", name, layer.error().message));
    }
  }
  Result<SandboxReport> report(SandboxMode mode) && {
    if (mode == SandboxMode::require && !report_.missing.empty()) {
      return fail(Code::unsupported,
                  "the sandbox lacks {}; set plugins.sandbox = best-effort to run plugins without",
                  text::join(report_.missing, "; "));
    }
    return std::move(report_);
  }

 private:
  SandboxReport report_;
};

// What the spawner did, seen from here.
void add_namespaces(Layers& layers, Profile profile) {
  const auto users = fs::read_file("/proc/self/uid_map", kMaxProcFile);
  const bool has_user_namespace = users && users->empty();
  const auto absent = [](std::string_view why) { return fail(Code::unsupported, "{}", why); };
  if (!has_user_namespace) {
    layers.add("user namespace", absent("not allowed here"));
  } else if (auto named = name_user_in_namespace(); !named) {
    layers.add("user namespace", std::move(named).error());
  } else {
    layers.add("", std::string("user namespace"));
  }
  if (getpid() != 1) {
    layers.add("pid, mount, ipc and net namespaces", absent("not allowed here"));
    return;
  }
  layers.add("", std::string(profile == Profile::net ? "pid, mount and ipc namespaces"
                                                     : "pid, mount, ipc and net namespaces"));
}

Result<SandboxReport> report_of_system() {
  SandboxReport report;
  SLIPWAY_TRY(const auto memberships, fs::read_file("/proc/self/cgroup", kMaxProcFile));
  const bool has_cgroup = memberships.find(message("/{}", kPidsCgroupPrefix)) != std::string::npos;
  (has_cgroup ? report.layers : report.missing).emplace_back("pids cgroup");
  return report;
}

}  // namespace

Result<SandboxReport> enter_sandbox(const SandboxSpec& spec) {
  if (spec.profile == Profile::unknown) return fail(Code::invalid, "profile: expected pure, net or system");
  if (spec.profile == Profile::system) return report_of_system();

  Layers layers;
  const auto paths = readable_paths(spec);
  const bool is_init = getpid() == 1;
  add_namespaces(layers, spec.profile);
  unsetenv(detail::kOuterIdsVariable);
  if (is_init) {
    SLIPWAY_TRY(handle_abort());
    layers.add("private root", detail::enter_private_root(paths));
  }
  layers.add("limits", set_limits(spec.limits));
  layers.add("no capabilities", drop_capabilities());
  layers.add("landlock", detail::restrict_by_landlock(paths, spec.profile == Profile::pure));
  layers.add("seccomp", detail::filter_system_calls(spec.profile));
  return std::move(layers).report(spec.mode);
}

}  // namespace slipway::plugin
