// SPDX-License-Identifier: Apache-2.0
// load_rules.hpp - what the loader would do with a library, held against what it may. Pure.
#pragma once

#include "plugin/elf_file.hpp"
#include "plugin/trust_check.hpp"

#include <slipway/messages/manifest.hpp>

#include <set>
#include <string>
#include <string_view>

namespace slipway::plugin {

// Libraries that a plugin of the profile may need, sorted: the C and C++ run time, and for `system` what
// makes machines on this host. All else a plugin links statically, so that it brings what it was tested with.
[[nodiscard]] std::set<std::string> allowed_libraries(Profile profile);

// Refused by `libraries`, `run_path`, `exports` or `hardening`.
[[nodiscard]] Status check_loading(const ElfFacts& elf, Profile profile, std::string_view path,
                                   const DisabledChecks& disabled = {});

}  // namespace slipway::plugin
