// SPDX-License-Identifier: Apache-2.0
#include "plugin/recorder.hpp"

#include "base/fs.hpp"
#include "plugin/client.hpp"

#include <slipway/codec.hpp>
#include <slipway/schema.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace slipway::plugin {

namespace {

constexpr std::size_t kMaxCassetteBytes = std::size_t{64} << 20U;
constexpr std::string_view kHidden = "***";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Of a header, a query parameter or a JSON member.
bool is_credential(std::string_view name) {
  constexpr std::array kWords{
      std::string_view("token"),     std::string_view("password"),   std::string_view("passwd"),
      std::string_view("secret"),    std::string_view("cookie"),     std::string_view("authorization"),
      std::string_view("api-key"),   std::string_view("adminpass"),  std::string_view("api_key"),
      std::string_view("apikey"),    std::string_view("privatekey"), std::string_view("private_key"),
      std::string_view("credential")};
  // Names of pages and of tries, which are tokens too, and which a replay needs.
  constexpr std::array kHarmless{std::string_view("page"), std::string_view("next"),
                                 std::string_view("continu"), std::string_view("client"),
                                 std::string_view("idempotency")};
  const std::string plain = lower(name);
  const auto has = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
  return std::any_of(kWords.begin(), kWords.end(), has) &&
         std::none_of(kHarmless.begin(), kHarmless.end(), has);
}

// What a plugin writes instead of a secret.
bool is_reference(std::string_view value) { return value.find("${secret:") != std::string_view::npos; }

void hide_text(std::string& text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kHidden.size()))
      text.replace(at, secret.size(), kHidden);
  }
}

void hide_members(json::value& value) {
  if (auto* array = value.if_array()) {
    for (json::value& element : *array) hide_members(element);
  } else if (auto* object = value.if_object()) {
    for (auto& member : *object) {
      const auto* string = member.value().if_string();
      if (string != nullptr && is_credential(member.key()) && !string->empty() && !is_reference(*string)) {
        member.value() = kHidden;
      } else {
        hide_members(member.value());
      }
    }
  }
}

void hide_in_body(std::string& body, const std::vector<std::string>& secrets) {
  hide_text(body, secrets);
  json::error_code ec;
  json::value value = json::parse(body, ec);
  if (ec || !(value.is_object() || value.is_array())) return;
  const json::value before = value;
  hide_members(value);
  if (value != before) body = json::serialize(value);
}

void hide_in_headers(std::vector<HttpHeader>& headers, const std::vector<std::string>& secrets) {
  for (HttpHeader& header : headers) {
    hide_text(header.value, secrets);
    if (is_credential(header.name) && !is_reference(header.value)) header.value = kHidden;
  }
}

void hide_in_url(std::string& url, const std::vector<std::string>& secrets) {
  hide_text(url, secrets);
  std::size_t at = url.find('?');
  while (at != std::string::npos && at + 1 < url.size()) {
    const std::size_t end = std::min(url.find('&', at + 1), url.size());
    const std::size_t equals = url.find('=', at + 1);
    if (equals < end && is_credential(std::string_view(url).substr(at + 1, equals - at - 1))) {
      url.replace(equals + 1, end - equals - 1, kHidden);
    }
    at = url.find('&', at + 1);
  }
}

