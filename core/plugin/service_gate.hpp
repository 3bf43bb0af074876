// SPDX-License-Identifier: Apache-2.0
// service_gate.hpp - where a plugin's calls to its host come in, from the C table or from a frame: they are
// held against abi.h, bounded in number and by the call that they are made for, and handed to the services.
#pragma once

#include "plugin/call_table.hpp"
#include "plugin/services.hpp"

#include <memory>

namespace slipway::plugin {

// As it came: nothing of it is believed yet.
struct ServiceRequest {
  std::uint32_t flags = 0;
  std::uint64_t parent = 0;
  std::int64_t deadline_ns = 0;
  std::string method;
  std::string body;
};

// Thread-safe. `services` outlives it.
class ServiceGate {
 public:
  // `bad_request` is told of each call that breaks abi.h.
  ServiceGate(HostServices& services, std::shared_ptr<CallTable> calls, std::function<void()> bad_request)
      : services_(services), calls_(std::move(calls)), bad_request_(std::move(bad_request)) {}

  // `done` exactly once, on any thread.
  void call(ServiceRequest request, RawDone done);

 private:
  HostServices& services_;
  const std::shared_ptr<CallTable> calls_;
  const std::function<void()> bad_request_;
};

}  // namespace slipway::plugin
