// SPDX-License-Identifier: Apache-2.0
// result.hpp - a value or an Error, and fail() to make one. The names are those of std::expected (C++23).
// Shared by the core and by plugins; needs nothing but the standard library and Boost.Describe.
// Thread rule: plain values; no shared state.
#pragma once

#include <slipway/abi.h>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enum_to_string.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace slipway {

// What kind of failure it is. The values are the binary contract's (abi.h); DESIGN 4.2 says what the core
// does with each.
enum class Code : std::int32_t {
  invalid = SLIPWAY_INVALID,
  not_found = SLIPWAY_NOT_FOUND,
  conflict = SLIPWAY_CONFLICT,
  unauthenticated = SLIPWAY_UNAUTHENTICATED,
  denied = SLIPWAY_DENIED,
  exhausted = SLIPWAY_EXHAUSTED,
  unavailable = SLIPWAY_UNAVAILABLE,
  deadline = SLIPWAY_DEADLINE,
  cancelled = SLIPWAY_CANCELLED,
  unsupported = SLIPWAY_UNSUPPORTED,
  internal = SLIPWAY_INTERNAL
};
BOOST_DESCRIBE_ENUM(Code, invalid, not_found, conflict, unauthenticated, denied, exhausted, unavailable,
                    deadline, cancelled, unsupported, internal)

// How far a failure reaches: it decides whether another zone is tried, or the whole environment waits.
enum class Scope { request, zone, region, account };
BOOST_DESCRIBE_ENUM(Scope, request, zone, region, account)

// Whether the effect may have happened. `rejected` needs proof; without proof it is `unknown`, and a create
// is then resolved by its nonce before anything else is tried (EXACTLY_ONCE, Algorithm 3).
enum class Outcome { unknown, rejected };
BOOST_DESCRIBE_ENUM(Outcome, unknown, rejected)

// The cloud's own figures behind an `exhausted`.
struct Quota {
  std::string resource;  // the cloud's word: "instances", "cores"
  std::uint64_t limit = 0;
  std::uint64_t used = 0;

  bool operator==(const Quota&) const = default;
};
BOOST_DESCRIBE_STRUCT(Quota, (), (resource, limit, used))

// Message: lower case, no full stop; what was wanted, what was got, where; for an operator also what to do.
struct Error {
  Code code = Code::internal;
  std::string message;
  Scope scope = Scope::request;
  Outcome outcome = Outcome::unknown;
  std::optional<std::int64_t> retry_after_ms;  // not before this many milliseconds from now
  std::optional<Quota> quota;
  std::string accepted_id;  // the provider's id, when it is known although the call failed
  std::map<std::string, std::string> details;

  bool operator==(const Error&) const = default;

  // The same error seen from one layer further up: "starting machine 7: " + message. Each layer adds its own
  // once.
  [[nodiscard]] Error within(std::string_view context) const& {
    Error copy = *this;
    return std::move(copy).within(context);
  }
  [[nodiscard]] Error within(std::string_view context) && {
    message.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }
};
BOOST_DESCRIBE_STRUCT(Error, (), (code, message, scope, outcome, retry_after_ms, quota, accepted_id, details))

namespace detail {

// A value as text for a message: strings as they are, enumerators by name, durations in milliseconds.
template <class T>
void append_text(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    out += value;
  } else if constexpr (std::is_enum_v<T>) {
    out += boost::describe::enum_to_string(value, "?");
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(value);
  } else if constexpr (requires { std::chrono::duration_cast<std::chrono::milliseconds>(value); }) {
    append_text(out, std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
    out += " ms";
  } else {
    static_assert(
        requires { std::string_view(value.value); },
        "fail() takes strings, numbers, described enums, durations and id types with a member `value`");
    out += std::string_view(value.value);
  }
}

// "{}" stands for the next argument, "{{" and "}}" for a brace. The count is checked when the call is
// compiled.
template <class... Args>
struct MessageFormat {
  std::string_view text;

