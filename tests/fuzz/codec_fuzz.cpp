// SPDX-License-Identifier: Apache-2.0
// codec_fuzz.cpp - bytes from outside through the codec: what can be read is written and read again as the
// same.
#include <slipway/codec.hpp>
#include <slipway/vocabulary.hpp>

#include <algorithm>
#include <cstdlib>

namespace {

struct Item {
  static constexpr std::array required{std::string_view("id")};
  std::string id;
  std::uint64_t size_mib = 0;
  std::int16_t small = 0;
  slipway::Bytes data;
};
BOOST_DESCRIBE_STRUCT(Item, (), (id, size_mib, small, data))

struct Document {
  slipway::json::value any;
  slipway::Constraints constraints;
  std::vector<slipway::Address> addresses;
  std::map<std::string, Item> items;
  std::set<std::string> tags;
  std::optional<slipway::PortRange> ports;
  std::optional<std::uint32_t> port = 22;
  std::vector<bool> flags;
  float ratio = 0;
  bool flag = false;
};
BOOST_DESCRIBE_STRUCT(Document, (),
                      (any, constraints, addresses, items, tags, ports, port, flags, ratio, flag))

// Boost.JSON's parser may miss the last digit of a double, so that only a value without one comes back as it
// went.
bool has_double(const slipway::json::value& v) {
  if (const auto* array = v.if_array()) return std::any_of(array->begin(), array->end(), has_double);
  if (const auto* object = v.if_object()) {
    return std::any_of(object->begin(), object->end(),
                       [](const auto& member) { return has_double(member.value()); });
  }
  return v.is_double();
}

void check_round_trip(std::string_view text, const slipway::DecodeOptions& options) {
  const auto document = slipway::decode<Document>(text, options);
  if (!document) {
    if (document.error().message.empty()) std::abort();
    return;
  }
  for (const bool omit : {false, true}) {
    const std::string written = slipway::encode(*document, {.omit_defaults = omit});
    const auto again = slipway::decode<Document>(written);
    if (!again) std::abort();
    if (has_double(document->any)) continue;
    if (slipway::encode(*again) != slipway::encode(*document)) std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_round_trip(text, {});
  check_round_trip(text, {.unknown_fields = slipway::UnknownFields::refuse});
  // Whatever a peer sent as an error's body, what is made of it can be sent on.
  const slipway::Error error = slipway::decode_error(SLIPWAY_INVALID, text);
  const std::string body = slipway::encode_error(error);
  if (slipway::decode_error(static_cast<slipway_status>(error.code), body) != error) std::abort();
  return 0;
}
