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

// So many service calls for no call, whose answers nobody waits for.
struct FloodRequest {
  std::string path;
  std::uint32_t count = 0;
  static constexpr std::string_view method = "test.flood/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(FloodRequest, (), (path, count))

// In a child: bytes that the plugin writes into the socket to its host.
struct ForgeRequest {
  Bytes bytes;
  static constexpr std::string_view method = "test.forge/1";
  using Reply = Text;
};
BOOST_DESCRIBE_STRUCT(ForgeRequest, (), (bytes))

}  // namespace slipway
