// SPDX-License-Identifier: Apache-2.0
#include "plugin/local_state.hpp"

#include <algorithm>
#include <utility>

namespace slipway::plugin {

MapSecrets::MapSecrets(const std::map<std::string, std::string>& secrets) {
  for (const auto& [name, value] : secrets) secrets_.emplace(name, Secret(value));
}

Result<Secret> MapSecrets::secret(std::string_view name) {
  const auto found = secrets_.find(name);
  if (found == secrets_.end()) return fail(Code::not_found, "there is no secret {}", name);
  return found->second.copy();
}

void MemoryKv::get(KvGetRequest request, Done<KvEntry> done) {
  const std::lock_guard lock(entries_mutex_);
  const auto found = entries_.find(request.key);
  if (found == entries_.end()) return done(fail(Code::not_found, "there is no key {}", request.key));
  done(found->second);
}

void MemoryKv::put(KvPutRequest request, Done<KvPutReply> done) {
  if (request.key.empty() || request.key.size() > kMaxKvKeyBytes ||
      request.value.data.size() > kMaxKvValueBytes) {
    return done(fail(Code::invalid, "key: expected 1 to {} bytes; value: at most {}", kMaxKvKeyBytes,
                     kMaxKvValueBytes));
  }
  const std::lock_guard lock(entries_mutex_);
  if (auto good = check_revision(request.key, request.if_revision); !good)
    return done(std::move(good).error());
  entries_[request.key] = KvEntry{request.key, std::move(request.value), ++revision_};
  done(KvPutReply{revision_});
}

void MemoryKv::remove(KvDeleteRequest request, Done<Unit> done) {
  const std::lock_guard lock(entries_mutex_);
  if (auto good = check_revision(request.key, request.if_revision); !good)
    return done(std::move(good).error());
  entries_.erase(request.key);
  done(Unit{});
}

void MemoryKv::list(KvListRequest request, Done<KvListReply> done) {
  const std::lock_guard lock(entries_mutex_);
  KvListReply reply;
  for (auto at = entries_.lower_bound(std::max(request.prefix, request.after)); at != entries_.end(); ++at) {
    if (!at->first.starts_with(request.prefix)) break;
    if (at->first == request.after) continue;
    if (reply.entries.size() >= std::max<std::uint32_t>(request.limit, 1)) {
      reply.next = reply.entries.back().key;
      break;
    }
    reply.entries.push_back({at->first, {}, at->second.revision});
  }
  done(std::move(reply));
}

Status MemoryKv::check_revision(const std::string& key, std::optional<std::int64_t> wanted) const {
  const auto found = entries_.find(key);
  const std::int64_t revision = found == entries_.end() ? 0 : found->second.revision;
  if (!wanted || *wanted == revision) return ok();
  return fail(Code::conflict, "{}: if_revision is {}, the key has revision {}", key, *wanted, revision)
      .rejected();
}

}  // namespace slipway::plugin
