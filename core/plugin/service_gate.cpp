// SPDX-License-Identifier: Apache-2.0
#include "plugin/service_gate.hpp"

#include "plugin/frame.hpp"

#include <slipway/codec.hpp>

#include <atomic>
#include <utility>

namespace slipway::plugin {

void ServiceGate::call(ServiceRequest request, RawDone done) {
  const auto refuse = [&](const Error& error) {
    done(static_cast<slipway_status>(error.code), encode_error(error));
  };
  if (request.flags != 0) {
    bad_request_();
    return refuse(
        fail(Code::unsupported, "{}: flags {} are not known to this host", request.method, request.flags)
            .rejected());
  }
  if (request.method.empty() || request.method.size() > kMaxMethodBytes || request.deadline_ns < 0) {
    bad_request_();
    return refuse(fail(Code::invalid,
                       "a service call needs a method of 1 to {} bytes, and a deadline that is not negative",
                       kMaxMethodBytes)
                      .rejected());
  }
  // Numbers of the process: several instances, one after the other or side by side, may share their services.
  static std::atomic<std::uint64_t> next{1};
  const std::uint64_t id = next++;
  const std::uint64_t parent = request.parent;
  const std::size_t size = request.method.size() + request.body.size();
  const auto bound = calls_->add_service(parent, id, size);
  if (!bound) return refuse(Error(bound.error()).within(request.method));
  const Deadline own = request.deadline_ns == 0 ? Deadline::never() : Deadline::at_ns(request.deadline_ns);
  services_.call(
      {id, parent, own.sooner(*bound), std::move(request.method), std::move(request.body)},
      [calls = calls_, parent, id, size, done = std::move(done)](slipway_status status, std::string body) {
        calls->remove_service(parent, id, size);
        if (body.size() <= SLIPWAY_MESSAGE_MAX_BYTES) return done(status, std::move(body));
        const Error error = fail(Code::internal, "the service's reply has {} bytes, at most {} are taken",
                                 body.size(), SLIPWAY_MESSAGE_MAX_BYTES);
        done(SLIPWAY_INTERNAL, encode_error(error));
      });
}

}  // namespace slipway::plugin
