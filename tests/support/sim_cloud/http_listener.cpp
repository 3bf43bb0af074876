// SPDX-License-Identifier: Apache-2.0
#include "support/sim_cloud/http_listener.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

namespace slipway::sim {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::use_awaitable;
using asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;

constexpr std::uint64_t kMaxBodyBytes = SLIPWAY_MESSAGE_MAX_BYTES;
constexpr std::uint32_t kMaxHeaderBytes = 16'384;

http::response<http::string_body> response_of(HttpAnswer&& answer, const Parser& parser) {
  http::response<http::string_body> out(static_cast<http::status>(answer.status), parser.get().version());
  out.set(http::field::content_type, answer.content_type);
  if (answer.retry_after_s) out.set(http::field::retry_after, std::to_string(*answer.retry_after_s));
  out.keep_alive(parser.get().keep_alive());
  out.body() = std::move(answer.body);
  out.prepare_payload();
  return out;
}

asio::awaitable<void> read(tcp::socket& socket, boost::beast::flat_buffer& buffer, Parser& parser) {
  parser.body_limit(kMaxBodyBytes);
  parser.header_limit(kMaxHeaderBytes);
  co_await http::async_read_header(socket, buffer, parser, use_awaitable);
  if (parser.get()[http::field::expect] == "100-continue") {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    co_await http::async_write(socket, go_on, use_awaitable);
  }
  co_await http::async_read(socket, buffer, parser, use_awaitable);
}

// Until the client or an answer that is dropped ends it. Asio says by exceptions that a connection ended.
asio::awaitable<void> serve_connection(tcp::socket socket, const HttpListener::Serve& serve) {
  boost::system::error_code ec;
  socket.set_option(tcp::no_delay(true), ec);
  boost::beast::flat_buffer buffer;
  try {
    while (true) {
      Parser parser;
      co_await read(socket, buffer, parser);
      const auto& request = parser.get();
      HttpAnswer answer = serve({std::string(request.method_string()), std::string(request.target()),
                                 std::string(request[http::field::authorization]), request.body()});
      if (answer.due_ms > 0) {
        asio::system_timer timer(socket.get_executor());
        timer.expires_at(std::chrono::system_clock::time_point(std::chrono::milliseconds(answer.due_ms)));
        co_await timer.async_wait(use_awaitable);
      }
      if (answer.is_dropped) break;
      const auto response = response_of(std::move(answer), parser);
      co_await http::async_write(socket, response, use_awaitable);
      if (response.need_eof()) break;
    }
  } catch (const boost::system::system_error&) {
  }
  socket.shutdown(tcp::socket::shutdown_both, ec);
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, const HttpListener::Serve& serve) {
  while (true) {
    auto [ec, socket] = co_await acceptor.async_accept(asio::as_tuple(use_awaitable));
    if (ec == asio::error::operation_aborted) co_return;
    if (!ec)
      asio::co_spawn(acceptor.get_executor(), serve_connection(std::move(socket), serve), asio::detached);
  }
}

}  // namespace

struct HttpListener::Loop {
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
};

HttpListener::HttpListener(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpListener::~HttpListener() = default;

Result<std::unique_ptr<HttpListener>> HttpListener::open(std::uint16_t port) {
  auto loop = std::make_unique<Loop>();
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  boost::system::error_code ec;
  loop->acceptor.open(endpoint.protocol(), ec);
  if (!ec) loop->acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) loop->acceptor.bind(endpoint, ec);
  if (!ec) loop->acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return fail(Code::unavailable, "port {} on loopback: {}", port, ec.message());
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(loop)));
}

std::uint16_t HttpListener::port() const { return loop_->acceptor.local_endpoint().port(); }

void HttpListener::run(const Serve& serve, bool ends_with_stdin) {
  asio::io_context& io = loop_->io;
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) { io.stop(); });
  asio::posix::stream_descriptor input(io);
  std::array<char, 64> ignored{};
  std::function<void()> read_input = [&] {
    input.async_read_some(asio::buffer(ignored), [&](const boost::system::error_code& ec, std::size_t) {
      ec ? io.stop() : read_input();
    });
  };
  if (ends_with_stdin) {
    input.assign(::dup(STDIN_FILENO));
    read_input();
  }
  asio::co_spawn(io, accept_all(loop_->acceptor, serve), asio::detached);
  io.run();
}

}  // namespace slipway::sim
