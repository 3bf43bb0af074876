// SPDX-License-Identifier: Apache-2.0
// http_transfer.cpp - how nothing is sent twice. libcurl (7.88, Curl_retry_request) repeats a request by
// itself if its connection was a reused one and no byte of an answer came: right for a connection that had
// been closed before, wrong if the server acted and then died, and it cannot know which. A request marked
// once therefore
//   - with a body gives it through a read callback that has no seek callback: libcurl cannot rewind (error
//   65);
//   - without a body takes a fresh connection, on which libcurl does not repeat;
//   - in any case is stopped by the callback before a sending if it was sent before. This covers what the
//   other
//     two leave open (a connection that drops between the header lines and the body) and is also the proof of
//     "not sent": libcurl calls it when the connection stands (TLS included) and before the first byte.
// It also sends no "Expect: 100-continue", the answer 417 to which is another reason for libcurl to repeat.
#include "plugin/http_transfer.hpp"

#include "base/crash.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxReplyHeaderBytes = std::size_t{256} << 10U;
constexpr std::int64_t kNsPerMs = 1'000'000;

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  SLIPWAY_ASSERT(code == CURLE_OK);  // an option that this libcurl does not have: the build asks for 7.88
}

// The list is libcurl's copy of the lines, with the secrets in them. (The buffer that it sends from is
// freed by libcurl and cannot be wiped; the process is not dumpable.)
void wipe_and_free(curl_slist* lines) {
  for (const curl_slist* line = lines; line != nullptr; line = line->next)
    wipe(line->data, std::strlen(line->data));
  curl_slist_free_all(lines);
}

}  // namespace

HttpTransfer::HttpTransfer(PreparedRequest request, std::shared_ptr<const HttpScope> scope,
                           const Clock& clock, Deadline deadline)
    : request_(std::move(request)),
      scope_(std::move(scope)),
      clock_(clock),
      deadline_(deadline),
      handle_(curl_easy_init()) {
  if (handle_ == nullptr) throw std::bad_alloc();
  set_target();
  set_request();
  set_callbacks();
}

HttpTransfer::~HttpTransfer() {
  curl_easy_cleanup(handle_);
  wipe_and_free(header_lines_);
}

