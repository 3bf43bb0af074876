// SPDX-License-Identifier: Apache-2.0
// volumes.hpp - volumes/1: disks that live apart from machines. Sizes in MiB. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// A disk that is wanted, with the attributes of its pool.
struct VolumeParameters {
  std::string tag;  // the core's name of the volume: "3", "0/1"
  std::uint64_t size_mib = 0;
  std::map<std::string, std::string> attributes;
  bool read_only = false;

  static constexpr std::array required{std::string_view("size_mib")};
};
BOOST_DESCRIBE_STRUCT(VolumeParameters, (), (tag, size_mib, attributes, read_only))

struct Volume : Item {
  std::uint64_t size_mib = 0;
  std::string zone;
  bool persistent = true;   // outlives the machine it is attached to
  std::string hardware_id;  // how the machine finds the device: a serial number, a WWN
};
BOOST_DESCRIBE_STRUCT(Volume, (Item), (size_mib, zone, persistent, hardware_id))

struct VolumeCreateRequest : MakeRequest {
  VolumeParameters parameters;
  std::string instance_id;  // whose zone it must be in, when known
  std::string zone;

  static constexpr std::array required{std::string_view("parameters")};
  static constexpr std::string_view method = "volumes.create/1";
  using Reply = struct VolumeCreateReply;
};
BOOST_DESCRIBE_STRUCT(VolumeCreateRequest, (MakeRequest), (parameters, instance_id, zone))

struct VolumeCreateReply {
  Volume volume;

  static constexpr std::array required{std::string_view("volume")};
};
BOOST_DESCRIBE_STRUCT(VolumeCreateReply, (), (volume))

struct VolumeDestroyRequest : DeleteRequest {
  static constexpr std::string_view method = "volumes.destroy/1";
  using Reply = struct VolumeDestroyReply;
};
BOOST_DESCRIBE_STRUCT(VolumeDestroyRequest, (DeleteRequest), ())

struct VolumeDestroyReply : DeleteReply {};
BOOST_DESCRIBE_STRUCT(VolumeDestroyReply, (DeleteReply), ())

struct VolumeListRequest : ListingRequest {
  static constexpr std::string_view method = "volumes.list/1";
  using Reply = struct VolumeListReply;
};
BOOST_DESCRIBE_STRUCT(VolumeListRequest, (ListingRequest), ())

struct VolumeListReply {
  std::vector<Volume> items;
  std::string next_page;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(VolumeListReply, (), (items, next_page, complete))

struct Attachment {
  std::string volume_id;
  std::string instance_id;
  std::string device;  // the cloud's hint: "/dev/vdb"; hardware_id is the better one
  bool read_only = false;
  InstanceState state = InstanceState::unknown;  // building, running, stopping, failed

  static constexpr std::array required{std::string_view("volume_id"), std::string_view("instance_id")};
};
BOOST_DESCRIBE_STRUCT(Attachment, (), (volume_id, instance_id, device, read_only, state))

struct AttachmentResult {
  std::string volume_id;
  std::string instance_id;
  std::optional<Attachment> attachment;
  std::optional<Error> error;
};
BOOST_DESCRIBE_STRUCT(AttachmentResult, (), (volume_id, instance_id, attachment, error))

// What is attached already is success.
struct AttachRequest {
  std::vector<Attachment> attachments;

  static constexpr std::array required{std::string_view("attachments")};
  static constexpr std::string_view method = "volumes.attach/1";
  using Reply = struct AttachReply;
};
BOOST_DESCRIBE_STRUCT(AttachRequest, (), (attachments))

struct AttachReply {
  std::vector<AttachmentResult> results;
};
BOOST_DESCRIBE_STRUCT(AttachReply, (), (results))

// What is not attached, or whose machine is gone, is success.
struct DetachRequest {
  std::vector<Attachment> attachments;

  static constexpr std::array required{std::string_view("attachments")};
  static constexpr std::string_view method = "volumes.detach/1";
  using Reply = struct DetachReply;
};
BOOST_DESCRIBE_STRUCT(DetachRequest, (), (attachments))

struct DetachReply {
  std::vector<AttachmentResult> results;
};
BOOST_DESCRIBE_STRUCT(DetachReply, (), (results))

struct AttachmentsRequest {
  std::vector<std::string> instance_ids;

  static constexpr std::array required{std::string_view("instance_ids")};
  static constexpr std::string_view method = "volumes.attachments/1";
  using Reply = struct AttachmentsReply;
};
BOOST_DESCRIBE_STRUCT(AttachmentsRequest, (), (instance_ids))

struct AttachmentsReply {
  std::vector<Attachment> attachments;
  bool complete = true;
};
BOOST_DESCRIBE_STRUCT(AttachmentsReply, (), (attachments, complete))

// Whether a disk could be made from these; no effect.
struct VolumeValidateRequest {
  VolumeParameters parameters;

  static constexpr std::array required{std::string_view("parameters")};
  static constexpr std::string_view method = "volumes.validate/1";
  using Reply = Unit;
};
BOOST_DESCRIBE_STRUCT(VolumeValidateRequest, (), (parameters))

}  // namespace slipway
