// SPDX-License-Identifier: Apache-2.0
// http.hpp - HTTP for plugins through the host, which has the sockets, TLS, the proxy, the rate budget and
// the secrets: HttpClient makes an HttpRequest, sending it gives an HttpReply or an Error. Every status is a
// reply; http_error() says what the usual ones mean. Thread rule: HttpClient is immutable; the others are
// values.
#pragma once

#include <slipway/call.hpp>
#include <slipway/detail/url.hpp>
#include <slipway/messages/host.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway {

struct HttpOptions {
  std::string base_url = {};
  SecretRef bearer = {};  // Authorization: Bearer; at most one of bearer and user
  std::string user = {};  // Authorization: Basic, with the password
  SecretRef password = {};
  std::vector<HttpHeader> headers = {};     // with every request
  std::vector<SecretRef> secrets = {};      // that in_place_of() stands for in these headers
  std::chrono::milliseconds timeout = 30s;  // the whole request; the call's deadline bounds it too
  std::chrono::milliseconds connect_timeout = 5s;
  std::uint64_t max_reply_bytes = std::uint64_t{8} << 20U;
};

struct HttpReply {
  std::uint32_t status = 0;
  std::vector<HttpHeader> headers;  // names in lower case
  std::string body;
  std::optional<std::chrono::milliseconds> retry_after;  // of Retry-After, seconds or date, from now on
  std::chrono::milliseconds elapsed{0};
  std::string request;   // "POST https://api.example/v2/servers", without query: for messages
  std::string url;       // of the request, whole
  bool is_once = false;  // the request was marked once()

  // The first of that name, in any case of letters; empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    for (const HttpHeader& h : headers) {
      if (detail::equals_without_case(h.name, name)) return h.value;
    }
    return {};
  }
  [[nodiscard]] bool is_success() const { return status >= 200 && status <= 299; }

  // The body as a described struct: unknown members are skipped, missing ones keep their default.
  // unavailable: it is something else; after once() it then is unknown whether the cloud did what was asked.
  template <class T>
  [[nodiscard]] Result<T> decode() const {
    auto value = slipway::decode<T>(body);
    if (value) return value;
    return unreadable(value.error().message);
  }
  // For what may or may not be there, as an error's details.
  template <class T>
  [[nodiscard]] T decode_or(T otherwise) const {
    return slipway::decode<T>(body).value_or(std::move(otherwise));
  }
  [[nodiscard]] Result<boost::json::value> json() const { return decode<boost::json::value>(); }

  // The URL behind rel="next" of the header Link (RFC 8288); empty: there is none.
  [[nodiscard]] std::string next_link() const { return detail::link_with_relation(header("link"), "next"); }

 private:
  [[nodiscard]] Error unreadable(std::string_view why) const {
    if (is_once && is_success()) {
      return fail(
          Code::unavailable,
          "{} was answered with {} and a body that cannot be read, so it is unknown what was made: {}",
          request, status, why);
    }
    return fail(Code::unavailable, "{} was answered with {} and a body that cannot be read: {}", request,
                status, why);
  }
};

// Where the host is to put a secret into a header or a text body: {{"password",
// in_place_of(config.password)}}, with with_secret(config.password) on the same request.
[[nodiscard]] inline std::string in_place_of(const SecretRef& ref) { return "${secret:" + ref.value + "}"; }

// One request, built step by step: http.post("servers").header("X", "1").json(...).once().send(call). Steps
// give a value, not a reference, so that `request = std::move(request).query("a", b)` is no self-move.
class HttpRequest {
 public:
  explicit HttpRequest(HttpCallRequest message) : message_(std::move(message)) {}

  HttpRequest header(std::string name, std::string value) && {
    message_.headers.push_back({std::move(name), std::move(value)});
    return std::move(*this);
  }

  // Encoded and appended. Text, numbers, booleans, enumerators; an empty text or optional is left out.
  template <class T>
  HttpRequest query(std::string_view name, const T& value) && {
    if constexpr (detail::is_optional<T>) {
      return value ? std::move(*this).query(name, *value) : std::move(*this);
    } else {
      std::string text;
      if constexpr (std::is_same_v<T, bool>) {
        text = value ? "true" : "false";
      } else {
        detail::append_text(text, value);
      }
      if (!text.empty()) detail::append_query(message_.url, name, text);
      return std::move(*this);
    }
  }

