// SPDX-License-Identifier: Apache-2.0
#include "plugin/service_gate.hpp"

#include <slipway/codec.hpp>

#include <utility>

namespace slipway::plugin {

void ServiceGate::call(ServiceRequest request, RawDone done) {
  const auto refuse = [&](const Error& error) {
    done(static_cast<slipway_status>(error.code), encode_error(error));
  };
  if (request.flags != 0) {
    bad_request_();
    return refuse(
        fail(Code::unsupported, "{}: flags {} are not known to this host", request.method, request.flags));
  }
  if (request.method.empty() || request.deadline_ns < 0) {
    bad_request_();
    return refuse(fail(Code::invalid, "a service call needs a method, and a deadline that is not negative"));
  }
  const std::uint64_t id = next_++;
  const std::uint64_t parent = request.parent;
  const auto bound = calls_->add_service(parent, id);
  if (!bound) {
    return refuse(
        fail(Code::cancelled, "{}: the call that it is made for was given up, or has ended", request.method)
            .rejected());
  }
  const Deadline own = request.deadline_ns == 0 ? Deadline::never() : Deadline::at_ns(request.deadline_ns);
  services_.call(
      {id, parent, own.sooner(*bound), std::move(request.method), std::move(request.body)},
      [calls = calls_, parent, id, done = std::move(done)](slipway_status status, std::string body) {
        calls->remove_service(parent, id);
        done(status, std::move(body));
      });
}

}  // namespace slipway::plugin
