// SPDX-License-Identifier: Apache-2.0
// constraints.hpp - what a machine must at least have, as people write it: "cores=2 mem=8G zones=a,b
// tags=a,^b". One table of keys (constraints.cpp) drives parsing, printing, merging and conflicts. Pure.
#pragma once

#include <slipway/result.hpp>
#include <slipway/vocabulary.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::model {

// "cores", "mem", ...: all keys in the order in which they are printed; for help and completion.
[[nodiscard]] std::span<const std::string_view> constraint_keys();

// Reads key=value pairs between spaces, in any order. Nothing behind the '=' is an explicit "none", which
// beats a default. Values have no spaces, and quotes do not help: no cloud's names need them, and a set stays
// one word list in shells, files and tables. invalid: an unknown key (with a suggestion), a bad value, a key
// given twice, keys that exclude each other.
[[nodiscard]] Result<Constraints> parse_constraints(std::string_view text);

// The canonical text: parse_constraints() reads it back to an equal value, if check_constraints() accepts the
// value.
[[nodiscard]] std::string print_constraints(const Constraints& constraints);

// For constraints that did not come from a text (the API's JSON). invalid: as parse_constraints().
[[nodiscard]] Status check_constraints(const Constraints& constraints);

// A machine's own constraints over the environment's; both checked, then the result is too. Key by key the
// own one wins, also if it says "none", and what the own ones exclude goes: an instance type drops arch,
// cores, mem and cpu-power of the fallback, one of these drops its instance type. An absent set changes
// nothing, from either side. Of three sets the order matters where an instance type is among them; then merge
// from the outermost to the innermost.
[[nodiscard]] Constraints merge(const Constraints& fallback, const Constraints& own);

// A constraint that the hardware does not meet: "mem=8G" and what is there, "4G" or "not known".
struct Unmet {
  std::string constraint;
  std::string found;

  bool operator==(const Unmet&) const = default;
};

// All that is not met, in the order of the keys; so that everything can be said at once. What is not known is
// not met. The size of a root disk that does not come with the instance (root-disk-source=volume or a pool)
// is not looked at.
[[nodiscard]] std::vector<Unmet> unmet(const Constraints& constraints, const Hardware& hardware);

}  // namespace slipway::model
