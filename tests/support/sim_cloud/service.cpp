// SPDX-License-Identifier: Apache-2.0
#include "support/sim_cloud/service.hpp"

#include <boost/url.hpp>

#include <charconv>

namespace slipway::sim {
namespace {

struct Refusal {
  Error error;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (error))

struct Requests {
  std::vector<RequestTrace> requests;
};
BOOST_DESCRIBE_STRUCT(Requests, (), (requests))

// As clouds do: quota is 409, throttling 429, and of 5xx only the body says whether anything was made.
unsigned status_of(const Error& error) {
  switch (error.code) {
    case Code::invalid:
      return 400;
    case Code::unauthenticated:
      return 401;
    case Code::denied:
      return 403;
    case Code::not_found:
    case Code::unsupported:
      return 404;
    case Code::conflict:
    case Code::exhausted:
      return 409;
    case Code::unavailable:
      return error.retry_after_ms ? 429 : 503;
    case Code::deadline:
    case Code::cancelled:
      return 504;
    case Code::internal:
      break;
  }
  return 500;
}

HttpAnswer refusal(const Error& error) {
  HttpAnswer out;
  out.status = status_of(error);
  out.body = encode(Refusal{error});
  if (error.retry_after_ms) out.retry_after_s = (*error.retry_after_ms + 999) / 1'000;
  return out;
}

HttpAnswer not_there(const HttpAsk& ask) {
  return refusal(fail(Code::not_found, "{} {}: there is nothing", ask.verb, ask.target).rejected());
}

// The beginning is taken off.
bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

}  // namespace

Result<std::unique_ptr<Service>> Service::open(const ServiceOptions& options, std::int64_t now_ms) {
  std::unique_ptr<Service> service(new Service(options.token));
  std::vector<JournalEntry> entries;
  if (!options.state.empty()) {
    SLIPWAY_TRY(service->journal_, Journal::open(options.state, entries));
  }
  if (!entries.empty()) {
    auto status = service->replay(entries);
    if (!status) return std::move(status).error().within(options.state);
    return service;
  }
  auto script = parse_script(options.script);
  if (!script) return std::move(script).error().within("script");
  service->cloud_ = std::make_unique<Cloud>(*std::move(script), options.seed, now_ms);
  service->journal_.append({now_ms, options.seed, {}, {}, options.script});
  return service;
}

Status Service::replay(const std::vector<JournalEntry>& entries) {
  for (const JournalEntry& entry : entries) {
    if (!entry.script && cloud_ == nullptr) return fail(Code::invalid, "does not begin with a script");
    if (!entry.script) {
      cloud_->handle(entry.method, entry.body, entry.at_ms);
      continue;
    }
    SLIPWAY_TRY(Script script, parse_script(*entry.script));
    if (cloud_ == nullptr) {
      cloud_ = std::make_unique<Cloud>(std::move(script), entry.seed.value_or(1), entry.at_ms);
    } else {
      cloud_->set_script(std::move(script), entry.at_ms);
    }
  }
  return ok();
}

HttpAnswer Service::serve(const HttpAsk& ask, std::int64_t now_ms) {
  std::string_view rest = ask.target;
  HttpAnswer answer;
  if (take(rest, "/v1/")) {
    answer = call(std::string(rest), ask, now_ms);
  } else if (take(rest, "/control/")) {
    answer = control(std::string(rest), ask, now_ms);
  } else {
    answer = rest.starts_with("/objects/") && ask.verb == "GET" ? object(ask.target, now_ms) : not_there(ask);
  }
  return answer;
}

HttpAnswer Service::call(const std::string& method, const HttpAsk& ask, std::int64_t now_ms) {
  if (!token_.empty() && ask.authorization != "Bearer " + token_) {
    return refusal(fail(Code::unauthenticated, "the token is not valid").rejected());
  }
  if (ask.verb != "POST") return not_there(ask);
  journal_.append({now_ms, {}, method, ask.body, {}});
  Handled handled = cloud_->handle(method, ask.body, now_ms);
  HttpAnswer out = handled.error ? refusal(*handled.error) : HttpAnswer{};
  if (!handled.error) out.body = std::move(handled.reply);
  out.due_ms = handled.due_ms;
  out.is_dropped = handled.is_lost;
  return out;
}

HttpAnswer Service::control(const std::string& path, const HttpAsk& ask, std::int64_t now_ms) {
  HttpAnswer out;
  if (path == "audit" && ask.verb == "GET") {
    out.body = encode(cloud_->audit(now_ms));
  } else if (path == "requests" && ask.verb == "GET") {
    out.body = encode(Requests{{cloud_->requests().begin(), cloud_->requests().end()}});
  } else if (path == "script" && ask.verb == "POST") {
    auto script = parse_script(ask.body);
    if (!script) return refusal(script.error());
    journal_.append({now_ms, {}, {}, {}, ask.body});
    cloud_->set_script(*std::move(script), now_ms);
    out.body = "{}";
  } else {
    return not_there(ask);
  }
  return out;
}

HttpAnswer Service::object(const std::string& target, std::int64_t now_ms) {
  const auto url = boost::urls::parse_origin_form(target);
  if (!url) return refusal(fail(Code::invalid, "not a path: {}", target));
  ObjectGetRequest get;
  get.key =
      boost::urls::pct_string_view(url->encoded_path().substr(std::string_view("/objects/").size())).decode();
  const auto until = url->params().find("until");
  const std::string text = until == url->params().end() ? "" : (*until).value;
  std::int64_t until_ms = 0;
  std::from_chars(text.data(), text.data() + text.size(), until_ms);
  if (until_ms < now_ms) return refusal(fail(Code::denied, "the URL was valid until {}", text));
  HttpAnswer out;
  out.content_type = "application/octet-stream";
  do {  // a part a call
    auto part = cloud_->call(get, now_ms).result;
    if (!part) return refusal(part.error());
    out.body += part->data.data;
    get.offset = out.body.size();
    if (get.offset >= part->size) break;
  } while (true);
  return out;
}

}  // namespace slipway::sim
