// SPDX-License-Identifier: Apache-2.0
// probe.hpp - the requests of the plugin `probe`. Values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

struct Text {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(Text, (), (text))

struct EchoRequest {
  std::string text;
  static constexpr std::string_view method = "test.echo/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(EchoRequest, (), (text))

struct NapRequest {
  std::uint32_t ms = 0;
  bool is_deaf = false;
  static constexpr std::string_view method = "test.nap/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(NapRequest, (), (ms, is_deaf))

struct FetchRequest {
  std::string path;
  static constexpr std::string_view method = "test.fetch/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(FetchRequest, (), (path))

struct FetchLaterRequest {
  std::string path;
  static constexpr std::string_view method = "test.fetch_later/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(FetchLaterRequest, (), (path))

struct DieRequest {
  std::string how;  // throw, abort, exit, trap
  static constexpr std::string_view method = "test.die/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(DieRequest, (), (how))

struct TellRequest {
  std::string text;
  static constexpr std::string_view method = "test.tell/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(TellRequest, (), (text))

}  // namespace slipway
