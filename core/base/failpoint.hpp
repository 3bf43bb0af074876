// SPDX-License-Identifier: Apache-2.0
// failpoint.hpp - named places where a test can make the process fail: return an error, wait, or die at once
// as from kill -9. Off unless allow_for_tests() was called (the daemon does that only under its test flag);
// each hit is counted while they are allowed, so that a suite can prove that it reached every one.
#pragma once

#include <slipway/result.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace slipway {

// One place in the code, a variable of its .cpp outside of any function, so that its name is known before the
// code is reached: `FailPoint before_commit("store.before_commit");` Thread-safe.
class FailPoint {
 public:
  explicit FailPoint(std::string_view name);
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;

  // Free when off: one relaxed load. Otherwise counts, and does what was armed: an error (internal, naming
  // the point), a delay, or the end of the process by SIGKILL.
  Status hit() const { return any_allowed().load(std::memory_order_relaxed) ? hit_slowly() : ok(); }

  static std::atomic<bool>& any_allowed();

 private:
  Status hit_slowly() const;
  std::string name_;
};

namespace failpoints {
// From now on points can be armed and hits are counted.
void allow_for_tests();
// "NAME=ACTION[@N]": ACTION is error, error:CODE, delay:MS, crash or off; @N: only at the N-th hit from now
// (default: every hit), then the point is off again. MS is at most 60000, a real delay. Several are separated
// by ';'; all of them are armed or none. Refused (denied) unless allowed; an unknown action or name without a
// registered point is invalid, with a suggestion.
Status arm(std::string_view spec);
void disarm_all();
// Hits of each registered point since the process started, 0 included.
[[nodiscard]] std::map<std::string, std::uint64_t> hits();
}  // namespace failpoints

}  // namespace slipway