  template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
  consteval MessageFormat(const Text& format) : text(format) {  // NOLINT(google-explicit-constructor)
    std::size_t places = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '{' && text[i] != '}') continue;
      if (i + 1 < text.size() && text[i + 1] == text[i]) {
        ++i;
      } else if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '}') {
        ++places;
        ++i;
      } else {
        stray_brace_in_message_format();
      }
    }
    if (places != sizeof...(Args)) number_of_arguments_differs_from_places_in_message_format();
  }

 private:
  // Not constexpr on purpose: reaching one of these is the compile error, and its name is the message.
  static void stray_brace_in_message_format() {}
  static void number_of_arguments_differs_from_places_in_message_format() {}
};

template <class... Args>
std::string format_message(std::string_view format, const Args&... args) {
  std::string out;
  out.reserve(format.size() + 16 * sizeof...(Args));
  std::size_t at = 0;
  const auto copy_to_next_place = [&] {
    for (; at < format.size(); ++at) {
      const char c = format[at];
      if (c == '{' && format[at + 1] == '}') {
        at += 2;
        return;
      }
      if (c == '{' || c == '}') ++at;  // doubled
      out += c;
    }
  };
  (
      [&] {
        copy_to_next_place();
        append_text(out, args);
      }(),
      ...);
  copy_to_next_place();
  return out;
}

}  // namespace detail

// "no capacity in zone {}" with its arguments put in. The format is checked at compile time.
template <class... Args>
[[nodiscard]] std::string message(detail::MessageFormat<std::type_identity_t<Args>...> format,
                                  const Args&... args) {
  return detail::format_message(format.text, args...);
}

// What fail() returns: an Error under construction. Converts to Error and to any Result.
class [[nodiscard]] Failure {
 public:
  Failure(Code code, std::string message) {
    error_.code = code;
    error_.message = std::move(message);
  }

  Failure&& scope(Scope scope) && { return std::move(set(error_.scope, scope)); }
  // Proof exists that nothing was made.
  Failure&& rejected() && { return std::move(set(error_.outcome, Outcome::rejected)); }
  Failure&& retry_after(std::chrono::milliseconds delay) && {
    return std::move(set(error_.retry_after_ms, std::optional<std::int64_t>(delay.count())));
  }
  Failure&& quota(std::string resource, std::uint64_t limit, std::uint64_t used) && {
    return std::move(set(error_.quota, std::optional(Quota{std::move(resource), limit, used})));
  }
  Failure&& accepted_id(std::string id) && { return std::move(set(error_.accepted_id, std::move(id))); }
  Failure&& detail(const std::string& key, std::string value) && {
    return std::move(set(error_.details[key], std::move(value)));
  }

  operator Error() && { return std::move(error_); }  // NOLINT(google-explicit-constructor)

 private:
  template <class T>
  Failure& set(T& member, T value) {
    member = std::move(value);
    return *this;
  }

  Error error_;
};

// return fail(Code::exhausted, "no capacity in zone {}", zone).scope(Scope::zone).rejected();
template <class... Args>
Failure fail(Code code, detail::MessageFormat<std::type_identity_t<Args>...> format, const Args&... args) {
  return Failure(code, detail::format_message(format.text, args...));
}

// A value or an Error. Reading the value of a failed Result, or the error of a good one, ends the process.
// In builds with SLIPWAY_CHECK_RESULTS a failed Result that nobody looked at ends the process too (dev
// preset).
template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Error> && !std::is_reference_v<T>);

 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  Result(Failure failure)
      : Result(static_cast<Error>(std::move(failure))) {}  // NOLINT(google-explicit-constructor)
  // From what T can be made of: `return "text";` in a Result<std::string>, `return nullptr;` in a
  // Result<unique_ptr>.
  template <class U>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Result> && !std::same_as<std::remove_cvref_t<U>, Error> &&
           !std::same_as<std::remove_cvref_t<U>, Failure>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)