  // {{"name", r.name}, {"plan", r.type}}, any JSON value, or a described struct by to_json().
  HttpRequest json(const boost::json::value& value) && {
    return std::move(*this).body(boost::json::serialize(value), "application/json");
  }
  // UTF-8.
  HttpRequest body(std::string text, std::string content_type) && {
    message_.body = std::move(text);
    return std::move(*this).header("Content-Type", std::move(content_type));
  }
  // What in_place_of(ref) gave stands for this secret in headers and body of this request; the same text for
  // any other name is data.
  HttpRequest with_secret(SecretRef ref) && {
    message_.secrets.push_back(std::move(ref));
    return std::move(*this);
  }
  // Any bytes, as they are.
  HttpRequest bytes(std::string bytes, std::string content_type) && {
    message_.body_base64 = Bytes{std::move(bytes)};
    return std::move(*this).header("Content-Type", std::move(content_type));
  }

  // Reaches the server at most once: the host never sends it a second time, a lost answer is
  // outcome=unknown. For the one request of a method that makes something. It goes out no later than the
  // method's not_after_ns allows.
  HttpRequest once() && {
    message_.once = true;
    return std::move(*this);
  }
  // On the host's clock; not sent later than this.
  HttpRequest not_after_ns(std::int64_t time) && {
    message_.not_after_ns = time;
    return std::move(*this);
  }
  HttpRequest timeout(std::chrono::milliseconds time) && {
    message_.timeout_ms = time.count();
    return std::move(*this);
  }

  // Blocks until the reply. An error means that none came; its outcome says whether the request may have been
  // received.
  [[nodiscard]] Result<HttpReply> send(const Call& call) && {
    bind(call);
    SLIPWAY_TRY(HttpCallReply reply, call_service(call, message_));
    return make_reply(message_, std::move(reply));
  }
  // Returns at once; see Callback in call.hpp for where the callback runs.
  void send(const Call& call, Callback<HttpReply> callback) && {
    bind(call);
    HttpCallRequest facts = facts_of(message_);
    call_service(
        call, message_,
        [facts = std::move(facts), callback = std::move(callback)](Result<HttpCallReply> reply) mutable {
          if (!reply) return callback(std::move(reply).error());
          callback(make_reply(facts, *std::move(reply)));
        });
  }

  [[nodiscard]] const HttpCallRequest& message() const { return message_; }

 private:
  void bind(const Call& call) {
    if (message_.once && message_.not_after_ns == 0) message_.not_after_ns = call.state()->not_after_ns();
  }
  // What a reply says of its request.
  static HttpCallRequest facts_of(const HttpCallRequest& message) {
    HttpCallRequest facts;
    facts.verb = message.verb;
    facts.url = message.url;
    facts.once = message.once;
    return facts;
  }
  static HttpReply make_reply(const HttpCallRequest& message, HttpCallReply got) {
    HttpReply reply;
    reply.status = got.status;
    reply.headers = std::move(got.headers);
    reply.body = got.body_base64 ? std::move(got.body_base64->data) : std::move(got.body);
    if (got.retry_after_ms) reply.retry_after = std::chrono::milliseconds(*got.retry_after_ms);
    reply.elapsed = std::chrono::milliseconds(got.elapsed_ms);
    reply.request = message.verb + " " + message.url.substr(0, message.url.find('?'));
    reply.url = message.url;
    reply.is_once = message.once;
    return reply;
  }

  HttpCallRequest message_;
};

// Where requests go and with whose credential. Made by Host::http().
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options) : options_(std::move(options)) {}

  // `path` is put behind the base URL with one slash between; a whole URL stays as it is, but the host puts
  // secrets only into what goes to the environment's endpoints.
  [[nodiscard]] HttpRequest get(std::string_view path) const { return request("GET", path); }
  [[nodiscard]] HttpRequest post(std::string_view path) const { return request("POST", path); }
  [[nodiscard]] HttpRequest put(std::string_view path) const { return request("PUT", path); }
  [[nodiscard]] HttpRequest patch(std::string_view path) const { return request("PATCH", path); }
  [[nodiscard]] HttpRequest del(std::string_view path) const { return request("DELETE", path); }
  [[nodiscard]] HttpRequest request(std::string verb, std::string_view path) const {
    HttpCallRequest message;
    message.verb = std::move(verb);
    message.url = detail::join_url(options_.base_url, path);
    message.headers = options_.headers;
    message.secrets = options_.secrets;
    message.auth = {options_.bearer, options_.user, options_.password};
    message.timeout_ms = options_.timeout.count();
    message.connect_timeout_ms = options_.connect_timeout.count();
    message.max_reply_bytes = options_.max_reply_bytes;
    return HttpRequest(std::move(message));
  }

 private:
  const HttpOptions options_;
};

