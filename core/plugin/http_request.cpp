// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_request.hpp"

#include "base/text.hpp"
#include "plugin/http_reply.hpp"

#include <slipway/base64.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxHeaders = 100;
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
constexpr std::int64_t kMaxTimeoutMs = 3'600'000;
constexpr std::string_view kPlaceholder = "${secret:";

// What the host says itself. Another Host would take a secret to another site of the same server; the others
// decide where a request ends.
constexpr std::array kOwnHeaders = std::to_array<std::string_view>(
    {"connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
     "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"});

// Text that may hold secrets while it grows: what it grows out of is wiped.
class SecretText {
 public:
  void append(std::string_view more) {
    if (text_.size() + more.size() > text_.capacity()) {
      std::string larger;
      larger.reserve(std::max(text_.size() + more.size(), 2 * text_.capacity()));
      larger.append(text_);
      const Secret wiped(std::exchange(text_, std::move(larger)));
    }
    text_.append(more);
  }
  [[nodiscard]] Secret finish() && { return Secret(std::move(text_)); }

 private:
  std::string text_;
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return out;
}

// As the inside of a JSON string.
void append_json_escaped(SecretText& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      const std::array pair{'\\', c};
      out.append({pair.data(), pair.size()});
    } else if (is_control(c)) {
      const auto byte = static_cast<unsigned char>(c);
      const std::array escape{'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
      out.append({escape.data(), escape.size()});
    } else {
      out.append({&c, 1});
    }
  }
}

// One request under preparation: looks secrets up, and that they may go to where it goes.
class Preparation {
 public:
  Preparation(const HttpScope& scope, const Url& url, const std::vector<SecretRef>& named)
      : scope_(scope), url_(url), named_(named) {}

  Result<Secret> secret(std::string_view field, std::string_view name) const {
    const std::string shown = text::escaped(name.substr(0, 64));
    if (!scope_.policy().may_bear_secrets(url_)) {
      return fail(Code::denied,
                  "{}: secret \"{}\" may not go to {}; it goes only towards the environment's endpoints ({})",
                  field, shown, url_.shown(), scope_.policy().shown_endpoints())
          .rejected();
    }
    auto found = scope_.secrets().secret(name);
    if (!found && found.error().code == Code::not_found) {
      return fail(Code::invalid, "{}: there is no secret \"{}\"", field, shown).rejected();
    }
    if (!found) {
      Error error = std::move(found).error().within(message("{}: secret \"{}\"", field, shown));
      error.outcome = Outcome::rejected;
      return error;
    }
    return found;
  }

  // A secret as a part of a line.
  Result<Secret> line_secret(std::string_view field, std::string_view name) const {
    SLIPWAY_TRY(Secret found, secret(field, name));
    if (std::any_of(found.reveal().begin(), found.reveal().end(), is_control)) {
      return fail(Code::invalid,
                  "{}: secret \"{}\" has a control character in it (maybe the end of line of a file), which "
                  "a header "
                  "cannot hold",
                  field, text::escaped(name.substr(0, 64)))
          .rejected();
    }
    return found;
  }

  // `text` with the placeholders of the request's own secrets replaced; they go in by `insert(out, field,
  // name)
  // -> Status`. A placeholder of any other name is text that somebody else wrote.
  template <class Insert>
  Status expand(SecretText& out, std::string_view field, std::string_view text, Insert insert) const {
    while (true) {
      const std::size_t start = text.find(kPlaceholder);
      out.append(text.substr(0, start));
      if (start == std::string_view::npos) return ok();
      text.remove_prefix(start + kPlaceholder.size());
      const std::string_view name = text.substr(0, text.find('}'));
      if (name.size() == text.size() || !is_named(name)) {
        out.append(kPlaceholder);
        continue;
      }
      SLIPWAY_TRY(insert(out, field, name));
      text.remove_prefix(name.size() + 1);
    }
  }

 private:
  [[nodiscard]] bool is_named(std::string_view name) const {
    return std::any_of(named_.begin(), named_.end(), [&](const SecretRef& ref) { return ref.value == name; });
  }

  const HttpScope& scope_;
  const Url& url_;
  const std::vector<SecretRef>& named_;
};

Status check_numbers(const HttpCallRequest& request) {
  const auto check = [](std::string_view field, std::int64_t ms) -> Status {
    if (ms >= 1 && ms <= kMaxTimeoutMs) return ok();
    return fail(Code::invalid, "{}: expected 1 to {}, got {}", field, kMaxTimeoutMs, ms).rejected();
  };
  SLIPWAY_TRY(check("timeout_ms", request.timeout_ms));
  SLIPWAY_TRY(check("connect_timeout_ms", request.connect_timeout_ms));
  if (request.not_after_ns < 0)
    return fail(Code::invalid, "not_after_ns: expected 0 or a time, got {}", request.not_after_ns).rejected();
  return ok();
}

