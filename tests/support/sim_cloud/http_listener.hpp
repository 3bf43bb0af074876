// SPDX-License-Identifier: Apache-2.0
// http_listener.hpp - HTTP/1.1 on loopback for a function from request to answer: keep-alive, many
// connections, answers that wait for their time, connections that end without one. Everything runs on the
// thread that calls run().
#pragma once

#include "support/sim_cloud/service.hpp"

#include <functional>
#include <memory>

namespace slipway::sim {

class HttpListener {
 public:
  using Serve = std::function<HttpAnswer(const HttpAsk&)>;

  // `port` 0: any free one.
  static Result<std::unique_ptr<HttpListener>> open(std::uint16_t port);
  ~HttpListener();

  [[nodiscard]] std::uint16_t port() const;

  // Until SIGTERM or SIGINT; with `ends_with_stdin` also until the standard input ends, so that it does not
  // stay when the test that started it dies.
  void run(const Serve& serve, bool ends_with_stdin);

 private:
  struct Loop;
  explicit HttpListener(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace slipway::sim
