// SPDX-License-Identifier: Apache-2.0
// codec_fuzz.cpp - bytes from outside through the codec: what can be read is written and read again as the same.
#include <slipway/codec.hpp>
#include <slipway/vocabulary.hpp>

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
  slipway::Constraints constraints;
  std::vector<slipway::Address> addresses;
  std::map<std::string, Item> items;
  std::set<std::string> tags;
  std::optional<slipway::PortRange> ports;
  bool flag = false;
};
BOOST_DESCRIBE_STRUCT(Document, (), (constraints, addresses, items, tags, ports, flag))

void check_round_trip(std::string_view text, const slipway::DecodeOptions& options) {
  const auto document = slipway::decode<Document>(text, options);
  if (!document) {
    if (document.error().message.empty()) std::abort();
    return;
  }
  for (const bool omit : {false, true}) {
    const std::string written = slipway::encode(*document, {.omit_defaults = omit});
    const auto again = slipway::decode<Document>(written);
    if (!again || slipway::encode(*again) != slipway::encode(*document)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_round_trip(text, {});
  check_round_trip(text, {.unknown_fields = slipway::UnknownFields::refuse});
  static_cast<void>(slipway::decode_error(SLIPWAY_INVALID, text));
  return 0;
}
