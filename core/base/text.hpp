// SPDX-License-Identifier: Apache-2.0
// text.hpp - small things with text that several modules need: suggestions, sizes, printable text. Pure.
#pragma once

#include <slipway/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::text {

// The candidate that a mistyped word most likely meant: the smallest edit distance with swaps (Damerau), at
// most a third of the word's length (at least 1); nothing when none is near. Ties: the first candidate.
[[nodiscard]] std::optional<std::string_view> closest(std::string_view word,
                                                      std::span<const std::string_view> candidates);
// " (did you mean \"zones\"?)", or nothing: to be put behind an error's message.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// The parts between separators: always one more than there are separators, so one for an empty text.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
// Without spaces, tabs and ends of line at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// "512M", "8G", "1.5T", or a bare number of MiB, as MiB (binary units, M G T P; fractions are rounded up).
// invalid: anything else, and what does not fit.
[[nodiscard]] Result<std::uint64_t> parse_mib(std::string_view text);
// The shortest exact form that parse_mib reads back: 8192 -> "8G", 1536 -> "1536M".
[[nodiscard]] std::string format_mib(std::uint64_t mib);

// "500ms", "30s", "10m", "2h", "90d": a whole number and a unit, as milliseconds. invalid: anything else, and
// what does not fit.
[[nodiscard]] Result<std::int64_t> parse_duration_ms(std::string_view text);
// The form with the largest unit that is exact: 90'000 -> "90s", 0 -> "0ms".
[[nodiscard]] std::string format_duration_ms(std::int64_t ms);
// UTC to the second, for people: "2027-01-15T08:00:00Z".
[[nodiscard]] std::string format_utc_ms(std::int64_t utc_ms);

// True if the text is valid UTF-8 without control characters (C0, DEL, C1) and without bidirectional
// controls.
[[nodiscard]] bool is_plain(std::string_view text);
// The text with everything that is_plain() refuses written as \xNN or \u{NNNN}: one line, safe on a terminal.
[[nodiscard]] std::string escaped(std::string_view text);
// [a-z0-9][a-z0-9-]{0,max-1}: names of environments, groups, pools, spaces. The error names the field.
[[nodiscard]] Status check_name(std::string_view field, std::string_view name, std::size_t max = 63);

}  // namespace slipway::text