void HttpTransfer::set_target() {
  const HttpScopeSettings& settings = scope_->settings();
  set(handle_, CURLOPT_URL, request_.url.text.c_str());
  set(handle_, CURLOPT_PROTOCOLS_STR, scope_->policy().is_http_allowed() ? "http,https" : "https");
  set(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle_, CURLOPT_FOLLOWLOCATION, 0L);
  // Both are set also when they are empty, else libcurl asks the environment.
  set(handle_, CURLOPT_PROXY, settings.proxy.c_str());
  set(handle_, CURLOPT_NOPROXY, "");
  set(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(handle_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(handle_, CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle_, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!settings.ca_file.empty()) {
    set(handle_, CURLOPT_CAINFO, settings.ca_file.c_str());
    set(handle_, CURLOPT_PROXY_CAINFO, settings.ca_file.c_str());
  }
  const std::int64_t left_ms = deadline_.left(clock_).count() / kNsPerMs;
  const std::int64_t whole_ms = std::max<std::int64_t>(std::min(request_.timeout_ms, left_ms), 1);
  set(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(whole_ms));
  set(handle_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout_ms));
  set(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
  set(handle_, CURLOPT_NOSIGNAL, 1L);
  // Giving up a request must not wait for a name server (libcurl joins its resolver's thread otherwise).
  set(handle_, CURLOPT_QUICK_EXIT, 1L);
  set(handle_, CURLOPT_ERRORBUFFER, curl_words_.data());
}

void HttpTransfer::set_request() {
  if (request_.has_body) {
    set(handle_, CURLOPT_UPLOAD, 1L);
    set(handle_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.reveal().size()));
  } else if (request_.verb == "HEAD") {
    set(handle_, CURLOPT_NOBODY, 1L);
  }
  if (request_.verb != "HEAD") set(handle_, CURLOPT_CUSTOMREQUEST, request_.verb.c_str());
  if (request_.is_once && request_.body.is_empty()) set(handle_, CURLOPT_FRESH_CONNECT, 1L);
  set(handle_, CURLOPT_USERAGENT, "slipway");
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(header_lines_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    header_lines_ = longer;
  };
  add("Expect:");
  for (const Secret& line : request_.header_lines) {
    std::string terminated(line.reveal());
    add(terminated);
    const Secret wiped(std::move(terminated));
  }
  request_.header_lines.clear();
  set(handle_, CURLOPT_HTTPHEADER, header_lines_);
}

void HttpTransfer::set_callbacks() {
  using Self = HttpTransfer;
  set(
      handle_, CURLOPT_PREREQFUNCTION, +[](void* self, char* address, char*, int, int) noexcept {
        return static_cast<Self*>(self)->on_ready_to_send(address);
      });
  set(handle_, CURLOPT_PREREQDATA, this);
  set(
      handle_, CURLOPT_OPENSOCKETFUNCTION, +[](void* self, curlsocktype, curl_sockaddr* address) noexcept {
        return static_cast<Self*>(self)->on_open_socket(*address);
      });
  set(handle_, CURLOPT_OPENSOCKETDATA, this);
  set(
      handle_, CURLOPT_READFUNCTION,
      +[](char* out, std::size_t size, std::size_t count, void* self) noexcept {
        return static_cast<Self*>(self)->on_read(out, size * count);
      });
  set(handle_, CURLOPT_READDATA, this);
  if (!request_.is_once) {
    set(
        handle_, CURLOPT_SEEKFUNCTION, +[](void* self, curl_off_t offset, int origin) noexcept {
          return origin == SEEK_SET ? static_cast<Self*>(self)->on_seek(offset) : CURL_SEEKFUNC_FAIL;
        });
    set(handle_, CURLOPT_SEEKDATA, this);
  }
  set(
      handle_, CURLOPT_HEADERFUNCTION,
      +[](char* line, std::size_t size, std::size_t count, void* self) noexcept {
        return static_cast<Self*>(self)->on_header({line, size * count});
      });
  set(handle_, CURLOPT_HEADERDATA, this);
  set(
      handle_, CURLOPT_WRITEFUNCTION,
      +[](char* bytes, std::size_t size, std::size_t count, void* self) noexcept {
        return static_cast<Self*>(self)->on_body({bytes, size * count});
      });
  set(handle_, CURLOPT_WRITEDATA, this);
}

// The connection stands, maybe since an earlier request of another scope, whose policy may be a wider one: so
// the address is judged here too.
int HttpTransfer::on_ready_to_send(const char* address) {
  if (request_.is_once && sendings_ > 0) return CURL_PREREQFUNC_ABORT;
  if (scope_->settings().proxy.empty()) {
    const auto peer = IpAddress::parse(address);
    auto allowed = peer ? scope_->policy().check_address(request_.url, *peer)
                        : Status(fail(Code::denied, "{}: its address \"{}\" cannot be judged",
                                      request_.url.shown(), text::escaped(address))
                                     .rejected());
    if (!allowed) {
      refusal_ = std::move(allowed).error();
      return CURL_PREREQFUNC_ABORT;
    }
  }
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (request_.not_after_ns != 0 && now_ns > request_.not_after_ns) {
    refusal_ = fail(Code::unavailable, "{} {}: not sent, as its time (not_after_ns) passed {} ms before",
                    request_.verb, request_.url.shown(), (now_ns - request_.not_after_ns) / kNsPerMs);
    return CURL_PREREQFUNC_ABORT;
  }
  ++sendings_;
  read_bytes_ = 0;
  return CURL_PREREQFUNC_OK;
}

curl_socket_t HttpTransfer::on_open_socket(const curl_sockaddr& address) {
  if (scope_->settings().proxy.empty()) {
    const auto peer = IpAddress::of(address.addr);
    if (!peer) return CURL_SOCKET_BAD;
    if (auto allowed = scope_->policy().check_address(request_.url, *peer); !allowed) {
      refusal_ = std::move(allowed).error();
      return CURL_SOCKET_BAD;
    }
  }
  const int opened = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (opened < 0) return CURL_SOCKET_BAD;
  ++opened_sockets_;
  return opened;
}

std::size_t HttpTransfer::on_read(char* out, std::size_t size) {
  const std::string_view left = request_.body.reveal().substr(read_bytes_);
  const std::size_t count = std::min(size, left.size());
  std::copy_n(left.data(), count, out);
  read_bytes_ += count;
  return count;
}

int HttpTransfer::on_seek(curl_off_t offset) {
  if (offset < 0 || static_cast<std::size_t>(offset) > request_.body.reveal().size())
    return CURL_SEEKFUNC_FAIL;
  read_bytes_ = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t HttpTransfer::on_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // an interim answer (1xx) may have come before
    reply_.headers.clear();
    are_headers_complete_ = false;
  } else if (are_headers_complete_) {
    return line.size();  // the trailer of a chunked body
  } else if (line == "\r\n" || line == "\n") {
    are_headers_complete_ = true;
  }
  if (reply_.headers.size() + line.size() > kMaxReplyHeaderBytes) {
    refusal_ = fail(Code::unavailable, "{} {}: the headers of the reply are larger than {} bytes",
                    request_.verb, request_.url.shown(), kMaxReplyHeaderBytes);
    return 0;
  }
  reply_.headers.append(line);
  return line.size();
}

