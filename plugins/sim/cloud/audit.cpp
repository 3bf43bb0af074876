// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/audit.hpp"

#include <set>

namespace slipway::sim {

std::vector<Double> Audit::doubles() const {
  std::map<std::pair<ResourceKind, std::string>, Double> by_nonce;
  for (const Trace& trace : resources) {
    if (trace.nonce.empty()) continue;
    Double& made = by_nonce[{trace.kind, trace.nonce}];
    made.kind = trace.kind;
    made.nonce = trace.nonce;
    made.ids.push_back(trace.id);
    made.alive += trace.removed_ms ? 0U : 1U;
  }
  std::vector<Double> out;
  for (auto& [key, made] : by_nonce) {
    if (made.ids.size() > 1) out.push_back(std::move(made));
  }
  return out;
}

std::vector<Trace> Audit::leaks(const Marker& owner, const std::vector<Marker>& live) const {
  const std::set<Marker> wanted(live.begin(), live.end());
  std::vector<Trace> out;
  for (const Trace& trace : resources) {
    if (!trace.removed_ms && is_owned(trace.marker, owner) && wanted.count(trace.marker) == 0)
      out.push_back(trace);
  }
  return out;
}

std::vector<Marker> Audit::missing(ResourceKind kind, const std::vector<Marker>& live) const {
  std::set<Marker> there;
  for (const Trace& trace : resources) {
    if (trace.kind == kind && !trace.removed_ms) there.insert(trace.marker);
  }
  std::vector<Marker> out;
  for (const Marker& marker : live) {
    if (there.count(marker) == 0) out.push_back(marker);
  }
  return out;
}

}  // namespace slipway::sim
