// SPDX-License-Identifier: Apache-2.0
#include "base/secret.hpp"

#include "base/crypto.hpp"

#include <openssl/crypto.h>

#include <ostream>
#include <utility>

namespace slipway {
namespace {

// All of the string's buffer. A short text lies in the string object itself, and a move leaves it there.
void wipe_string(std::string& text) noexcept {
  text.resize(text.capacity());
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

}  // namespace

void wipe(void* memory, std::size_t bytes) noexcept { OPENSSL_cleanse(memory, bytes); }

Secret::Secret(std::string text) : text_(std::move(text)) { wipe_string(text); }

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    text_ = std::move(other.text_);
    other.wipe();
  }
  return *this;
}

Secret::~Secret() { wipe(); }

bool Secret::equals(std::string_view other) const { return constant_time_equal(text_, other); }

void Secret::wipe() noexcept { wipe_string(text_); }

std::ostream& operator<<(std::ostream& out, const Secret&) { return out << "***"; }

}  // namespace slipway
