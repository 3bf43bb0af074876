// SPDX-License-Identifier: Apache-2.0
// images.hpp - images/1: what machines boot from. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// What an operator says, to the cloud's own image. invalid when there is none: the message lists what is.
struct ImageRequest {
  std::string os;  // "ubuntu-24.04", "debian-12"
  Arch arch = Arch::unknown;
  std::string image_id;             // given by the operator: wins over os
  std::vector<json::value> custom;  // image metadata that the operator added
  std::string stream;               // "daily"; empty: released

  static constexpr std::string_view method = "images.resolve/1";
  using Reply = struct ImageReply;
};
BOOST_DESCRIBE_STRUCT(ImageRequest, (), (os, arch, image_id, custom, stream))

struct ImageReply {
  std::string image_id;
  std::string description;  // for people: "Ubuntu 24.04 amd64"
  std::uint64_t min_disk_mib = 0;
  std::uint64_t min_mem_mib = 0;
  Arch arch = Arch::unknown;

  static constexpr std::array required{std::string_view("image_id")};
};
BOOST_DESCRIBE_STRUCT(ImageReply, (), (image_id, description, min_disk_mib, min_mem_mib, arch))

struct Image {
  std::string id;
  std::string name;
  std::string os;  // empty: not known
  Arch arch = Arch::unknown;
  std::uint64_t size_mib = 0;
  std::int64_t created_ms = 0;
  bool own = false;  // added by images.add, so images.remove may take it away

  static constexpr std::array required{std::string_view("id")};
};
BOOST_DESCRIBE_STRUCT(Image, (), (id, name, os, arch, size_mib, created_ms, own))

struct ImagesRequest {
  std::string page;

  static constexpr std::string_view method = "images.list/1";
  using Reply = struct ImagesReply;
};
BOOST_DESCRIBE_STRUCT(ImagesRequest, (), (page))

struct ImagesReply {
  std::vector<Image> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(ImagesReply, (), (items, next_page, complete))

struct ImageAddRequest : MakeRequest {
  std::string os;
  Arch arch = Arch::unknown;
  std::string source;  // URL, or a path where the plugin makes machines on this host
  std::string sha256;  // hex, of the source; empty: not checked

  static constexpr std::array required{std::string_view("source")};
  static constexpr std::string_view method = "images.add/1";
  using Reply = struct ImageAddReply;
};
BOOST_DESCRIBE_STRUCT(ImageAddRequest, (MakeRequest), (os, arch, source, sha256))

struct ImageAddReply {
  Image image;

  static constexpr std::array required{std::string_view("image")};
};
BOOST_DESCRIBE_STRUCT(ImageAddReply, (), (image))

struct ImageRemoveRequest : DeleteRequest {
  static constexpr std::string_view method = "images.remove/1";
  using Reply = struct ImageRemoveReply;
};
BOOST_DESCRIBE_STRUCT(ImageRemoveRequest, (DeleteRequest), ())

struct ImageRemoveReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(ImageRemoveReply, (DeleteReply), ())

}  // namespace slipway
