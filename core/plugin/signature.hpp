// SPDX-License-Identifier: Apache-2.0
// signature.hpp - plugin.sig: who vouches for which files of which plugin. A text that people can read:
//   slipway-plugin-signature 1
//   key ed25519:8Q2f...
//   name nimbus
//   version 0.1.0
//   file 3fa9...  LICENSE          one line a file, sorted by path; plugin.sig itself is not listed
//   signature BASE64               Ed25519 over all the bytes above this line
// There is exactly one text for a content, and only that is read. Thread rule: values.
#pragma once

#include "base/signing.hpp"
#include "plugin/package.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace slipway::plugin {

inline constexpr std::size_t kSignatureMaxBytes = 64U << 10U;

struct PackageSignature {
  KeyId key;
  std::string name;
  std::string version;
  FileHashes files;
  std::string signature;  // 64 bytes

  // The bytes that are signed.
  [[nodiscard]] std::string signed_text() const;
  // The whole plugin.sig.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] PackageSignature sign_package(const SigningKey& key, std::string name, std::string version,
                                            FileHashes files);
// invalid: with the line and what was expected there.
[[nodiscard]] Result<PackageSignature> parse_signature(std::string_view text);

}  // namespace slipway::plugin
