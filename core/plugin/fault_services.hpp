// SPDX-License-Identifier: Apache-2.0
// fault_services.hpp - makes a plugin's HTTP requests fail on purpose, over whatever stands behind: refused
// before anything is sent, answer lost, late, another status. A decorator over HostServices, for the
// conformance kit and for tests.
#pragma once

#include "base/executor.hpp"
#include "plugin/services.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

enum class FaultKind {
  drop_before,  // the connection is refused: nothing reaches the cloud, rejected
  drop_after,   // the request reaches the cloud and its answer is lost: unknown
  hang,         // no answer until the call is given up
  answer,       // the given answer, nothing reaches the cloud
  delay         // as it is, but later
};
BOOST_DESCRIBE_ENUM(FaultKind, drop_before, drop_after, hang, answer, delay)

struct Fault {
  FaultKind kind = FaultKind::drop_before;
  std::string verb = "*";  // patterns with * and ?
  std::string url = "*";
  bool only_once = false;              // only what is marked once
  unsigned nth = 0;                    // the nth request that fits, from 1; 0: each
  std::chrono::milliseconds delay{0};  // before the answer; of hang: none
  HttpCallReply reply = {};            // of answer
};

// Thread-safe. References outlive it. The destructor ends what hangs.
class FaultServices final : public HostServices {
 public:
  FaultServices(HostServices& inner, Executor& executor);
  ~FaultServices() override;

  // From now on; the first that fits a request is applied to it. Counting starts anew.
  void set(std::vector<Fault> faults);
  // Requests that some fault was applied to, since set().
  [[nodiscard]] unsigned applied() const;
  // HTTP requests that the plugin made, since the beginning.
  [[nodiscard]] unsigned requests() const;

  void call(ServiceCall call, RawDone done) override;
  void cancel(std::uint64_t id) override;
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with timers and completions, which may come late
};

}  // namespace slipway::plugin
