// SPDX-License-Identifier: Apache-2.0
// secret.hpp - text that must not be seen: prints ***, is wiped when it goes, and is read only through
// reveal().
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace slipway {

// Overwrites memory that held secret text; not optimised away.
void wipe(void* memory, std::size_t bytes) noexcept;

// A value; not thread-safe by itself. Copies are deliberate: copy(). SECURITY 2.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text);
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  [[nodiscard]] Secret copy() const { return Secret(text_); }
  // The text itself. Every call is a place to look at in a review.
  [[nodiscard]] std::string_view reveal() const { return text_; }
  [[nodiscard]] bool is_empty() const { return text_.empty(); }
  // Constant time in the content (not in the length).
  [[nodiscard]] bool equals(std::string_view other) const;

 private:
  void wipe() noexcept;
  std::string text_;
};

std::ostream& operator<<(std::ostream& out, const Secret&);  // ***

}  // namespace slipway
