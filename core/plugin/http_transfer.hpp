// SPDX-License-Identifier: Apache-2.0
// http_transfer.hpp - one request on its way through libcurl: options, callbacks, and what its end means.
// Here is decided what was sent and that nothing is sent twice. One owner: the service's thread.
#pragma once

#include "base/clock.hpp"
#include "plugin/http_reply.hpp"
#include "plugin/http_request.hpp"

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace slipway::plugin {

class HttpTransfer {
 public:
  // `clock` outlives the transfer. Nothing happens before the handle is given to a multi handle; it must be
  // taken out of that before the transfer is destroyed.
  HttpTransfer(PreparedRequest request, std::shared_ptr<const HttpScope> scope, const Clock& clock,
               Deadline deadline);
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;
  ~HttpTransfer();

  [[nodiscard]] CURL* handle() const { return handle_; }
  // True from the moment at which the first byte of the request may have gone out.
  [[nodiscard]] bool was_sent() const { return sendings_ > 0; }
  // What libcurl's end of the transfer means. Once.
  [[nodiscard]] Result<RawHttpReply> finish(CURLcode code);

 private:
  void set_target();
  void set_request();
  void set_callbacks();

  int on_ready_to_send(const char* address);
  curl_socket_t on_open_socket(const curl_sockaddr& address);
  std::size_t on_read(char* out, std::size_t size);
  int on_seek(curl_off_t offset);
  std::size_t on_header(std::string_view line);
  std::size_t on_body(std::string_view bytes);

  [[nodiscard]] Error failure(CURLcode code) const;

  PreparedRequest request_;
  std::shared_ptr<const HttpScope> scope_;
  const Clock& clock_;
  const Deadline deadline_;
  CURL* handle_;
  curl_slist* header_lines_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> curl_words_{};

  unsigned sendings_ = 0;
  unsigned opened_sockets_ = 0;
  std::optional<Error> refusal_;  // by a callback, which can tell libcurl only that it failed
  std::size_t read_bytes_ = 0;    // of the body
  bool are_headers_complete_ = false;
  RawHttpReply reply_;
};

}  // namespace slipway::plugin