// With sorted members, so that their order does not matter.
json::value sorted(const json::value& value) {
  if (const auto* array = value.if_array()) {
    json::array out;
    for (const json::value& element : *array) out.push_back(sorted(element));
    return out;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  std::vector<std::string_view> keys;
  for (const auto& member : *object) keys.push_back(member.key());
  std::sort(keys.begin(), keys.end());
  json::object out;
  for (const std::string_view key : keys) out[key] = sorted(object->at(key));
  return out;
}

std::string body_of(const HttpCallRequest& request) {
  const std::string& body = request.body_base64 ? request.body_base64->data : request.body;
  json::error_code ec;
  const json::value value = json::parse(body, ec);
  return ec ? body : json::serialize(sorted(value));
}

std::string exact_of(const HttpCallRequest& request) {
  return request.verb + " " + request.url + "\n" + body_of(request);
}

// Runs of hexadecimal digits and dashes of 16 and more (nonces, UUIDs) become "<id>"; runs of digits, signs
// and T that look like a time ("2026-11-30T12:08:24Z") become "<time>".
std::string normalised_of(std::string_view text) {
  constexpr std::size_t kShortestId = 16;
  const auto is_id = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == '-'; };
  const auto is_time = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '.' || c == '+' ||
           c == 'T' || c == 'Z';
  };
  const auto run = [&](std::size_t at, const auto& fits) {
    std::size_t end = at;
    while (end < text.size() && fits(text[end])) ++end;
    return end - at;
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t time = run(at, is_time);
    const std::size_t id = run(at, is_id);
    if (time >= kShortestId && text.substr(at, time).find('T') != std::string_view::npos) {
      out += "<time>";
      at += time;
    } else if (id >= kShortestId) {
      out += "<id>";
      at += id;
    } else {
      const std::size_t word = std::max<std::size_t>(id, 1);
      out += text.substr(at, word);
      at += word;
    }
  }
  return out;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  return at;
}

bool only_reads(const HttpCallRequest& request) { return request.verb == "GET" || request.verb == "HEAD"; }

}  // namespace

Result<Cassette> read_cassette(const std::string& path) {
  SLIPWAY_TRY(const std::string text, fs::read_file(path, kMaxCassetteBytes));
  auto cassette = decode<Cassette>(text, {.max_bytes = kMaxCassetteBytes});
  if (!cassette) return std::move(cassette).error().within(path);
  return cassette;
}

Status write_cassette(const std::string& path, const Cassette& cassette) {
  std::string text;
  detail::append_pretty(text, to_json(cassette, {.omit_defaults = true}), 0);
  text += '\n';
  return fs::write_file_atomically(path, text, 0644);
}

Exchange without_credentials(Exchange exchange, const std::vector<std::string>& secrets) {
  HttpCallRequest& request = exchange.request;
  hide_in_url(request.url, secrets);
  hide_in_headers(request.headers, secrets);
  hide_in_body(request.body, secrets);
  if (request.body_base64) hide_in_body(request.body_base64->data, secrets);
  if (exchange.reply) {
    hide_in_headers(exchange.reply->headers, secrets);
    hide_in_body(exchange.reply->body, secrets);
    if (exchange.reply->body_base64) hide_in_body(exchange.reply->body_base64->data, secrets);
  }
  if (exchange.error) hide_text(exchange.error->message, secrets);
  return exchange;
}

std::string shown(const HttpCallRequest& request) {
  return request.verb + " " + request.url.substr(0, request.url.find('?'));
}

void RecordingServices::call(ServiceCall call, RawDone done) {
  if (call.method == SecretGetRequest::method) {
    return inner_.call(std::move(call), [kept = kept_, done = std::move(done)](slipway_status status,
                                                                               std::string body) {
      if (auto reply = decode<SecretGetReply>(body); status == SLIPWAY_OK && reply && !reply->value.empty()) {
        const std::lock_guard lock(kept->mutex);
        kept->secrets.push_back(std::move(reply->value));
      }
      done(status, std::move(body));
    });
  }
  auto request = decode<HttpCallRequest>(call.body);
  if (call.method != HttpCallRequest::method || !request)
    return inner_.call(std::move(call), std::move(done));
  // Of the moment, and of no use in a replay.
  request->not_after_ns = 0;
  inner_.call(std::move(call), [kept = kept_, request = *std::move(request), done = std::move(done)](
                                   slipway_status status, std::string body) {
    Exchange exchange{request, {}, {}};
    auto reply = read_reply<HttpCallRequest>(status, body);
    if (reply) {
      reply->elapsed_ms = 0;
      exchange.reply = *std::move(reply);
    } else {
      exchange.error = std::move(reply).error();
    }
    {
      const std::lock_guard lock(kept->mutex);
      kept->exchanges.push_back(without_credentials(std::move(exchange), kept->secrets));
    }
    done(status, std::move(body));
  });
}

