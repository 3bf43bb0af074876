// SPDX-License-Identifier: Apache-2.0
// audit.hpp - the cloud's own truth, for a judge: every resource that ever was, every call that came, and the
// questions that decide a run: was anything made twice, is anything left that nobody wants, is anything gone
// that somebody wants. It travels as JSON, so that a harness can ask a cloud in another process. Thread rule:
// values.
#pragma once

#include "sim/cloud/table.hpp"

#include <cstdint>

namespace slipway::sim {

struct CallCount {
  std::uint64_t received = 0;
  std::uint64_t done = 0;     // effects that took place; of one call two (duplicate) or a late one
  std::uint64_t refused = 0;  // answered with an error
  std::uint64_t lost = 0;     // not answered
};
BOOST_DESCRIBE_STRUCT(CallCount, (), (received, done, refused, lost))

// One call, or the late effect of one.
struct RequestTrace {
  std::uint64_t number = 0;
  std::int64_t at_ms = 0;
  std::int64_t due_ms = 0;
  std::string method;
  std::string nonce;
  std::string fault;   // the action's name; empty: none
  std::string result;  // "ok", the error's code, or empty: nothing was done
  bool is_lost = false;
  bool is_late = false;

  bool operator==(const RequestTrace&) const = default;
};
BOOST_DESCRIBE_STRUCT(RequestTrace, (),
                      (number, at_ms, due_ms, method, nonce, fault, result, is_lost, is_late))

// Resources of one kind that were made for one nonce.
struct Double {
  ResourceKind kind = ResourceKind::unknown;
  std::string nonce;
  std::vector<std::string> ids;
  std::uint64_t alive = 0;  // of them, now
};
BOOST_DESCRIBE_STRUCT(Double, (), (kind, nonce, ids, alive))

struct Audit {
  std::int64_t now_ms = 0;
  std::vector<Trace> resources;
  std::map<std::string, CallCount> calls;  // by method

  // Every nonce that made more than one of a kind, also when all but one are gone.
  [[nodiscard]] std::vector<Double> doubles() const;

  // What is there, bears the owner's entries, and has none of these markers: nobody wants it.
  [[nodiscard]] std::vector<Trace> leaks(const Marker& owner, const std::vector<Marker>& live) const;

  // Those of the markers that nothing of this kind bears.
  [[nodiscard]] std::vector<Marker> missing(ResourceKind kind, const std::vector<Marker>& live) const;
};
BOOST_DESCRIBE_STRUCT(Audit, (), (now_ms, resources, calls))

}  // namespace slipway::sim
