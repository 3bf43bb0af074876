// SPDX-License-Identifier: Apache-2.0
#include "provision/marker.hpp"

#include <array>

namespace slipway::provision {
namespace {

constexpr std::string_view kController = "slipway-controller";
constexpr std::string_view kEnvironment = "slipway-environment";
constexpr std::string_view kMachine = "slipway-machine";
constexpr std::string_view kNonce = "slipway-nonce";
constexpr std::string_view kSignature = "slipway-signature";
constexpr std::string_view kCompact = "slipway";

constexpr std::size_t kLabelEntries = 5;
constexpr std::size_t kUuidBytes = 36;
constexpr std::size_t kShortUuid = 8;
constexpr std::size_t kNonceText = 26;
// 80 bits of the HMAC: as base32 they fit into the compact form with everything else.
constexpr std::size_t kSignatureBytes = 10;
constexpr std::size_t kSignatureText = 16;
constexpr std::size_t kCompactBytes = kShortUuid + 1 + kShortUuid + 1 + kNonceText + 1 + kSignatureText;
static_assert(kCompactBytes <= 63);

std::string_view short_form(std::string_view uuid) { return uuid.substr(0, kShortUuid); }

const std::string* entry(const Marker& marker, std::string_view key) {
  const auto found = marker.find(std::string(key));
  return found == marker.end() ? nullptr : &found->second;
}

std::optional<Nonce> nonce_of(std::string_view text) {
  auto nonce = Nonce::parse(text);
  return nonce ? std::optional(*nonce) : std::nullopt;
}

}  // namespace

Result<MarkerKind> marker_kind(const MarkerForm& form) {
  if (form.max_entries >= kLabelEntries && form.max_value_bytes >= kUuidBytes) return MarkerKind::labels;
  if (form.max_entries >= 1 && form.max_value_bytes >= kCompactBytes) return MarkerKind::compact;
  return fail(Code::unsupported,
              "the plugin keeps {} marker entries of {} bytes; it takes {} of {} or one of {}: without a "
              "marker nothing tells our machines from others",
              form.max_entries, form.max_value_bytes, kLabelEntries, kUuidBytes, kCompactBytes);
}

Markers::Markers(const Key32& key, MarkerKind kind, std::string controller, std::string environment)
    : key_(key.copy()),
      kind_(kind),
      controller_(std::move(controller)),
      environment_(std::move(environment)) {
  if (kind_ == MarkerKind::labels) {
    owner_ = {{std::string(kController), controller_}, {std::string(kEnvironment), environment_}};
  }
}

Marker Markers::make(const model::MachineId& machine, const Nonce& nonce) const {
  if (kind_ == MarkerKind::compact) {
    return {{std::string(kCompact), message("{}-{}-{}-{}", short_form(controller_), short_form(environment_),
                                            nonce.text(), signature(machine, nonce))}};
  }
  Marker marker = owner_;
  marker.emplace(kMachine, machine.value);
  marker.emplace(kNonce, nonce.text());
  marker.emplace(kSignature, signature(machine, nonce));
  return marker;
}

std::optional<Markers::Claim> Markers::read(const Marker& marker) const {
  if (kind_ == MarkerKind::compact) {
    const std::string* text = entry(marker, kCompact);
    const std::string ours = message("{}-{}-", short_form(controller_), short_form(environment_));
    if (text == nullptr || !text->starts_with(ours)) return std::nullopt;
    Claim claim;
    if (text->size() != kCompactBytes || (*text)[ours.size() + kNonceText] != '-') return claim;
    claim.nonce = nonce_of(std::string_view(*text).substr(ours.size(), kNonceText));
    claim.signature = text->substr(ours.size() + kNonceText + 1);
    return claim;
  }
  const std::string* controller = entry(marker, kController);
  const std::string* environment = entry(marker, kEnvironment);
  if (controller == nullptr || environment == nullptr) return std::nullopt;
  if (*controller != controller_ || *environment != environment_) return std::nullopt;
  Claim claim;
  const std::string* machine = entry(marker, kMachine);
  const std::string* nonce = entry(marker, kNonce);
  if (machine == nullptr || nonce == nullptr) return claim;
  auto id =
      machine->empty() ? Result<model::MachineId>(model::MachineId{}) : model::MachineId::parse(*machine);
  if (!id) return claim;
  claim.machine = *std::move(id);
  claim.nonce = nonce_of(*nonce);
  if (const std::string* signature = entry(marker, kSignature)) claim.signature = *signature;
  return claim;
}

bool Markers::is_signed(const Claim& claim, const model::MachineId& machine) const {
  if (!claim.nonce || (claim.machine && *claim.machine != machine)) return false;
  return constant_time_equal(claim.signature, signature(machine, *claim.nonce));
}

// Lengths are fixed or bounded by '\n', which none of the parts has, so no two markers sign the same bytes.
std::string Markers::signature(const model::MachineId& machine, const Nonce& nonce) const {
  const std::string signed_text =
      message("marker 1\n{}\n{}\n{}\n{}", controller_, environment_, machine, nonce.text());
  return base32(std::string_view(hmac_sha256(key_.reveal(), signed_text)).substr(0, kSignatureBytes));
}

}  // namespace slipway::provision
