// SPDX-License-Identifier: Apache-2.0
// objects.hpp - objects/1: blobs by key, in the environment's own container of an object store. Thread rule:
// values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

inline constexpr std::size_t kMaxObjectPart = std::size_t{8} << 20U;  // bytes in one call

// Up to 8 MiB: one call with commit. Larger: the first call has no upload and no commit and is answered with
// an upload; further parts name it, in order; the last one commits. Nothing is seen under the key before.
struct ObjectPutRequest {
  std::string key;
  Bytes data;
  std::uint64_t offset = 0;  // of data in the object, bytes
  std::string upload;
  bool commit = true;
  std::string content_type;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "objects.put/1";
  using Reply = struct ObjectPutReply;
};
BOOST_DESCRIBE_STRUCT(ObjectPutRequest, (), (key, data, offset, upload, commit, content_type))

struct ObjectPutReply {
  std::string upload;  // empty after a commit
};
BOOST_DESCRIBE_STRUCT(ObjectPutReply, (), (upload))

struct ObjectGetRequest {
  std::string key;
  std::uint64_t offset = 0;
  std::uint64_t max_bytes = kMaxObjectPart;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "objects.get/1";
  using Reply = struct ObjectGetReply;
};
BOOST_DESCRIBE_STRUCT(ObjectGetRequest, (), (key, offset, max_bytes))

struct ObjectGetReply {
  Bytes data;
  std::uint64_t size = 0;  // of the whole object, bytes
};
BOOST_DESCRIBE_STRUCT(ObjectGetReply, (), (data, size))

struct Object {
  std::string key;
  std::uint64_t size = 0;
  std::int64_t created_ms = 0;

  static constexpr std::array required{std::string_view("key")};
};
BOOST_DESCRIBE_STRUCT(Object, (), (key, size, created_ms))

struct ObjectListRequest {
  std::string prefix;
  std::string page;

  static constexpr std::string_view method = "objects.list/1";
  using Reply = struct ObjectListReply;
};
BOOST_DESCRIBE_STRUCT(ObjectListRequest, (), (prefix, page))

struct ObjectListReply {
  std::vector<Object> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(ObjectListReply, (), (items, next_page, complete))

// `ids` are keys.
struct ObjectRemoveRequest : DeleteRequest {
  static constexpr std::string_view method = "objects.remove/1";
  using Reply = struct ObjectRemoveReply;
};
BOOST_DESCRIBE_STRUCT(ObjectRemoveRequest, (DeleteRequest), ())

struct ObjectRemoveReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(ObjectRemoveReply, (DeleteReply), ())

// A URL by which the object can be read without a credential, for a time.
struct ObjectUrlRequest {
  std::string key;
  std::int64_t valid_ms = 3'600'000;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "objects.url/1";
  using Reply = struct ObjectUrlReply;
};
BOOST_DESCRIBE_STRUCT(ObjectUrlRequest, (), (key, valid_ms))

struct ObjectUrlReply {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(ObjectUrlReply, (), (url))

}  // namespace slipway
