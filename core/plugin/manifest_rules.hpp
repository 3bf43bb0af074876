// SPDX-License-Identifier: Apache-2.0
// manifest_rules.hpp - what a plugin.json must keep beside the types of its members, and that it belongs to
// the library beside it. Pure.
#pragma once

#include "plugin/elf_file.hpp"

#include <slipway/messages/manifest.hpp>

#include <cstddef>
#include <string_view>

namespace slipway::plugin {

inline constexpr std::size_t kManifestMaxBytes = 1U << 20U;

// The majors of the binary contract that this host speaks (abi.h).
struct AbiRange {
  std::uint32_t min_major = SLIPWAY_ABI_MAJOR;
  std::uint32_t max_major = SLIPWAY_ABI_MAJOR;
};

// [a-z][a-z0-9-]{0,31}, what names of plugins look like.
[[nodiscard]] bool is_plugin_name(std::string_view name);

// The text of a plugin.json, or the bytes that describe answered. Errors name the member:
// `methods[3]: expected ...`.
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text);
// The rules alone: names, version, kinds, methods, settings, limits, and no control characters anywhere.
[[nodiscard]] Status check_manifest(const Manifest& manifest);

// The library's note says the same as the manifest, and the library is named after the plugin.
[[nodiscard]] Status agree(const Manifest& manifest, const ElfFacts& elf, std::string_view library_path);

// unsupported: the file, what it was built for, what this host speaks, what to do.
[[nodiscard]] Status check_abi(const slipway_note& note, std::string_view path, const AbiRange& host = {});

// The groups of its methods, sorted: "volumes" of "volumes.create/1".
[[nodiscard]] std::vector<std::string> method_groups(const Manifest& manifest);

}  // namespace slipway::plugin
