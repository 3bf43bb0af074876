// SPDX-License-Identifier: Apache-2.0
// endpoint.cpp - URLs by libcurl's parser, and stricter.
#include "plugin/endpoint.hpp"

#include "base/text.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <new>
#include <utility>

namespace slipway::plugin {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;

// The private ranges of which a private cloud takes one, by bit of EndpointPolicy::own_ranges_.
constexpr std::array kOwnRanges =
    std::to_array<std::string_view>({"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"});

const std::vector<Network>& own_ranges() {
  static const std::vector<Network> ranges = [] {
    std::vector<Network> out;
    for (const std::string_view cidr : kOwnRanges) out.push_back(*Network::parse(cidr));
    return out;
  }();
  return ranges;
}

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return std::string(text);
}

// What libcurl's parser would take and another may read differently. Nothing: it may be parsed.
std::optional<std::string_view> why_not(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return "is longer than 8192 bytes";
  const auto is_bad = [](char c) { return c <= ' ' || c >= 0x7F || c == '\\'; };
  if (std::any_of(text.begin(), text.end(), is_bad))
    return "has a space, a control character, a backslash or a character beyond ASCII; percent-encode it (a "
           "host "
           "in punycode)";
  if (text.find("${") != std::string_view::npos)
    return "has \"${\" in it; secrets do not go into URLs, use auth, a header or the body";
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return "has no \"http://\" or \"https://\" in front";
  std::string_view authority = text.substr(colon + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (authority.empty()) return "has no host";
  if (authority.find('@') != std::string_view::npos)
    return "has a user in front of the host; credentials go into auth";
  if (authority.find('%') != std::string_view::npos) return "has a percent sign in its host";
  if (text.find('#') != std::string_view::npos) return "has a fragment";
  return std::nullopt;
}

// Names: letters, digits, '-', '_' and '.', no empty label. Addresses: as they are.
bool is_host(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  if (IpAddress::parse(host)) return true;
  for (const std::string_view label : text::split(host, '.'))
    if (label.empty() || label.size() > 63) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

std::string quoted_start(std::string_view url) {
  return text::escaped(url.substr(0, std::min<std::size_t>(url.find_first_of("?#"), 200)));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    if (text[at] == '%' && at + 2 < text.size()) {
      const char* digits = text.data() + at + 1;
      if (const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
          error == std::errc() && end == digits + 2) {
        out += static_cast<char>(value);
        at += 2;
        continue;
      }
    }
    out += text[at];
  }
  return out;
}

bool has_climbing_segment(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  const auto segments = text::split(path, '/');
  // A parameter ("..;x") is taken off by some servers before they look.
  return std::any_of(segments.begin(), segments.end(),
                     [](std::string_view segment) { return segment.substr(0, segment.find(';')) == ".."; });
}

// True if a server that decodes before it looks for segments (or a proxy and a server, each once) would find
// a
// "..": such a path leads anywhere.
bool may_climb(std::string_view path) {
  const std::string once = percent_decoded(path);
  return has_climbing_segment(std::string(path)) || has_climbing_segment(once) ||
         has_climbing_segment(percent_decoded(once));
}

}  // namespace

bool Url::is_same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

std::string Url::shown() const { return text.substr(0, text.find('?')) + (has_query ? "?..." : ""); }

Result<Url> parse_url(std::string_view field, std::string_view text) {
  const auto refusal = [&](std::string_view why) {
    return fail(Code::invalid, "{}: \"{}\" {}", field, quoted_start(text), why).rejected();
  };
  if (const auto why = why_not(text)) return refusal(*why);
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (parsed == nullptr) throw std::bad_alloc();
  constexpr unsigned kFlags = CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME;
  if (const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, std::string(text).c_str(), kFlags);
      code != CURLUE_OK)
    return refusal(message("is no URL: {}", curl_url_strerror(code)));

  Url url;
  url.scheme = part(parsed.get(), CURLUPART_SCHEME).value_or("");
  if (url.scheme != "http" && url.scheme != "https") return refusal("is neither http nor https");
  url.host = part(parsed.get(), CURLUPART_HOST).value_or("");
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  std::transform(url.host.begin(), url.host.end(), url.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  if (url.host.size() > 1 && url.host.ends_with('.')) url.host.pop_back();
  if (part(parsed.get(), CURLUPART_ZONEID)) return refusal("has an address with a zone");
  if (!is_host(url.host)) return refusal("has a host that is neither a name nor an address");
  const std::string port = part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("");
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0)
    return refusal("has no port from 1 to 65535");
  url.path = part(parsed.get(), CURLUPART_PATH).value_or("/");
  url.has_query = part(parsed.get(), CURLUPART_QUERY).has_value();
  url.text = part(parsed.get(), CURLUPART_URL).value_or("");
  return url;
}

