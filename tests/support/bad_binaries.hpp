// SPDX-License-Identifier: Apache-2.0
// bad_binaries.hpp - the part of the catalogue of bad artefacts that concerns library and manifest. One
// thread.
#pragma once

#include "support/bad_artefacts.hpp"

#include <vector>

namespace slipway::testing {

[[nodiscard]] std::vector<BadArtefact> bad_libraries();   // elf
[[nodiscard]] std::vector<BadArtefact> bad_notes();       // note, abi
[[nodiscard]] std::vector<BadArtefact> bad_manifests();   // manifest
[[nodiscard]] std::vector<BadArtefact> bad_agreements();  // agreement
[[nodiscard]] std::vector<BadArtefact> bad_loading();     // libraries, run_path, exports, hardening

}  // namespace slipway::testing
