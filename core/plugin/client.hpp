// SPDX-License-Identifier: Apache-2.0
// client.hpp - calls with types: a request's type names the method and its reply. Thread-safe as the instance
// is.
#pragma once

#include "base/stop.hpp"
#include "plugin/instance.hpp"

#include <slipway/codec.hpp>
#include <slipway/messages.hpp>

#include <optional>
#include <utility>

namespace slipway::plugin {

// A reply that cannot be read is a bug of the plugin: internal. What was asked for may have happened, so its
// outcome stays unknown (EXACTLY_ONCE: a 2xx without an id).
template <Request R>
[[nodiscard]] Result<typename R::Reply> read_reply(slipway_status status, std::string_view body) {
  if (status != SLIPWAY_OK) return decode_error(status, body);
  auto reply = decode<typename R::Reply>(body);
  if (reply) return reply;
  return fail(Code::internal, "the plugin's reply to {} cannot be read: {}", R::method,
              reply.error().message);
}

template <Request R>
TicketId call(PluginInstance& instance, const R& request, Deadline deadline, Done<typename R::Reply> done) {
  return instance.call({std::string(R::method), encode(request), deadline},
                       [done = std::move(done)](slipway_status status, const std::string& body) {
                         done(read_reply<R>(status, body));
                       });
}

// Waits for it: for tests and for `slipway plugin`, never on an executor of the instance.
template <Request R>
[[nodiscard]] Result<typename R::Reply> call_and_wait(PluginInstance& instance, const Clock& clock,
                                                      const R& request,
                                                      Deadline deadline = Deadline::never()) {
  Event has_ended(clock);
  std::optional<Result<typename R::Reply>> end;
  call<R>(instance, request, deadline, [&](Result<typename R::Reply> reply) {
    end.emplace(std::move(reply));
    has_ended.set();
  });
  static_cast<void>(has_ended.wait(Deadline::never()));
  return *std::move(end);
}

}  // namespace slipway::plugin