// Text as one segment of a path: everything but letters, digits and -._~ is encoded, so an id with a slash
// names nothing else.
[[nodiscard]] inline std::string segment(std::string_view text) {
  if (text == ".") return "%2E";  // these two would be taken out of the path, encoded or not by some
  if (text == "..") return "%2E%2E";
  return detail::percent_encode(text);
}

// What a status means that is not the wanted one; `text` is the cloud's own word, else the body's beginning
// is quoted. Outcome rejected where the status proves that nothing was made.
[[nodiscard]] inline Error http_error(const HttpReply& reply, std::string_view text = {}) {
  struct Meaning {
    Code code;
    bool is_rejected;
  };
  const auto meaning = [&]() -> Meaning {
    switch (reply.status) {
      case 401:
        return {Code::unauthenticated, true};
      case 403:
        return {Code::denied, true};
      case 404:
      case 410:
        return {Code::not_found, true};
      case 409:
        return {Code::conflict, true};
      case 408:
      case 499:  // a proxy's word, which says nothing of what is behind it
        return {Code::unavailable, false};
      case 429:
        return {Code::unavailable, true};
      case 503:
        return {Code::unavailable, reply.retry_after.has_value()};
      default:
        break;
    }
    if (reply.status >= 500) return {Code::unavailable, false};
    if (reply.status >= 400) return {Code::invalid, true};
    if (reply.status >= 300)
      return {Code::invalid, false};  // redirects are not followed: the base URL is wrong
    return {Code::internal, false};   // a success that the plugin did not expect
  }();
  std::string words = text.empty() ? detail::excerpt(reply.body, 200) : std::string(text);
  if (reply.status >= 300 && reply.status <= 399)
    words = message("redirects to {}", reply.header("location"));
  Error error = words.empty() ? fail(meaning.code, "http {} from {}", reply.status, reply.request)
                              : fail(meaning.code, "http {} from {}: {}", reply.status, reply.request, words);
  if (meaning.is_rejected) error.outcome = Outcome::rejected;
  if (reply.retry_after) error.retry_after_ms = reply.retry_after->count();
  return error;
}

namespace detail {

template <class Work, class Next>
Status read_pages(const Call& call, HttpRequest request, Work&& work, Next&& next_request) {
  for (std::string seen;;) {
    if (call.cancelled()) return fail(Code::cancelled, "listing stopped: the call was cancelled");
    SLIPWAY_TRY(const HttpReply reply, HttpRequest(request).send(call));
    SLIPWAY_TRY(std::string next, work(reply));
    if (next.empty()) return ok();
    if (next == seen)
      return fail(Code::unavailable, "{}: names the same next page again and again", reply.request);
    request = next_request(reply, next);
    seen = std::move(next);
  }
}

}  // namespace detail

// For clouds that page their listings: sends `first` and what follows it, with its headers and credential.
// `work` takes a reply and says where the next page is: Result<std::string>, as reply.next_link() or a member
// of the body; empty: that was all.
template <class Work>
[[nodiscard]] Status pages(const Call& call, const HttpRequest& first, Work&& work) {
  return detail::read_pages(call, first, work, [&](const HttpReply& reply, std::string_view next) {
    HttpCallRequest message = first.message();
    message.url = detail::resolve_url(reply.url, next);
    return HttpRequest(std::move(message));
  });
}

// For clouds whose next page is named by a token in the query parameter `parameter`.
template <class Work>
[[nodiscard]] Status pages(const Call& call, const HttpRequest& first, std::string_view parameter,
                           Work&& work) {
  return detail::read_pages(call, first, work, [&](const HttpReply&, std::string_view next) {
    return HttpRequest(first).query(parameter, next);
  });
}

}  // namespace slipway