#ifdef SLIPWAY_CHECK_RESULTS
  Result(const Result& other) : state_(other.state_) { other.read_ = true; }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : state_(std::move(other.state_)) {
    other.read_ = true;
  }
  Result& operator=(const Result& other) {
    check_was_read();
    state_ = other.state_;
    other.read_ = true;
    read_ = false;
    return *this;
  }
  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    check_was_read();
    state_ = std::move(other.state_);
    other.read_ = true;
    read_ = false;
    return *this;
  }
  ~Result() { check_was_read(); }
#endif

  [[nodiscard]] bool has_value() const noexcept {
    mark_read();
    return state_.index() == 0;
  }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& value() & { return get_value(*this); }
  [[nodiscard]] const T& value() const& { return get_value(*this); }
  [[nodiscard]] T&& value() && { return std::move(get_value(*this)); }
  T& operator*() & { return get_value(*this); }
  const T& operator*() const& { return get_value(*this); }
  T&& operator*() && { return std::move(get_value(*this)); }
  T* operator->() { return &get_value(*this); }
  const T* operator->() const { return &get_value(*this); }
  [[nodiscard]] T value_or(T other) const& { return has_value() ? **this : std::move(other); }
  [[nodiscard]] T value_or(T other) && { return has_value() ? *std::move(*this) : std::move(other); }

  [[nodiscard]] const Error& error() const& { return get_error(*this); }
  [[nodiscard]] Error&& error() && { return std::move(get_error(*this)); }

 private:
  template <class Self>
  static auto& get_value(Self& self) {
    self.mark_read();
    auto* value = std::get_if<0>(&self.state_);
    if (value == nullptr) {
      end_process("the value of a failed Result was read", std::get_if<1>(&self.state_)->message);
    }
    return *value;
  }
  template <class Self>
  static auto& get_error(Self& self) {
    self.mark_read();
    auto* error = std::get_if<1>(&self.state_);
    if (error == nullptr) end_process("the error of a good Result was read", "");
    return *error;
  }
  [[noreturn]] static void end_process(const char* what, const std::string& message) {
    std::fprintf(stderr, "slipway: programmer error: %s: %s\n", what, message.c_str());
    std::abort();
  }

#ifdef SLIPWAY_CHECK_RESULTS
  void mark_read() const noexcept { read_ = true; }
  void check_was_read() const noexcept {
    if (!read_ && state_.index() == 1)
      end_process("a failed Result was never read", std::get_if<1>(&state_)->message);
  }
  mutable bool read_ = false;
#else
  static void mark_read() noexcept {}
#endif

  std::variant<T, Error> state_;
};

// Success without a value.
struct Unit {
  bool operator==(const Unit&) const = default;
};
BOOST_DESCRIBE_STRUCT(Unit, (), ())

using Status = Result<Unit>;
inline Status ok() { return Unit{}; }

}  // namespace slipway

// The only control-flow macro: gives an error on to the caller, or goes on with the value.
//   SLIPWAY_TRY(store.open());                        // a Status
//   SLIPWAY_TRY(const auto machine, store.machine(id));
#define SLIPWAY_TRY(first, ...) SLIPWAY_DETAIL_TRY##__VA_OPT__(_VALUE)(first __VA_OPT__(, ) __VA_ARGS__)
#define SLIPWAY_DETAIL_TRY(...)                                             \
  do {                                                                      \
    if (auto slipway_status_ = (__VA_ARGS__); !slipway_status_.has_value()) \
      return std::move(slipway_status_).error();                            \
  } while (false)
#define SLIPWAY_DETAIL_TRY_VALUE(declaration, ...) \
  SLIPWAY_DETAIL_TRY_NAMED(SLIPWAY_DETAIL_JOIN(slipway_result_, __COUNTER__), declaration, __VA_ARGS__)
#define SLIPWAY_DETAIL_TRY_NAMED(result, declaration, ...)     \
  auto result = (__VA_ARGS__);                                 \
  if (!(result).has_value()) return std::move(result).error(); \
  declaration = *std::move(result)
#define SLIPWAY_DETAIL_JOIN(a, b) SLIPWAY_DETAIL_JOIN_EXPANDED(a, b)
#define SLIPWAY_DETAIL_JOIN_EXPANDED(a, b) a##b
