// SPDX-License-Identifier: Apache-2.0
// manifest_fuzz.cpp - any bytes as plugin.json: what is taken keeps its rules and comes back from its own
// text.
#include "base/text.hpp"
#include "plugin/manifest_rules.hpp"

#include <slipway/codec.hpp>

#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace slipway;
  const auto manifest = plugin::read_manifest({reinterpret_cast<const char*>(data), size});
  if (!manifest) {
    if (manifest.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = encode(*manifest);
  if (!text::is_plain(text)) std::abort();
  const auto again = plugin::read_manifest(text);
  if (!again || again->methods != manifest->methods || again->name != manifest->name) std::abort();
  return 0;
}