std::vector<Exchange> RecordingServices::exchanges() const {
  const std::lock_guard lock(kept_->mutex);
  return kept_->exchanges;
}

ReplayServices::ReplayServices(Cassette cassette, HostServices& inner, const Clock& clock)
    : inner_(inner), clock_(clock) {
  for (Exchange& exchange : cassette.exchanges) {
    std::string exact = exact_of(exchange.request);
    std::string normalised = normalised_of(exact);
    entries_.push_back({std::move(exchange), std::move(exact), std::move(normalised)});
  }
}

void ReplayServices::call(ServiceCall call, RawDone done) {
  if (call.method != HttpCallRequest::method) return inner_.call(std::move(call), std::move(done));
  auto request = decode<HttpCallRequest>(call.body);
  if (!request) {
    return done(SLIPWAY_INVALID, encode_error(std::move(request).error()));
  }
  if (request->not_after_ns != 0 && request->not_after_ns <= clock_.monotonic_ns()) {
    const Error error =
        fail(Code::unavailable, "{}: not sent, as its time (not_after_ns) has passed", shown(*request))
            .rejected();
    return done(SLIPWAY_UNAVAILABLE, encode_error(error));
  }
  std::optional<Exchange> found;
  {
    const std::lock_guard lock(entries_mutex_);
    const HttpCallRequest plain = without_credentials({*request, {}, {}}).request;
    if (const Exchange* entry = find(plain)) {
      found = *entry;
    } else {
      problems_.push_back(problem_of(plain));
    }
  }
  if (!found) {
    const Error error = fail(Code::unavailable, "{}: not in the cassette", shown(*request)).rejected();
    return done(SLIPWAY_UNAVAILABLE, encode_error(error));
  }
  if (found->reply) return done(SLIPWAY_OK, encode(*found->reply));
  const Error error = found->error.value_or(Error{});
  done(static_cast<slipway_status>(error.code), encode_error(error));
}

const Exchange* ReplayServices::find(const HttpCallRequest& request) {
  const std::string exact = exact_of(request);
  const std::string normalised = normalised_of(exact);
  const auto take = [&](const auto& fits) -> const Exchange* {
    const auto found = std::find_if(entries_.begin(), entries_.end(), fits);
    if (found == entries_.end()) return nullptr;
    found->is_used = true;
    return &found->exchange;
  };
  if (const auto* found = take([&](const Entry& e) { return !e.is_used && e.exact == exact; })) return found;
  // Asked more often than when it was recorded: the last answer again.
  const auto again =
      std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) { return e.exact == exact; });
  if (only_reads(request) && again != entries_.rend()) return &again->exchange;
  return take([&](const Entry& e) { return !e.is_used && e.normalised == normalised; });
}

std::string ReplayServices::problem_of(const HttpCallRequest& request) const {
  const auto line = [](const HttpCallRequest& r) {
    return r.verb + " " + r.url + (r.body.empty() ? "" : " " + detail::excerpt(body_of(r), 200));
  };
  if (entries_.empty()) return message("{} is not in the cassette, which is empty", line(request));
  const std::string normalised = normalised_of(exact_of(request));
  const auto nearness = [&](const Entry& entry) {
    return std::pair(common_prefix(entry.normalised, normalised), !entry.is_used);
  };
  const auto nearest =
      std::max_element(entries_.begin(), entries_.end(),
                       [&](const Entry& a, const Entry& b) { return nearness(a) < nearness(b); });
  const std::size_t at = common_prefix(nearest->normalised, normalised);
  if (nearest->normalised == normalised) {
    return message("{} was made more often than in the cassette", line(request));
  }
  return message(
      "{} is not in the cassette; the nearest that is: {}; they differ from \"{}\" on (recorded \"{}\")",
      line(request), line(nearest->exchange.request), detail::excerpt(normalised.substr(at), 40),
      detail::excerpt(nearest->normalised.substr(at), 40));
}

std::vector<std::string> ReplayServices::problems() const {
  const std::lock_guard lock(entries_mutex_);
  return problems_;
}

}  // namespace slipway::plugin