std::size_t HttpTransfer::on_body(std::string_view bytes) {
  if (bytes.size() > request_.max_reply_bytes - reply_.body.size()) {
    refusal_ = fail(Code::unavailable,
                    "{} {}: the reply is larger than {} bytes; ask for less at once, or raise "
                    "max_reply_bytes (at most {})",
                    request_.verb, request_.url.shown(), request_.max_reply_bytes, kMaxHttpReplyBytes);
    return 0;
  }
  reply_.body.append(bytes);
  return bytes.size();
}

Result<RawHttpReply> HttpTransfer::finish(CURLcode code) {
  // libcurl takes the end of the connection for the end of the headers.
  if (code == CURLE_OK && !are_headers_complete_) code = CURLE_PARTIAL_FILE;
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    reply_.status = static_cast<std::uint32_t>(status);
    return std::move(reply_);
  }
  Error error = failure(code);
  error.outcome = was_sent() ? Outcome::unknown : Outcome::rejected;
  return error;
}

Error HttpTransfer::failure(CURLcode code) const {
  // With several addresses, one that was refused is not the reason if another was tried.
  if (refusal_ && (code != CURLE_COULDNT_CONNECT || opened_sockets_ == 0)) return *refusal_;
  const std::string what = message("{} {}", request_.verb, request_.url.shown());
  const std::string words =
      text::escaped(curl_words_[0] != '\0' ? curl_words_.data() : curl_easy_strerror(code));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      // libcurl counts whole milliseconds.
      if (deadline_.left(clock_) <= std::chrono::milliseconds(1))
        return fail(Code::deadline, "{}: the call's time is over: {}", what, words);
      return fail(Code::unavailable, "{}: {}", what, words);
    case CURLE_PEER_FAILED_VERIFICATION:
      return fail(
          Code::denied,
          "{}: the server's certificate is not trusted: {}; put the CA that signed it into a file and name "
          "it in {}",
          what, words, kEndpointCaSetting);
    case CURLE_SSL_CACERT_BADFILE:
      return fail(Code::invalid, "{}: no CA certificates can be read from \"{}\" ({})", what,
                  scope_->settings().ca_file, kEndpointCaSetting);
    case CURLE_COULDNT_RESOLVE_PROXY:
      return fail(Code::unavailable, "{}: {} ({})", what, words, kEndpointProxySetting);
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_SEND_FAIL_REWIND:
      return fail(Code::unavailable, "{}: the connection dropped before an answer; it is not sent again",
                  what);
    default:
      return fail(Code::unavailable, "{}: {}", what, words);
  }
}

}  // namespace slipway::plugin
