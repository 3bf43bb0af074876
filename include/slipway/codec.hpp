// SPDX-License-Identifier: Apache-2.0
// codec.hpp - described structs to JSON and back, tolerant of growth on both sides: an unknown member is
// skipped, an absent one keeps its default, and an error names the place: `volumes[1].size_mib: expected an
// unsigned integer, got a string`. Rules in include/README.md. Boost.JSON's own conversions refuse unknown
// members and never name the place. Nothing here throws but std::bad_alloc. Thread rule: free functions
// without state.
#pragma once

#include <slipway/detail/json_read.hpp>
#include <slipway/detail/json_write.hpp>
#include <slipway/result.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace slipway {

enum class UnknownFields {
  skip,    // they are a newer peer's
  refuse,  // a person may have mistyped them; the error suggests what was meant
};

// The limits bound decode(), which reads text; from_json() takes the value as it is.
struct DecodeOptions {
  UnknownFields unknown_fields = UnknownFields::skip;
  std::size_t max_bytes = SLIPWAY_MESSAGE_MAX_BYTES;
  std::size_t max_depth = 32;  // arrays and objects inside each other
};

struct EncodeOptions {
  bool omit_defaults = false;  // leave out members that equal their default; required ones are always written
};

template <class T>
[[nodiscard]] json::value to_json(const T& x, const EncodeOptions& options = {}) {
  return detail::Writer(options.omit_defaults, {}).write(x);
}

// Compact JSON. Strings must be UTF-8, else no peer can read it (Bytes are for all else). A member that is an
// infinite or undefined number becomes null; a json::value must hold none.
template <class T>
[[nodiscard]] std::string encode(const T& x, const EncodeOptions& options = {}) {
  std::array<unsigned char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): scratch
  json::monotonic_resource memory(buffer.data(), buffer.size());
  return json::serialize(detail::Writer(options.omit_defaults, &memory).write(x));
}

// invalid: not what T says; the message says which member, what was expected and what came.
template <class T>
[[nodiscard]] Result<T> from_json(const json::value& value, const DecodeOptions& options = {}) {
  T out{};
  SLIPWAY_TRY(detail::Reader(options.unknown_fields == UnknownFields::refuse).read_document(value, out));
  return out;
}

// Also invalid: not JSON (with the byte where it stops being that), not UTF-8, too large, too deep. Of a
// member that stands twice the last one counts.
template <class T>
[[nodiscard]] Result<T> decode(std::string_view text, const DecodeOptions& options = {}) {
  std::array<unsigned char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): scratch
  json::monotonic_resource memory(buffer.data(), buffer.size());
  SLIPWAY_TRY(const json::value value, detail::parse(text, options.max_bytes, options.max_depth, &memory));
  return from_json<T>(value, options);
}

// An Error as the body that travels beside its status (abi.h).
[[nodiscard]] inline std::string encode_error(const Error& error) {
  return encode(error, {.omit_defaults = true});
}

// And back. The status wins over the body's code. An empty body is allowed; one that cannot be read makes the
// error internal and is quoted. An unknown status, or SLIPWAY_OK, is internal.
[[nodiscard]] inline Error decode_error(slipway_status status, std::string_view text) {
  constexpr std::size_t kQuoted = 200;
  const bool is_known = status >= SLIPWAY_INVALID && status <= SLIPWAY_INTERNAL;
  const Code code = is_known ? static_cast<Code>(status) : Code::internal;
  if (text.empty()) return fail(code, "no reason was given (status {})", status);
  constexpr DecodeOptions kLimits;
  Error error;
  const auto value = detail::parse(text, kLimits.max_bytes, kLimits.max_depth);
  if (!value || !detail::Reader(false).read_document(*value, error)) {
    std::string quoted = detail::excerpt(text, kQuoted);
    for (char& c : quoted) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';  // it need not be UTF-8, and the message must
    }
    return fail(Code::internal, "status {} with an unreadable body: {}", status, quoted);
  }
  error.code = code;
  return error;
}

}  // namespace slipway
