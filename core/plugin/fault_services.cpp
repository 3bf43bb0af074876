// SPDX-License-Identifier: Apache-2.0
#include "plugin/fault_services.hpp"

#include <slipway/codec.hpp>

#include <fnmatch.h>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace slipway::plugin {

namespace {

bool fits(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

void end(const RawDone& done, const Error& error) {
  done(static_cast<slipway_status>(error.code), encode_error(error));
}

}  // namespace

struct FaultServices::State : std::enable_shared_from_this<State> {
  State(HostServices& services, Executor& timers) : inner(services), executor(timers) {}

  // What holds an answer back; true: somebody else ends the call.
  void hold(std::uint64_t id, RawDone done) {
    const std::lock_guard lock(mutex);
    held.emplace(id, std::move(done));
  }
  std::optional<RawDone> take(std::uint64_t id) {
    const std::lock_guard lock(mutex);
    const auto found = held.find(id);
    if (found == held.end()) return std::nullopt;
    RawDone done = std::move(found->second);
    held.erase(found);
    return done;
  }

  std::optional<Fault> fault_of(const HttpCallRequest& request) {
    const std::lock_guard lock(mutex);
    ++requests;
    for (auto& [fault, count] : faults) {
      if (fault.only_once && !request.once) continue;
      if (!fits(fault.verb, request.verb) || !fits(fault.url, request.url)) continue;
      ++count;
      if (fault.nth != 0 && fault.nth != count) continue;
      ++applied;
      return fault;
    }
    return std::nullopt;
  }

  void apply(const Fault& fault, ServiceCall call, RawDone done) {
    switch (fault.kind) {
      case FaultKind::drop_before:
        return end(done,
                   fail(Code::unavailable, "the connection was refused (a fault on purpose)").rejected());
      case FaultKind::drop_after:
        return inner.call(std::move(call), [done = std::move(done)](slipway_status, const std::string&) {
          end(done, fail(Code::unavailable, "the connection dropped before an answer (a fault on purpose)"));
        });
      case FaultKind::hang:
        return hold(call.id, std::move(done));
      case FaultKind::answer:
        return done(SLIPWAY_OK, encode(fault.reply));
      case FaultKind::delay:
        return inner.call(std::move(call), std::move(done));
    }
  }

  HostServices& inner;
  Executor& executor;
  mutable std::mutex mutex;                        // guards what follows
  std::vector<std::pair<Fault, unsigned>> faults;  // and how many requests each has fitted
  std::unordered_map<std::uint64_t, RawDone> held;
  unsigned applied = 0;
  unsigned requests = 0;
};

FaultServices::FaultServices(HostServices& inner, Executor& executor)
    : state_(std::make_shared<State>(inner, executor)) {}

FaultServices::~FaultServices() {
  std::unordered_map<std::uint64_t, RawDone> held;
  {
    const std::lock_guard lock(state_->mutex);
    held.swap(state_->held);
  }
  for (const auto& [id, done] : held) end(done, fail(Code::cancelled, "the host's services ended"));
}

void FaultServices::set(std::vector<Fault> faults) {
  const std::lock_guard lock(state_->mutex);
  state_->faults.clear();
  for (Fault& fault : faults) state_->faults.emplace_back(std::move(fault), 0);
  state_->applied = 0;
}

unsigned FaultServices::applied() const {
  const std::lock_guard lock(state_->mutex);
  return state_->applied;
}

unsigned FaultServices::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

void FaultServices::call(ServiceCall call, RawDone done) {
  const auto request = decode<HttpCallRequest>(call.body);
  if (call.method != HttpCallRequest::method || !request) {
    return state_->inner.call(std::move(call), std::move(done));
  }
  const std::optional<Fault> fault = state_->fault_of(*request);
  if (!fault) return state_->inner.call(std::move(call), std::move(done));
  if (fault->delay.count() == 0) return state_->apply(*fault, std::move(call), std::move(done));
  const std::uint64_t id = call.id;
  state_->hold(id, std::move(done));
  state_->executor.post_after(fault->delay,
                              [state = state_, fault = *fault, call = std::move(call)]() mutable {
                                if (auto held = state->take(call.id))
                                  state->apply(fault, std::move(call), *std::move(held));
                              });
}

void FaultServices::cancel(std::uint64_t id) {
  if (const auto held = state_->take(id)) {
    return end(*held, fail(Code::cancelled, "cancelled while the answer was awaited (a fault on purpose)"));
  }
  state_->inner.cancel(id);
}

void FaultServices::notify(std::uint64_t call, std::string_view topic, std::string_view body) {
  state_->inner.notify(call, topic, body);
}

}  // namespace slipway::plugin
