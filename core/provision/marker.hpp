// SPDX-License-Identifier: Apache-2.0
// marker.hpp - whose a resource is, as it stands on the resource: controller, environment, machine and nonce,
// signed with a key of the controller's, so that nothing that merely looks like ours is ever touched
// (EXACTLY_ONCE, Marker; SECURITY). Pure.
//
// labels   slipway-controller, slipway-environment (UUIDs), slipway-machine, slipway-nonce, slipway-signature
// compact  slipway = one string of at most 63 characters of [a-z0-9-]: the first 8 characters of both UUIDs,
//          the nonce and the signature; for clouds that keep one short text. It does not hold the machine:
//          that comes from the attempt's row, or from the resource's name where there is none, and is signed.
#pragma once

#include "base/crypto.hpp"
#include "base/ids.hpp"
#include "model/ids.hpp"

#include <slipway/messages/common.hpp>
#include <slipway/messages/manifest.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace slipway::provision {

enum class MarkerKind { labels, compact };
BOOST_DESCRIBE_ENUM(MarkerKind, labels, compact)

// unsupported: the plugin's place for markers is too small for both forms; says what it has and what is
// needed.
[[nodiscard]] Result<MarkerKind> marker_kind(const MarkerForm& form);

// Makes and reads the markers of one environment. Immutable, thread-safe.
class Markers {
 public:
  // `key`: Keys::marker_key(); both UUIDs in full.
  Markers(const Key32& key, MarkerKind kind, std::string controller, std::string environment);

  // An empty machine: the environment's own.
  [[nodiscard]] Marker make(const model::MachineId& machine, const Nonce& nonce) const;
  // The part that all resources of the environment share: what listings ask for. Empty for compact.
  [[nodiscard]] const Marker& owner() const { return owner_; }

  // What a marker claims; nothing: it does not claim to be of this controller and environment.
  struct Claim {
    std::optional<Nonce> nonce;               // nothing: not readable, so it can never be verified
    std::optional<model::MachineId> machine;  // of the form labels only
    std::string signature;
  };
  [[nodiscard]] std::optional<Claim> read(const Marker& marker) const;
  // Whether the signature is ours, over this machine and the claim's nonce.
  [[nodiscard]] bool is_signed(const Claim& claim, const model::MachineId& machine) const;

 private:
  [[nodiscard]] std::string signature(const model::MachineId& machine, const Nonce& nonce) const;

  Key32 key_;
  MarkerKind kind_;
  std::string controller_;
  std::string environment_;
  Marker owner_;
};

}  // namespace slipway::provision
