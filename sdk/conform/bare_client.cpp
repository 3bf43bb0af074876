// SPDX-License-Identifier: Apache-2.0
#include "conform/bare_client.hpp"

#include "base/fs.hpp"
#include "conform/line_channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace slipway::conform {

namespace {

constexpr int kPatienceMs = 30'000;

Unmet process_failed(std::string what) {
  return Unmet(std::move(what))
      .why("with such a plugin a host would lose the process that it runs in")
      .look_at("create, destroy and the methods, called one after the other")
      .to_do("let no signal, no exception and no exit out of the plugin, and complete every call");
}

}  // namespace

BareSpec bare_spec(const Bench& bench, BareJob job) {
  BareSpec spec;
  spec.job = job;
  spec.library = bench.library;
  spec.create.settings = bench.config.settings;
  spec.create.environment = {"conform", "00000000-0000-4000-8000-000000000001"};
  spec.create.controller = "00000000-0000-4000-8000-000000000002";
  spec.create.plugin_dir = bench.directory;
  spec.sandbox = {.profile = bench.manifest.profile,
                  .mode = bench.options.sandbox,
                  .readable_paths = {bench.directory},
                  .limits = {}};
  if (bench.options.in_process) spec.sandbox.readable_paths.clear();
  return spec;
}

Result<BareOutcome> run_bare(Bench& bench, const BareSpec& spec) {
  BareOutcome outcome;
  if (bench.options.in_process) {
    outcome.report = run_bare(spec, [&] { outcome.usages.push_back(usage_of(::getpid())); });
    return outcome;
  }
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return fs::error_of(errno, "making a socket for", spec.library);
  }
  const fs::FileDescriptor ours(pair[0]);
  fs::FileDescriptor theirs(pair[1]);
  const std::filesystem::path host = bench.options.host_program;
  SLIPWAY_TRY(auto child, bench.spawner.spawn({.program = host.parent_path() / "slipway-conform-child",
                                               .profile = spec.sandbox.profile,
                                               .mode = spec.sandbox.mode,
                                               .channel_fd = theirs.get()}));
  theirs.close();
  LineChannel channel(ours.get());
  static_cast<void>(channel.write(encode(spec)));
  while (const auto line = channel.read(kPatienceMs)) {
    if (*line != "measure") {
      SLIPWAY_TRY(outcome.report, decode<BareReport>(*line));
      return outcome;
    }
    outcome.usages.push_back(usage_of(child.pid()));
    static_cast<void>(channel.write(""));
  }
  if (const auto end =
          child.wait(bench.clock, Deadline::after(bench.clock, std::chrono::milliseconds(100)))) {
    return process_failed(message("the plugin was loaded and used; its process {}", end->text));
  }
  child.kill();
  return process_failed(
      message("the plugin was loaded and used; its process said nothing for {} s", kPatienceMs / 1000));
}

}  // namespace slipway::conform
