// SPDX-License-Identifier: Apache-2.0
// storage.cpp - World: volumes, their attachments, and objects.
#include "sim/cloud/world.hpp"

#include <algorithm>
#include <cctype>

namespace slipway::sim {

Status World::check_volume(const VolumeParameters& parameters) const {
  if (parameters.size_mib >= 1 && parameters.size_mib <= script_.max_volume_mib) return ok();
  return fail(Code::invalid, "parameters.size_mib: expected 1 to {}, got {}", script_.max_volume_mib,
              parameters.size_mib)
      .rejected();
}

Result<Unit> World::apply(const VolumeValidateRequest& request) { return check_volume(request.parameters); }

Result<VolumeCreateReply> World::apply(const VolumeCreateRequest& request) {
  SLIPWAY_TRY(check_volume(request.parameters));
  std::string zone = request.zone;
  if (!request.instance_id.empty()) {
    SLIPWAY_TRY(const Server* server, known_server(request.instance_id));
    if (!zone.empty() && zone != server->zone) {
      return fail(Code::invalid, "zone: server {} is in {}, not in {}", server->id, server->zone, zone)
          .rejected();
    }
    zone = server->zone;
  }
  if (zone.empty()) zone = script_.zones.front().name;
  const ZoneSpec* spec = zone_spec(zone);
  if (spec == nullptr) return fail(Code::invalid, "there is no zone {}", zone).rejected();
  if (is_out(*spec)) return fail(Code::unavailable, "zone {} is down", zone).scope(Scope::zone).rejected();
  SLIPWAY_TRY(check_quota("volumes", 1));
  SLIPWAY_TRY(check_quota("volume_mib", request.parameters.size_mib));
  Disk made;
  made.size_mib = request.parameters.size_mib;
  made.zone = zone;
  made.state = State::building;
  Disk& disk = disks_.add(std::move(made), request, now_ms_);
  disk.hardware_id = "serial-" + disk.id;
  if (script_.volume_ms == 0) disk.state = State::running;
  at(now_ms_ + script_.volume_ms, [this, id = disk.id] {
    if (Disk* built = disks_.find(id)) built->state = State::running;
  });
  return VolumeCreateReply{disk};
}

Result<VolumeDestroyReply> World::apply(const VolumeDestroyRequest& request) {
  VolumeDestroyReply out;
  for (const std::string& id : request.ids) {
    out.results.push_back({id, {}});
    const Disk* disk = disks_.find(id);
    if (disk == nullptr) continue;
    if (disk->attachment) {
      out.results.back().error =
          fail(Code::conflict, "volume {} is attached to {}", id, disk->attachment->instance_id).rejected();
    } else {
      disks_.remove(id, now_ms_);
    }
  }
  return out;
}

Result<VolumeListReply> World::apply(const VolumeListRequest& request) {
  return disks_.list<VolumeListReply>(request, visible_ms(), script_.max_page);
}

Status World::attach(const Attachment& wanted, Attachment& made) {
  Disk* disk = disks_.find(wanted.volume_id);
  if (disk == nullptr) return fail(Code::not_found, "there is no volume {}", wanted.volume_id).rejected();
  SLIPWAY_TRY(const Server* server, known_server(wanted.instance_id));
  if (!disk->attachment) {
    if (server->state != State::running || disk->state != State::running) {
      return fail(Code::conflict, "server {} and volume {} must both be running first", server->id, disk->id)
          .rejected();
    }
    if (disk->zone != server->zone) {
      return fail(Code::invalid, "volume {} is in zone {}, server {} in {}", disk->id, disk->zone, server->id,
                  server->zone)
          .rejected();
    }
    std::size_t there = 0;
    disks_.for_each(
        [&](const Disk& d) { there += d.attachment && d.attachment->instance_id == server->id ? 1U : 0U; });
    disk->attachment = wanted;
    disk->attachment->device = message("/dev/vd{}", std::string(1, static_cast<char>('b' + there % 25)));
    disk->attachment->state = State::running;
  }
  if (disk->attachment->instance_id != server->id) {
    return fail(Code::conflict, "volume {} is attached to {}", disk->id, disk->attachment->instance_id)
        .rejected();
  }
  made = *disk->attachment;
  return ok();
}

Result<AttachReply> World::apply(const AttachRequest& request) {
  AttachReply out;
  for (const Attachment& wanted : request.attachments) {
    out.results.push_back({wanted.volume_id, wanted.instance_id, {}, {}});
    Attachment made;
    if (auto status = attach(wanted, made); status) {
      out.results.back().attachment = std::move(made);
    } else {
      out.results.back().error = std::move(status).error();
    }
  }
  return out;
}

Result<DetachReply> World::apply(const DetachRequest& request) {
  DetachReply out;
  for (const Attachment& unwanted : request.attachments) {
    out.results.push_back({unwanted.volume_id, unwanted.instance_id, {}, {}});
    Disk* disk = disks_.find(unwanted.volume_id);
    if (disk == nullptr || !disk->attachment || disk->attachment->instance_id != unwanted.instance_id)
      continue;
    if (disk->is_part) {
      out.results.back().error =
          fail(Code::denied, "volume {} is a part of server {}", disk->id, disk->parent).rejected();
    } else {
      disk->attachment.reset();
    }
  }
  return out;
}

Result<AttachmentsReply> World::apply(const AttachmentsRequest& request) {
  AttachmentsReply out;
  disks_.for_each([&](const Disk& disk) {
    if (!disk.attachment) return;
    const auto& ids = request.instance_ids;
    if (std::find(ids.begin(), ids.end(), disk.attachment->instance_id) == ids.end()) return;
    out.attachments.push_back(*disk.attachment);
  });
  return out;
}

Result<ObjectPutReply> World::apply(const ObjectPutRequest& request) {
  if (request.key.empty()) return fail(Code::invalid, "key: empty").rejected();
  if (request.data.data.size() > kMaxObjectPart) {
    return fail(Code::invalid, "data: {} bytes, a call takes at most {}", request.data.data.size(),
                kMaxObjectPart)
        .rejected();
  }
  std::string id = request.upload;
  if (id.empty()) {
    id = message("upload-{}", ++last_upload_);
    uploads_.emplace(id, std::string());
  }
  const auto upload = uploads_.find(id);
  if (upload == uploads_.end()) return fail(Code::not_found, "there is no upload {}", id).rejected();
  if (request.offset != upload->second.size()) {
    return fail(Code::invalid, "offset: the next part of {} begins at {}, got {}", id, upload->second.size(),
                request.offset)
        .rejected();
  }
  upload->second += request.data.data;
  if (!request.commit) return ObjectPutReply{id};
  objects_[request.key] = {std::move(upload->second), now_ms_};
  uploads_.erase(upload);
  return ObjectPutReply{};
}

Result<ObjectGetReply> World::apply(const ObjectGetRequest& request) {
  const auto object = objects_.find(request.key);
  if (object == objects_.end()) return fail(Code::not_found, "there is no object {}", request.key).rejected();
  const std::string& data = object->second.data;
  if (request.offset > data.size()) {
    return fail(Code::invalid, "offset: {} is beyond the object's {} bytes", request.offset, data.size())
        .rejected();
  }
  return ObjectGetReply{
      {data.substr(request.offset, std::min<std::uint64_t>(request.max_bytes, kMaxObjectPart))}, data.size()};
}

Result<ObjectListReply> World::apply(const ObjectListRequest& request) {
  ObjectListReply out;
  for (auto object = objects_.upper_bound(request.page); object != objects_.end(); ++object) {
    if (!object->first.starts_with(request.prefix)) continue;
    if (out.items.size() == script_.max_page) {
      out.next_page = out.items.back().key;
      break;
    }
    out.items.push_back({object->first, object->second.data.size(), object->second.created_ms});
  }
  return out;
}

Result<ObjectRemoveReply> World::apply(const ObjectRemoveRequest& request) {
  ObjectRemoveReply out;
  for (const std::string& key : request.ids) {
    objects_.erase(key);
    out.results.push_back({key, {}});
  }
  return out;
}

Result<ObjectUrlReply> World::apply(const ObjectUrlRequest& request) {
  if (object_url_.empty()) return fail(Code::unsupported, "this cloud serves no objects by URL").rejected();
  if (objects_.count(request.key) == 0) {
    return fail(Code::not_found, "there is no object {}", request.key).rejected();
  }
  std::string url = object_url_;
  for (const char c : request.key) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_') {
      url += c;
    } else {
      url += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return ObjectUrlReply{message("{}?until={}", url, now_ms_ + request.valid_ms)};
}

}  // namespace slipway::sim
