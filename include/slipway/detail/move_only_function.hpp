// SPDX-License-Identifier: Apache-2.0
// move_only_function.hpp - a callback that may capture what cannot be copied, above all a Completion.
// std::function wants copies, and std::move_only_function is C++23. Thread rule: an object is of one thread
// at a time.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace slipway::detail {

template <class Signature>
class MoveOnlyFunction;

template <class R, class... Args>
class MoveOnlyFunction<R(Args...)> {
 public:
  MoveOnlyFunction() = default;

  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, MoveOnlyFunction> &&
           std::is_invocable_r_v<R, std::remove_cvref_t<F>&, Args...>)
      MoveOnlyFunction(F&& function)  // NOLINT(google-explicit-constructor): as std::function
      : target_(std::make_unique<Target<std::remove_cvref_t<F>>>(std::forward<F>(function))) {}

  explicit operator bool() const { return target_ != nullptr; }
  R operator()(Args... args) { return target_->run(std::forward<Args>(args)...); }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    virtual R run(Args... args) = 0;
  };
  template <class F>
  struct Target final : Base {
    template <class From>
    explicit Target(From&& from) : function(std::forward<From>(from)) {}
    R run(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };

  std::unique_ptr<Base> target_;
};

}  // namespace slipway::detail
