// SPDX-License-Identifier: Apache-2.0
// services.hpp - what an instance of a plugin may ask its host for (DESIGN 4.3), as interfaces: this module
// knows neither store nor model, so the daemon fills KvStore and SecretSource in. Plugins' calls come as
// bytes (a channel hands them over); InstanceServices decodes, dispatches and encodes.
#pragma once

#include "base/clock.hpp"
#include "base/executor.hpp"
#include "base/secret.hpp"

#include <slipway/messages/host.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace slipway::plugin {

// Called exactly once, on any thread, maybe before the call returns; must not block.
template <class T>
using Done = std::function<void(Result<T>)>;

// The secrets of one instance, by the names that its settings hold. Thread-safe; does not block on a network.
class SecretSource {
 public:
  virtual ~SecretSource() = default;
  // not_found, with the name and never a value.
  [[nodiscard]] virtual Result<Secret> secret(std::string_view name) = 0;
};

// The durable notes of one instance; limits and errors in messages/host.hpp. Thread-safe. A write is durable
// when `done` is called.
class KvStore {
 public:
  virtual ~KvStore() = default;
  virtual void get(KvGetRequest request, Done<KvEntry> done) = 0;
  virtual void put(KvPutRequest request, Done<KvPutReply> done) = 0;
  virtual void remove(KvDeleteRequest request, Done<Unit> done) = 0;
  virtual void list(KvListRequest request, Done<KvListReply> done) = 0;
};

// A plugin's call to its host as a channel hands it over: bounds are applied (the parent's deadline and
// cancellation are in `deadline` and will come as cancel()).
struct ServiceCall {
  std::uint64_t id = 0;      // unique among the open service calls of the instance
  std::uint64_t parent = 0;  // the host's call that it is made for, or 0
  Deadline deadline = Deadline::never();
  std::string method;
  std::string body;
};

// (status, body): a reply as JSON with SLIPWAY_OK, else an error's body. Exactly once, on any thread.
using RawDone = std::function<void(slipway_status status, std::string body)>;

// All services of one instance. Thread-safe. The destructor ends open calls with `cancelled` and waits until
// no completion runs any more.
class HostServices {
 public:
  virtual ~HostServices() = default;
  virtual void call(ServiceCall call, RawDone done) = 0;
  // Gives up an open call: it is completed soon, with cancelled or with what its end is. An id that is not
  // open is ignored.
  virtual void cancel(std::uint64_t id) = 0;
  // Never blocks; may drop under load. `call`: the host's call that it is about, or 0.
  virtual void notify(std::uint64_t call, std::string_view topic, std::string_view body) = 0;
};

}  // namespace slipway::plugin
