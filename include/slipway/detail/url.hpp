// SPDX-License-Identifier: Apache-2.0
// url.hpp - the little of URLs (RFC 3986) and of the header Link (RFC 8288) that http.hpp needs. Boost.URL is
// a library to link with, and a plugin links with none. Thread rule: pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace slipway::detail {

constexpr char to_lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool equals_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower_ascii(x) == to_lower_ascii(y); });
}

// All but RFC 3986's unreserved characters.
inline std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool is_unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                               c == '-' || c == '.' || c == '_' || c == '~';
    if (is_unreserved) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

inline void append_query(std::string& url, std::string_view name, std::string_view value) {
  url += url.find('?') == std::string::npos ? '?' : '&';
  url.append(percent_encode(name)).append("=").append(percent_encode(value));
}

inline bool is_whole_url(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

// One slash between the two.
inline std::string join_url(std::string_view base, std::string_view path) {
  if (base.empty() || is_whole_url(path)) return std::string(path);
  while (base.ends_with('/')) base.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  std::string url(base);
  if (!path.empty() && !path.starts_with('?')) url += '/';
  return url.append(path);
}

// A reference as it stands in a reply to a request for `base`: a whole URL, an absolute path, "?query", or a
// path beside the request's.
inline std::string resolve_url(std::string_view base, std::string_view reference) {
  if (is_whole_url(reference)) return std::string(reference);
  base = base.substr(0, base.find_first_of("?#"));
  if (reference.starts_with('?')) return std::string(base).append(reference);
  const std::size_t authority = base.find("://") == std::string_view::npos ? 0 : base.find("://") + 3;
  const std::size_t path = std::min(base.find('/', authority), base.size());
  if (reference.starts_with("//")) return std::string(base.substr(0, base.find("//"))).append(reference);
  if (reference.starts_with('/')) return std::string(base.substr(0, path)).append(reference);
  const std::size_t last_slash = base.rfind('/');
  if (last_slash == std::string_view::npos || last_slash < path) return join_url(base, reference);
  return std::string(base.substr(0, last_slash + 1)).append(reference);
}

// The target of the first link with this relation: <URL>; rel="next", ... Empty: there is none.
inline std::string link_with_relation(std::string_view links, std::string_view relation) {
  while (true) {
    const std::size_t open = links.find('<');
    const std::size_t close = open == std::string_view::npos ? open : links.find('>', open);
    if (close == std::string_view::npos) return {};
    const std::string_view target = links.substr(open + 1, close - open - 1);
    links.remove_prefix(close + 1);
    std::string_view parameters = links.substr(0, links.find('<'));
    const std::size_t at = parameters.find("rel=");
    if (at == std::string_view::npos) continue;
    parameters.remove_prefix(at + 4);
    if (parameters.starts_with('"')) {
      parameters = parameters.substr(1, parameters.find('"', 1) - 1);
    } else {
      parameters = parameters.substr(0, parameters.find_first_of(";, "));
    }
    // A relation may be a list: rel="next last".
    const std::string padded = " " + std::string(parameters) + " ";
    if (padded.find(" " + std::string(relation) + " ") != std::string::npos) return std::string(target);
  }
}

}  // namespace slipway::detail
