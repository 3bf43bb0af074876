// SPDX-License-Identifier: Apache-2.0
// http_service.hpp - http.request/1 for all instances (DESIGN 4.3): one thread over libcurl's multi interface
// with one pool of connections, and one request budget for each credential and host. HTTP/1.1, redirects off,
// TLS verified, a proxy only if a setting names it.
//
// What a failure proves. `rejected`: no byte of the request was sent (refused here, no connection, no token
// in time, not_after_ns passed); libcurl says so by a callback between "connected" and "sending". All else is
// `unknown`. A request marked once is sent once: libcurl repeats a request whose reused connection dropped
// before an answer, so such a request gets no second sending (http_transfer.cpp).
//
// Errors: invalid (the request cannot be sent as it is, a secret's name is missing), denied (the target is
// against a rule, with the setting to change; the certificate is not trusted), unavailable (no answer),
// deadline (the call's; unknown if it was sent), cancelled. No text holds a secret or a query.
#pragma once

#include "base/metrics.hpp"
#include "base/token_bucket.hpp"
#include "plugin/http_scope.hpp"

#include <cstdint>
#include <memory>

namespace slipway::plugin {

// Thread-safe. Outlives nothing: scopes are shared, callers cancel what they no longer want.
class HttpService {
 public:
  // Starts the thread. `clock` runs as the machine's does; it and `metrics` outlive the service. Fails if
  // libcurl is not usable or the metrics are taken.
  [[nodiscard]] static Result<std::unique_ptr<HttpService>> start(const Clock& clock, Metrics& metrics,
                                                                  TokenBucket::Budget budget = {});
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  // Ends open requests with `cancelled` and waits until no completion runs. Not from a completion.
  ~HttpService();

  // `parent`: the host's call that it is made for, or 0 (CreateToken). The secrets are read before this
  // returns. Waits for the budget (and for Retry-After) until the deadline or not_after_ns, then is
  // `unavailable`, rejected, with retry_after_ms; a request that spends a CreateToken does not wait. `done`:
  // on the service's thread, or before this returns. The id is never 0 nor used again.
  std::uint64_t request(HttpCallRequest request, std::shared_ptr<const HttpScope> scope, std::uint64_t parent,
                        Deadline deadline, Done<HttpCallReply> done);
  // The request is completed soon, with cancelled (unknown if it was sent) or what its end was. An id that is
  // not open is ignored.
  void cancel(std::uint64_t id);

  // A token of the budget that the scope's next create draws on. unavailable, rejected, with retry_after_ms:
  // none is there now. Never blocks.
  [[nodiscard]] Result<CreateToken> try_acquire_for_create(std::shared_ptr<const HttpScope> scope);

 private:
  struct Impl;
  explicit HttpService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::plugin
