// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <limits>
#include <utility>

namespace slipway::text {
namespace {

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each 1.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// The number that the whole text is; nothing for signs, spaces, other letters, and what does not fit.
std::optional<std::uint64_t> whole_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kSizes = {{{"P", 1U << 30U}, {"T", 1U << 20U}, {"G", 1U << 10U}, {"M", 1}}};
constexpr std::array<Unit, 5> kDurations = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// The largest unit that gives a whole number; the last one for 0.
template <std::size_t N>
std::string with_unit(std::uint64_t number, const std::array<Unit, N>& units) {
  const auto unit = std::find_if(units.begin(), units.end() - 1,
                                 [&](const Unit& u) { return number != 0 && number % u.factor == 0; });
  return std::to_string(number / unit->factor).append(unit->suffix);
}

// ceil(0.DIGITS * factor), exactly; nothing if there are no digits or more than nine, with which the product
// always fits.
std::optional<std::uint64_t> fraction_of(std::string_view digits, std::uint64_t factor) {
  const auto numerator = whole_number(digits);
  if (!numerator || digits.size() > 9) return std::nullopt;
  std::uint64_t denominator = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) denominator *= 10;
  return (*numerator * factor + denominator - 1) / denominator;
}

std::optional<std::uint64_t> size_in_mib(std::string_view text) {
  std::uint64_t factor = 1;
  for (const Unit& unit : kSizes) {
    if (text.ends_with(unit.suffix)) {
      factor = unit.factor;
      text.remove_suffix(unit.suffix.size());
      break;
    }
  }
  std::uint64_t part = 0;
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    const auto fraction = fraction_of(text.substr(point + 1), factor);
    if (!fraction) return std::nullopt;
    part = *fraction;
    text = text.substr(0, point);
  }
  const auto whole = whole_number(text);
  std::uint64_t mib = 0;
  if (!whole || __builtin_mul_overflow(*whole, factor, &mib) || __builtin_add_overflow(mib, part, &mib)) {
    return std::nullopt;
  }
  return mib;
}

// One character of UTF-8 at the start of the text (not empty). `size` is 0 if there is none: a stray or
// missing byte, a form longer than needed, a surrogate, or beyond U+10FFFF (Unicode 15, table 3-7).
struct Character {
  char32_t code = 0;
  std::size_t size = 0;
};
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  char32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  const bool is_overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (is_overlong || is_surrogate || code > 0x10ffff) return {};
  return {code, size};
}

// C0, DEL and C1; and what turns the direction of the text around it.
bool is_control(char32_t code) {
  const bool is_bidi = code == 0x061c || code == 0x200e || code == 0x200f ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || is_bidi;
}

void append_hex(std::string& out, std::uint32_t number, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = digits; i-- > 0;) out += kDigits[(number >> (4 * i)) & 15U];
}

}  // namespace

std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> candidates) {
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string_view> best;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > limit) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > limit || (best && distance == limit)) continue;
    best = candidate;
    limit = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const auto near = closest(word, candidates);
  return near ? message(" (did you mean \"{}\"?)", *near) : std::string();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kSpace);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kSpace) - start + 1);
}

Result<std::uint64_t> parse_mib(std::string_view text) {
  if (const auto mib = size_in_mib(text)) return *mib;
  return fail(Code::invalid, "expected a size such as 512M, 8G or 1.5T (a bare number is MiB), got \"{}\"",
              text);
}

std::string format_mib(std::uint64_t mib) { return with_unit(mib, kSizes); }

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  const std::string_view suffix = text.substr(digits.size());
  const auto unit =
      std::find_if(kDurations.begin(), kDurations.end(), [&](const Unit& u) { return u.suffix == suffix; });
  const auto number = whole_number(digits);
  std::int64_t ms = 0;
  if (unit == kDurations.end() || !number || __builtin_mul_overflow(*number, unit->factor, &ms)) {
    return fail(Code::invalid, "expected a duration such as 500ms, 30s, 10m, 2h or 90d, got \"{}\"", text);
  }
  return ms;
}

std::string format_duration_ms(std::int64_t ms) {
  return ms < 0 ? "-" + with_unit(0 - static_cast<std::uint64_t>(ms), kDurations)
                : with_unit(static_cast<std::uint64_t>(ms), kDurations);
}

std::string format_utc_ms(std::int64_t utc_ms) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(utc_ms)).count();
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {buffer.data(), length};
}

bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.size == 0 || is_control(c.code)) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.size == 0 || c.code < 0x80) {
      if (c.size != 0 && !is_control(c.code)) {
        out += text.front();
      } else {
        out += "\\x";
        append_hex(out, static_cast<std::uint8_t>(text.front()), 2);
      }
    } else if (is_control(c.code)) {
      out += "\\u{";
      append_hex(out, c.code, 4);
      out += '}';
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(std::max<std::size_t>(1, c.size));
  }
  return out;
}

Status check_name(std::string_view field, std::string_view name, std::size_t max) {
  const auto is_letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!name.empty() && name.size() <= max && is_letter_or_digit(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return c == '-' || is_letter_or_digit(c); })) {
    return ok();
  }
  return fail(Code::invalid,
              "{}: expected 1 to {} characters of a-z, 0-9 and -, the first a letter or digit, got \"{}\"",
              field, max, name);
}

}  // namespace slipway::text
