// SPDX-License-Identifier: Apache-2.0
// sick_zones.hpp - which zones of an environment fail for everybody just now, so that they are tried last.
// One for each environment, in memory only: after a restart three failures find out again. One strand.
#pragma once

#include "model/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::provision {

// One moment on both times (base/clock.hpp): spans are measured on the first, people read the second.
struct Now {
  std::int64_t monotonic_ns = 0;
  std::int64_t utc_ms = 0;
};

// A zone that is tried last, for people. Times in UTC ms.
struct SickZone {
  std::size_t machines = 0;   // that failed in it when it was found sick
  std::int64_t since_ms = 0;  // the first of these failures
  std::int64_t until_ms = 0;  // from then on it is tried like any other

  [[nodiscard]] std::string state() const;  // "failing until 2027-01-15T08:00:00Z", for zone list
  [[nodiscard]] std::string reason() const;  // "tried last: 3 machines failed here since 2027-…", for explain

  bool operator==(const SickZone&) const = default;
};

// After 3 failures of different machines within 60 s and without a success in between, a zone is sick for
// 60 s, the next time for 120 s and so on up to 10 min. A success forgets all of that. Failures while it is
// sick do not make that longer. This changes the order of zones only, never which ones are possible.
class SickZones {
 public:
  // A zone-scoped failure of a machine. An empty zone is nobody's: nothing happens. Times must not go back.
  void note_failure(std::string_view zone, const model::MachineId& machine, std::int64_t now_ns);
  void note_success(std::string_view zone);

  [[nodiscard]] bool is_sick(std::string_view zone, std::int64_t now_ns) const;
  // Nothing if the zone is well.
  [[nodiscard]] std::optional<SickZone> find(std::string_view zone, Now now) const;

 private:
  struct Record {
    std::map<model::MachineId, std::int64_t> failures;  // the last one of each machine, ns
    std::size_t machines = 0;                           // as they were when it was found sick
    std::int64_t since_ns = 0;
    std::int64_t until_ns = 0;
    std::int64_t span_ns = 0;  // of the last sickness; 0: none since a success
  };
  std::map<std::string, Record, std::less<>> records_;
};

}  // namespace slipway::provision
