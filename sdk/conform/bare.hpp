// SPDX-License-Identifier: Apache-2.0
// bare.hpp - the plugin's C table called as abi.h says, without the host's own care in between: what
// describe, create, call and destroy do by themselves. Runs in slipway-conform-child (or in this process,
// with
// --in-process), one thing at a time.
#pragma once

#include "plugin/open_message.hpp"

#include <slipway/messages/manifest.hpp>

#include <functional>
#include <string>
#include <vector>

namespace slipway::conform {

enum class BareJob {
  table,     // entry and its table
  describe,  // twice
  rounds,    // create, calls, destroy, again and again
  refuse     // create with wrong settings
};
BOOST_DESCRIBE_ENUM(BareJob, table, describe, rounds, refuse)

struct BareSpec {
  BareJob job = BareJob::table;
  std::string library;
  plugin::SandboxSpec sandbox;  // of the child
  CreateMessage create;
  std::vector<json::value> wrong_settings;  // of refuse
  std::vector<std::string> methods;         // called in each round, with {}
  unsigned warm_up = 20;                    // rounds before the first measurement
  unsigned rounds = 100;
};
BOOST_DESCRIBE_STRUCT(BareSpec, (), (job, library, sandbox, create, wrong_settings, methods, warm_up, rounds))

struct BareReport {
  std::vector<std::string> problems;  // what broke the contract
  std::string description;            // of describe
  std::vector<Error> refusals;        // of refuse, one for each wrong_settings
  std::string printed;                // to stdout and stderr, in rounds
};
BOOST_DESCRIBE_STRUCT(BareReport, (), (problems, description, refusals, printed))

// What a process has.
struct Usage {
  unsigned threads = 0;
  unsigned descriptors = 0;
  std::uint64_t memory_kib = 0;  // anonymous and resident
};
[[nodiscard]] Usage usage_of(int pid);

// Loads the library and does the job. `measure` is called before and after the rounds. Whatever the plugin
// does to the process, it does to this one.
[[nodiscard]] BareReport run_bare(const BareSpec& spec, const std::function<void()>& measure);

// The main function of slipway-conform-child: spec and report over descriptor 3.
int run_bare_child();

}  // namespace slipway::conform