// CONNECT and TRACE mean something to proxies and nothing to an API.
Status check_verb(const std::string& verb) {
  const bool is_word = !verb.empty() && verb.size() <= 16 &&
                       std::all_of(verb.begin(), verb.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (is_word && verb != "CONNECT" && verb != "TRACE") return ok();
  return fail(Code::invalid, "verb: expected GET, POST or another HTTP verb in capitals, got \"{}\"",
              text::escaped(verb.substr(0, 32)))
      .rejected();
}

Status check_header_name(std::string_view field, const std::string& name) {
  if (!is_token(name))
    return fail(Code::invalid, "{}.name: expected a header's name, got \"{}\"", field,
                text::escaped(name.substr(0, 64)))
        .rejected();
  if (std::find(kOwnHeaders.begin(), kOwnHeaders.end(), lower_case(name)) != kOwnHeaders.end())
    return fail(Code::invalid, "{}.name: \"{}\" is said by the host itself", field, name).rejected();
  return ok();
}

Status add_headers(const Preparation& preparation, const HttpCallRequest& request, PreparedRequest& out) {
  if (request.headers.size() > kMaxHeaders)
    return fail(Code::invalid, "headers: {}, at most {} are taken", request.headers.size(), kMaxHeaders)
        .rejected();
  const auto insert = [&](SecretText& line, std::string_view field, std::string_view name) -> Status {
    SLIPWAY_TRY(const Secret value, preparation.line_secret(field, name));
    line.append(value.reveal());
    return ok();
  };
  std::size_t bytes = 0;
  const bool has_auth = !request.auth.bearer.is_empty() || !request.auth.user.empty();
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const HttpHeader& header = request.headers[i];
    const std::string field = message("headers[{}]", i);
    SLIPWAY_TRY(check_header_name(field, header.name));
    if (has_auth && lower_case(header.name) == "authorization")
      return fail(Code::invalid, "{}: authorization is given by auth too", field).rejected();
    if (std::any_of(header.value.begin(), header.value.end(), is_control))
      return fail(Code::invalid, "{}.value: a control character in the value of \"{}\"", field, header.name)
          .rejected();
    SecretText line;
    line.append(header.name);
    // libcurl takes "Name:" as "leave it out" and "Name;" as "empty".
    line.append(text::trim(header.value).empty() ? ";" : ": ");
    SLIPWAY_TRY(preparation.expand(line, message("{}.value", field), text::trim(header.value), insert));
    out.header_lines.push_back(std::move(line).finish());
    bytes += out.header_lines.back().reveal().size();
  }
  if (bytes > kMaxHeaderBytes)
    return fail(Code::invalid, "headers: {} bytes, at most {} are taken", bytes, kMaxHeaderBytes).rejected();
  return ok();
}

Status add_auth(const Preparation& preparation, const HttpAuth& auth, PreparedRequest& out) {
  const bool is_basic = !auth.user.empty() || !auth.password.is_empty();
  if (!auth.bearer.is_empty() && is_basic)
    return fail(Code::invalid, "auth: expected either bearer, or user and password, got both").rejected();
  SecretText line;
  if (!auth.bearer.is_empty()) {
    SLIPWAY_TRY(const Secret token, preparation.line_secret("auth.bearer", auth.bearer.value));
    line.append("Authorization: Bearer ");
    line.append(token.reveal());
  } else if (is_basic) {
    if (auth.user.empty() || auth.user.find(':') != std::string::npos ||
        std::any_of(auth.user.begin(), auth.user.end(), is_control))
      return fail(Code::invalid, "auth.user: expected a name without colon and control characters")
          .rejected();
    SecretText pair;
    pair.append(auth.user);
    pair.append(":");
    if (!auth.password.is_empty()) {
      SLIPWAY_TRY(const Secret password, preparation.line_secret("auth.password", auth.password.value));
      pair.append(password.reveal());
    }
    const Secret encoded(base64(std::move(pair).finish().reveal()));
    line.append("Authorization: Basic ");
    line.append(encoded.reveal());
  } else {
    return ok();
  }
  out.header_lines.push_back(std::move(line).finish());
  return ok();
}

Status add_body(const Preparation& preparation, HttpCallRequest& request, PreparedRequest& out) {
  if (request.body_base64 && !request.body.empty())
    return fail(Code::invalid, "body: expected body or body_base64, got both").rejected();
  const bool is_given = request.body_base64 || !request.body.empty();
  if (is_given && request.verb == "HEAD") return fail(Code::invalid, "body: HEAD has none").rejected();
  out.has_body = is_given || request.verb == "POST" || request.verb == "PUT" || request.verb == "PATCH";
  if (request.body_base64) {
    out.body = Secret(std::move(request.body_base64->data));
    return ok();
  }
  if (request.body.find(kPlaceholder) == std::string::npos) {
    out.body = Secret(std::move(request.body));
    return ok();
  }
  SecretText body;
  const auto insert = [&](SecretText& text, std::string_view field, std::string_view name) -> Status {
    SLIPWAY_TRY(const Secret value, preparation.secret(field, name));
    if (!is_utf8(value.reveal()))
      return fail(Code::invalid, "{}: secret \"{}\" is not UTF-8 text", field,
                  text::escaped(name.substr(0, 64)))
          .rejected();
    append_json_escaped(text, value.reveal());
    return ok();
  };
  SLIPWAY_TRY(preparation.expand(body, "body", request.body, insert));
  out.body = std::move(body).finish();
  return ok();
}

}  // namespace

Result<PreparedRequest> prepare(HttpCallRequest request, const HttpScope& scope) {
  PreparedRequest out;
  SLIPWAY_TRY(check_verb(request.verb));
  SLIPWAY_TRY(check_numbers(request));
  SLIPWAY_TRY(out.url, parse_url("url", request.url));
  SLIPWAY_TRY(scope.policy().check_url(out.url));
  const Preparation preparation(scope, out.url, request.secrets);
  SLIPWAY_TRY(add_headers(preparation, request, out));
  SLIPWAY_TRY(add_auth(preparation, request.auth, out));
  SLIPWAY_TRY(add_body(preparation, request, out));
  out.verb = std::move(request.verb);
  out.timeout_ms = request.timeout_ms;
  out.connect_timeout_ms = request.connect_timeout_ms;
  out.max_reply_bytes = std::min(request.max_reply_bytes, kMaxHttpReplyBytes);
  out.is_once = request.once;
  out.not_after_ns = request.not_after_ns;
  return out;
}

}  // namespace slipway::plugin
