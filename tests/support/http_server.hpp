// SPDX-License-Identifier: Apache-2.0
// http_server.hpp - a small HTTP server on loopback that does byte by byte what a test says: answers late,
// half, or not at all. It counts what it got, which is the judge of "sent once". A thread for each
// connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace slipway::testing {

struct ServedRequest {
  std::string head;  // request line and header lines
  std::string body;
  unsigned nth = 0;  // on its connection, from 1

  [[nodiscard]] std::string verb() const { return head.substr(0, head.find(' ')); }
  [[nodiscard]] std::string target() const;
  // The first header of that name (any case); empty without.
  [[nodiscard]] std::string header(std::string_view name) const;
};

struct ServedAnswer {
  std::string bytes;
  bool drops = false;  // the connection, after the bytes
  std::chrono::milliseconds delay{0};
};

// A whole answer with Content-Length; `headers` are lines that end in \r\n.
[[nodiscard]] ServedAnswer answer(unsigned status, std::string_view body, std::string_view headers = "");

// A self-signed certificate for localhost and 127.0.0.1, made once in a process.
struct TlsIdentity {
  std::string certificate_pem;
  std::string key_pem;
};
[[nodiscard]] const TlsIdentity& tls_identity();

class HttpServer {
 public:
  using Handler = std::function<ServedAnswer(const ServedRequest&)>;  // thread-safe
  // Of the head alone: true drops the connection before the body is read.
  using HeadCheck = std::function<bool(const ServedRequest&)>;

  HttpServer(Handler handler, bool has_tls, HeadCheck drops_at_head = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view path = "") const;
  // All heads that came, also of requests that were dropped there.
  [[nodiscard]] std::vector<ServedRequest> requests() const;
  [[nodiscard]] unsigned count(std::string_view verb) const;
  [[nodiscard]] unsigned connections() const { return connections_; }
  // Waits until it has taken so many; false if these were fewer or more.
  [[nodiscard]] bool has_accepted(unsigned connections, std::chrono::milliseconds wait) const;

 private:
  struct Connection;
  void accept_all();
  void serve(Connection& connection);

  Handler handler_;
  HeadCheck drops_at_head_;
  void* tls_ = nullptr;  // SSL_CTX
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<unsigned> connections_{0};
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex served_mutex_;  // guards the two below
  std::vector<ServedRequest> requests_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;  // of the accepting thread, joined after it
  std::thread acceptor_;
};

}  // namespace slipway::testing