Result<EndpointPolicy> EndpointPolicy::make(const std::vector<EndpointSetting>& endpoints,
                                            bool is_http_allowed, const std::vector<std::string>& networks) {
  EndpointPolicy policy;
  policy.is_http_allowed_ = is_http_allowed;
  for (const std::string& network : networks) {
    auto parsed = Network::parse(network);
    if (!parsed) return std::move(parsed).error().within(kEndpointNetworksSetting);
    policy.networks_.push_back(*std::move(parsed));
  }
  for (const EndpointSetting& endpoint : endpoints) {
    SLIPWAY_TRY(Url url, parse_url(endpoint.setting, endpoint.url));
    if (url.has_query) {
      return fail(Code::invalid, "{}: \"{}\" has a query; a base URL has none", endpoint.setting,
                  url.shown());
    }
    policy.settings_.push_back(endpoint.setting);
    policy.endpoints_.push_back(std::move(url));
    auto allowed = policy.check_url(policy.endpoints_.back());
    if (!allowed) return std::move(allowed).error().within(endpoint.setting);
  }
  return policy;
}

EndpointPolicy::EndpointPolicy(EndpointPolicy&& other) noexcept
    : settings_(std::move(other.settings_)),
      endpoints_(std::move(other.endpoints_)),
      networks_(std::move(other.networks_)),
      is_http_allowed_(other.is_http_allowed_),
      own_ranges_(other.own_ranges_.load()) {}

Status EndpointPolicy::check_url(const Url& url) const {
  if (url.scheme == "http" && !is_http_allowed_) {
    return fail(Code::denied, "{}: plain http is refused; use https, or set {} = allow", url.shown(),
                kEndpointHttpSetting)
        .rejected();
  }
  const auto address = IpAddress::parse(url.host);
  return address ? check_address(url, *address) : ok();
}

Status EndpointPolicy::check_address(const Url& url, const IpAddress& address) const {
  const AddressKind kind = kind_of(address);
  if (kind == AddressKind::global) return ok();
  const IpAddress judged = address.embedded_v4().value_or(address);
  if (kind == AddressKind::never) {
    return fail(Code::denied, "{}: {} is no address of a server", url.shown(), address.text()).rejected();
  }
  for (const Network& network : networks_)
    if (network.contains(address) || network.contains(judged)) return ok();
  if (kind == AddressKind::private_use) {
    const bool is_own = std::any_of(endpoints_.begin(), endpoints_.end(),
                                    [&](const Url& endpoint) { return url.is_same_origin(endpoint); });
    for (unsigned i = 0; i < own_ranges().size(); ++i) {
      if (!own_ranges()[i].contains(judged)) continue;
      if (is_own) own_ranges_ |= 1U << i;
      if ((own_ranges_ & 1U << i) != 0) return ok();
    }
  }
  return fail(Code::denied,
              "{}: {} is an address of kind {}, which requests may not go to; add its network to {}",
              url.shown(), address.text(), kind, kEndpointNetworksSetting)
      .rejected();
}

std::string EndpointPolicy::shown_endpoints() const {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < endpoints_.size(); ++i)
    shown.push_back(message("{}={}", settings_[i], endpoints_[i].text));
  return shown.empty() ? "none is set" : text::join(shown, ", ");
}

bool EndpointPolicy::may_bear_secrets(const Url& url) const {
  if (may_climb(url.path)) return false;
  return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const Url& endpoint) {
    std::string_view base = endpoint.path;
    while (base.ends_with('/')) base.remove_suffix(1);
    const std::string_view path = url.path;
    return url.is_same_origin(endpoint) && path.starts_with(base) &&
           (path.size() == base.size() || path[base.size()] == '/');
  });
}

}  // namespace slipway::plugin
