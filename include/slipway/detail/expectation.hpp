// SPDX-License-Identifier: Apache-2.0
// expectation.hpp - one HTTP request that a test expects, and how it is answered, for testing.hpp. Thread
// rule: set up before the plugin is called; FakeHost then guards it.
#pragma once

#include <slipway/codec.hpp>
#include <slipway/detail/url.hpp>
#include <slipway/messages/host.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::testing {

class FakeHost;

// Made by FakeHost::expect(). What is wanted of the request, then what it is answered with: by default 200
// without a body.
class Expectation {
 public:
  Expectation(std::string verb, std::string target) : verb_(std::move(verb)), target_(std::move(target)) {}

  // The request has it, the name in any case of letters.
  Expectation& header(std::string name, std::string value) {
    headers_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  Expectation& query(std::string name, std::string value) {
    queries_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  // Authorization by the secret of this name.
  Expectation& bearer(std::string secret) {
    bearer_ = std::move(secret);
    return *this;
  }
  // The JSON body has this value at this place: "/name", "/labels/owner" (RFC 6901).
  Expectation& json_has(std::string pointer, json::value value) {
    places_.emplace_back(std::move(pointer), std::move(value));
    return *this;
  }
  Expectation& body_has(std::string text) {
    texts_.push_back(std::move(text));
    return *this;
  }
  // The request is marked once().
  Expectation& once() {
    is_once_ = true;
    return *this;
  }
  // It comes so often; 1 unless said.
  Expectation& times(int count) {
    left_ = count;
    return *this;
  }

  Expectation& reply(std::uint32_t status, const json::value& body) {
    return reply_text(status, json::serialize(body), "application/json");
  }
  Expectation& reply_text(std::uint32_t status, std::string body, std::string content_type = "text/plain") {
    reply_.body = std::move(body);
    return this->status(status).reply_header("content-type", std::move(content_type));
  }
  Expectation& status(std::uint32_t status) {
    reply_.status = status;
    return *this;
  }
  Expectation& reply_header(std::string name, std::string value) {
    reply_.headers.push_back({std::move(name), std::move(value)});
    return *this;
  }
  Expectation& retry_after(std::chrono::milliseconds time) {
    reply_.retry_after_ms = time.count();
    return *this;
  }
  // Virtual: the clock jumps. A deadline or a time-out in between ends the request.
  Expectation& delay(std::chrono::milliseconds time) {
    delay_ = time;
    return *this;
  }
  // The connection breaks: the request reached the cloud and the answer is lost, or it was never sent.
  Expectation& drop_after_request() {
    error_ = fail(Code::unavailable, "the connection broke before a reply came");
    return *this;
  }
  Expectation& drop_before_request() {
    error_ = fail(Code::unavailable, "connection refused").rejected();
    return *this;
  }
  // The host gives the plugin's call up while the request is under way.
  Expectation& cancel_call() {
    cancels_ = true;
    return *this;
  }
  // No answer until FakeHost::release(), or until the plugin's call is cancelled. For the asynchronous style:
  // a method that blocks would block the test.
  Expectation& hold() {
    is_held_ = true;
    return *this;
  }

 private:
  friend class FakeHost;

  [[nodiscard]] std::string text() const { return verb_ + " " + target_; }

  [[nodiscard]] bool fits(const HttpCallRequest& request) const {
    if (left_ == 0 || request.verb != verb_) return false;
    const bool has_query = target_.find('?') != std::string::npos;
    const std::string_view url = request.url;
    const std::string_view target = has_query ? url : url.substr(0, url.find('?'));
    return detail::is_whole_url(target_) ? target == target_ : target.ends_with(target_);
  }

  // What is wrong with a request that fits, each a line.
  [[nodiscard]] std::vector<std::string> differences(const HttpCallRequest& request) const {
    std::vector<std::string> out;
    const auto differs = [&](const std::string& what) {
      out.push_back(message("{} {}: {}", request.verb, request.url, what));
    };
    for (const HttpHeader& wanted : headers_) {
      const HttpHeader* got = nullptr;
      for (const HttpHeader& header : request.headers) {
        if (detail::equals_without_case(header.name, wanted.name)) got = &header;
      }
      if (got == nullptr || got->value != wanted.value) {
        differs(message("header {}: expected \"{}\", got {}", wanted.name, wanted.value,
                        got == nullptr ? "none" : "\"" + got->value + "\""));
      }
    }
    const std::string parameters =
        "&" + request.url.substr(std::min(request.url.find('?'), request.url.size() - 1) + 1) + "&";
    for (const HttpHeader& wanted : queries_) {
      const std::string pair =
          detail::percent_encode(wanted.name) + "=" + detail::percent_encode(wanted.value);
      if (parameters.find("&" + pair + "&") == std::string::npos) {
        differs(message("query: expected {}, which it has not", pair));
      }
    }
    if (bearer_ && request.auth.bearer.value != *bearer_) {
      differs(message("bearer: expected the secret \"{}\", got \"{}\"", *bearer_, request.auth.bearer.value));
    }
    if (is_once_ && !request.once) differs("expected it to be marked once()");
    const std::string& body = request.body_base64 ? request.body_base64->data : request.body;
    for (const std::string& text : texts_) {
      if (body.find(text) == std::string::npos) {
        differs(message("body: expected \"{}\" in it, got \"{}\"", text, detail::excerpt(body, 500)));
      }
    }
    if (!places_.empty()) compare_places(body, differs);
    return out;
  }

  template <class Differs>
  void compare_places(const std::string& body, const Differs& differs) const {
    const auto document = decode<json::value>(body);
    if (!document) return differs(message("body: expected JSON: {}", document.error().message));
    for (const auto& [pointer, wanted] : places_) {
      json::error_code ec;
      const json::value* got = document->find_pointer(pointer, ec);
      if (got == nullptr || *got != wanted) {
        differs(message("body: {}: expected {}, got {}", pointer, json::serialize(wanted),
                        got == nullptr ? "nothing" : json::serialize(*got)));
      }
    }
  }

  const std::string verb_;
  const std::string target_;
  std::vector<HttpHeader> headers_;
  std::vector<HttpHeader> queries_;
  std::optional<std::string> bearer_;
  std::vector<std::pair<std::string, json::value>> places_;
  std::vector<std::string> texts_;
  bool is_once_ = false;
  int left_ = 1;

  HttpCallReply reply_{.status = 200, .headers = {}, .body = {}, .body_base64 = {}, .retry_after_ms = {}};
  std::chrono::milliseconds delay_{0};
  std::optional<Error> error_;
  bool cancels_ = false;
  bool is_held_ = false;
};

}  // namespace slipway::testing
