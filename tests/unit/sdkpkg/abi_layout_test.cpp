// SPDX-License-Identifier: Apache-2.0
// abi_layout_test.cpp - which edits of abi.h are growth: the recorded layout is edited as text.
#include "sdk/abi_layout.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using slipway::sdk::abi_incompatibilities;
using slipway::sdk::abi_layout;

std::string edited(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

std::vector<std::string> problems_of(std::string_view what, std::string_view with) {
  return abi_incompatibilities(abi_layout(), edited(abi_layout(), what, with));
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a layout is compatible with itself", "[sdk]") {
  CHECK(abi_incompatibilities(abi_layout(), abi_layout()).empty());
}

TEST_CASE("a field that is appended under a higher minor is growth", "[sdk]") {
  std::string grown = edited(abi_layout(), "struct slipway_plugin 48", "struct slipway_plugin 56");
  grown += "member slipway_plugin.pause 48 void (*)(void*)\n";
  CHECK(abi_incompatibilities(abi_layout(), grown) ==
        Texts{"slipway_plugin.pause: was appended without a higher SLIPWAY_ABI_MINOR; raise it"});
  grown = edited(grown, "SLIPWAY_ABI_MINOR 0", "SLIPWAY_ABI_MINOR 1");
  CHECK(abi_incompatibilities(abi_layout(), grown).empty());
}

TEST_CASE("a new constant, struct or type is growth", "[sdk]") {
  const std::string grown =
      abi_layout() +
      "constant SLIPWAY_BUSY 12\nstruct slipway_extra 8\nmember slipway_extra.size 0 uint32_t\n"
      "type slipway_more_fn void (*)(void)\n";
  CHECK(abi_incompatibilities(abi_layout(), grown).empty());
}

TEST_CASE("what plugins were compiled with must stay as it is", "[sdk]") {
  CHECK(problems_of("member slipway_host.call 16", "member slipway_host.call 24")
            .at(0)
            .find("slipway_host.call: was 16 void") == 0);
  CHECK(problems_of("type slipway_status int32_t", "type slipway_status int64_t") ==
        Texts{"slipway_status: was int32_t, is int64_t; put it back and append a new one beside it"});
  CHECK(problems_of("constant SLIPWAY_INTERNAL 11", "constant SLIPWAY_INTERNAL 12") ==
        Texts{"SLIPWAY_INTERNAL: was 11, is 12; put it back and append a new one beside it"});
  CHECK(problems_of("constant SLIPWAY_DENIED 5\n", "") ==
        Texts{"SLIPWAY_DENIED: is gone; plugins that exist were compiled with it: put it back"});
  CHECK(
      problems_of("SLIPWAY_ABI_MAJOR 1", "SLIPWAY_ABI_MAJOR 2") ==
      Texts{
          "SLIPWAY_ABI_MAJOR: was 1, is 2: that ends every plugin that exists; append what is new and raise "
          "SLIPWAY_ABI_MINOR instead"});
  CHECK(problems_of("struct slipway_host 40", "struct slipway_host 32").size() == 1);
  CHECK(problems_of("struct slipway_bytes 16", "struct slipway_bytes 24") ==
        Texts{"slipway_bytes: has no size of its own and never grows; put it back, and pass what is new "
              "elsewhere"});
}

TEST_CASE("a field within the old size is no growth, padding or not", "[sdk]") {
  std::string grown = edited(abi_layout(), "SLIPWAY_ABI_MINOR 0", "SLIPWAY_ABI_MINOR 1");
  grown += "member slipway_plugin.pause 44 uint32_t\n";
  CHECK(
      abi_incompatibilities(abi_layout(), grown) ==
      Texts{
          "slipway_plugin.pause: stands within the 48 bytes that slipway_plugin had; append it behind them"});
}
