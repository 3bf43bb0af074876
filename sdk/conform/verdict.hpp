// SPDX-License-Identifier: Apache-2.0
// verdict.hpp - how a test says no: return unmet("start was called twice ...; wanted ..., got
// ...").why("..."). An Error like any other, so that SLIPWAY_TRY gives a failed step on as the test's
// failure. Thread rule: values.
#pragma once

#include "conform/conform.hpp"

#include <string>
#include <utility>

namespace slipway::conform {

class Unmet {
 public:
  explicit Unmet(std::string what) { error_.message = std::move(what); }

  Unmet&& why(std::string text) && { return std::move(set("why", std::move(text))); }
  Unmet&& look_at(std::string text) && { return std::move(set("look_at", std::move(text))); }
  Unmet&& to_do(std::string text) && { return std::move(set("to_do", std::move(text))); }

  template <class T>
  operator Result<T>() && {  // NOLINT(google-explicit-constructor)
    return std::move(error_);
  }
  operator Error() && { return std::move(error_); }  // NOLINT(google-explicit-constructor)

 private:
  Unmet& set(const std::string& key, std::string text) {
    error_.details[key] = std::move(text);
    return *this;
  }
  Error error_;
};

template <class... Args>
[[nodiscard]] Unmet unmet(slipway::detail::MessageFormat<std::type_identity_t<Args>...> format,
                          const Args&... args) {
  return Unmet(slipway::detail::format_message(format.text, args...));
}

namespace detail {
inline constexpr const char* kVerdict = "verdict";
inline Error without_verdict(std::string verdict, std::string reason) {
  Error error;
  error.message = std::move(reason);
  error.details[kVerdict] = std::move(verdict);
  return error;
}
}  // namespace detail

// The plugin has nothing that could be tested.
[[nodiscard]] inline Error not_applicable(std::string reason) {
  return detail::without_verdict("not_applicable", std::move(reason));
}
// It has, but this run cannot test it.
[[nodiscard]] inline Error skipped(std::string reason) {
  return detail::without_verdict("skipped", std::move(reason));
}

// What a test's end means. A step that failed by itself (a call that the test needs) has no advice of its
// own.
[[nodiscard]] TestResult result_of(std::string name, const Status& end);

}  // namespace slipway::conform
