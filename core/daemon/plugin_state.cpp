// SPDX-License-Identifier: Apache-2.0
#include "daemon/plugin_state.hpp"

#include <slipway/base64.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace slipway::daemon {

namespace {

using model::PluginNote;

// A write without if_revision races only with writes to the same key; each round one of them wins.
constexpr unsigned kMaxTries = 64;
constexpr std::uint32_t kMaxListed = 10'000;

std::ptrdiff_t size_of(const PluginNote& note) {
  return static_cast<std::ptrdiff_t>(note.name.size() + note.value.size() / 4 * 3);
}

Status check_key(const std::string& key) {
  const bool is_clean =
      std::all_of(key.begin(), key.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  if (!key.empty() && key.size() <= kMaxKvKeyBytes && is_clean) return ok();
  return fail(Code::invalid, "key: expected 1 to {} bytes without control characters, got {}", kMaxKvKeyBytes,
              key.size())
      .rejected();
}

Failure conflict(const std::string& key, std::int64_t wanted, std::int64_t found) {
  if (found == 0)
    return fail(Code::conflict, "{}: if_revision is {}, and there is no such key", key, wanted).rejected();
  return fail(Code::conflict, "{}: if_revision is {}, the key has revision {}", key, wanted, found)
      .rejected();
}

}  // namespace

StoreKv::StoreKv(store::Store& store, Executor& answers, model::EnvironmentId environment, std::string plugin)
    : store_(store), answers_(answers), environment_(environment), plugin_(std::move(plugin)) {
  const auto snapshot = store_.snapshot();
  const auto& notes = snapshot.all<PluginNote>();
  for (auto at = notes.lower_bound(key_of("")); at != notes.end(); ++at) {
    const PluginNote& note = *(*at).second;
    if (note.environment != environment_ || note.plugin != plugin_) break;
    bytes_ += size_of(note);
  }
}

PluginNote::Key StoreKv::key_of(const std::string& name) const { return {environment_, plugin_, name}; }

template <class T>
void StoreKv::answer(plugin::Done<T> done, Result<T> result) {
  answers_.post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
}

bool StoreKv::reserve(std::ptrdiff_t bytes) {
  const std::lock_guard lock(bytes_mutex_);
  if (bytes > 0 && bytes_ + bytes > static_cast<std::ptrdiff_t>(kMaxKvInstanceBytes)) return false;
  bytes_ += bytes;
  return true;
}

void StoreKv::release(std::ptrdiff_t bytes) {
  const std::lock_guard lock(bytes_mutex_);
  bytes_ -= bytes;
}

void StoreKv::get(KvGetRequest request, plugin::Done<KvEntry> done) {
  const auto note = store_.snapshot().find<PluginNote>(key_of(request.key));
  if (note == nullptr)
    return answer<KvEntry>(std::move(done), fail(Code::not_found, "there is no key {}", request.key));
  auto value = parse_base64(note->value);
  if (!value) return answer<KvEntry>(std::move(done), std::move(value).error());
  answer<KvEntry>(std::move(done), KvEntry{note->name, Bytes{*std::move(value)},
                                           static_cast<std::int64_t>(note->revision.value)});
}

void StoreKv::put(KvPutRequest request, plugin::Done<KvPutReply> done) {
  if (auto good = check_key(request.key); !good)
    return answer<KvPutReply>(std::move(done), std::move(good).error());
  if (request.value.data.size() > kMaxKvValueBytes) {
    return answer<KvPutReply>(std::move(done), fail(Code::invalid, "value: expected at most {} bytes, got {}",
                                                    kMaxKvValueBytes, request.value.data.size())
                                                   .rejected());
  }
  try_put(std::move(request), 1, std::move(done));
}

void StoreKv::try_put(KvPutRequest request, unsigned tries, plugin::Done<KvPutReply> done) {
  const auto found = store_.snapshot().find<PluginNote>(key_of(request.key));
  const std::int64_t revision = found == nullptr ? 0 : static_cast<std::int64_t>(found->revision.value);
  if (request.if_revision && *request.if_revision != revision) {
    return answer<KvPutReply>(std::move(done), conflict(request.key, *request.if_revision, revision));
  }
  PluginNote note{environment_, plugin_, request.key, base64(request.value.data), {}};
  const std::ptrdiff_t growth = size_of(note) - (found == nullptr ? 0 : size_of(*found));
  if (!reserve(growth)) {
    return answer<KvPutReply>(
        std::move(done),
        fail(Code::exhausted, "the plugin's notes would have more than {} bytes", kMaxKvInstanceBytes)
            .rejected());
  }
  store::Txn txn("plugin:" + plugin_);
  if (found == nullptr) {
    txn.insert(std::move(note));
  } else {
    note.revision = found->revision;
    txn.update(std::move(note));
  }
  store_.commit(std::move(txn), [this, request = std::move(request), tries, done = std::move(done),
                                 growth](store::Store::Committed end) mutable {
    if (end) return answer<KvPutReply>(std::move(done), KvPutReply{static_cast<std::int64_t>(end->value)});
    release(growth);
    if (end.error().code != Code::conflict || tries == kMaxTries) {
      return answer<KvPutReply>(std::move(done), std::move(end).error());
    }
    // Somebody was faster: with if_revision the next look says so, without it this one goes on top.
    answers_.post([this, request = std::move(request), tries, done = std::move(done)]() mutable {
      try_put(std::move(request), tries + 1, std::move(done));
    });
  });
}

void StoreKv::remove(KvDeleteRequest request, plugin::Done<Unit> done) {
  try_remove(std::move(request), 1, std::move(done));
}

void StoreKv::try_remove(KvDeleteRequest request, unsigned tries, plugin::Done<Unit> done) {
  const auto found = store_.snapshot().find<PluginNote>(key_of(request.key));
  const std::int64_t revision = found == nullptr ? 0 : static_cast<std::int64_t>(found->revision.value);
  if (request.if_revision && *request.if_revision != revision) {
    return answer<Unit>(std::move(done), conflict(request.key, *request.if_revision, revision));
  }
  if (found == nullptr) return answer<Unit>(std::move(done), Unit{});
  store::Txn txn("plugin:" + plugin_);
  txn.erase(PluginNote(*found));
  const std::ptrdiff_t bytes = size_of(*found);
  store_.commit(std::move(txn), [this, request = std::move(request), tries, done = std::move(done),
                                 bytes](store::Store::Committed end) mutable {
    if (end) {
      release(bytes);
      return answer<Unit>(std::move(done), Unit{});
    }
    if (end.error().code != Code::conflict || tries == kMaxTries)
      return answer<Unit>(std::move(done), std::move(end).error());
    answers_.post([this, request = std::move(request), tries, done = std::move(done)]() mutable {
      try_remove(std::move(request), tries + 1, std::move(done));
    });
  });
}

void StoreKv::list(KvListRequest request, plugin::Done<KvListReply> done) {
  const auto snapshot = store_.snapshot();
  const auto& notes = snapshot.all<PluginNote>();
  KvListReply reply;
  const std::size_t limit = std::clamp<std::uint32_t>(request.limit, 1, kMaxListed);
  const std::string& from = std::max(request.prefix, request.after);
  for (auto at = notes.lower_bound(key_of(from)); at != notes.end(); ++at) {
    const PluginNote& note = *(*at).second;
    if (note.environment != environment_ || note.plugin != plugin_ || !note.name.starts_with(request.prefix))
      break;
    if (note.name == request.after) continue;
    if (reply.entries.size() == limit) {
      reply.next = reply.entries.back().key;
      break;
    }
    reply.entries.push_back({note.name, {}, static_cast<std::int64_t>(note.revision.value)});
  }
  answer<KvListReply>(std::move(done), std::move(reply));
}

Result<Secret> StoreSecrets::secret(std::string_view name) {
  namespace json = boost::json;
  if (secret_id_.empty())
    return fail(Code::not_found, "there is no secret {}: the environment has no credential", name);
  SLIPWAY_TRY(const Secret all, store_.secret(secret_id_));
  // Parsed in memory that is wiped: text, and what the parser makes of it.
  std::vector<unsigned char> memory(all.reveal().size() * 8 + 4096);
  std::optional<Secret> found;
  bool is_object = false;
  {
    json::monotonic_resource resource(memory.data(), memory.size());
    json::error_code ec;
    const json::value value = json::parse({all.reveal().data(), all.reveal().size()}, ec, &resource);
    if (const auto* object = value.if_object(); !ec && object != nullptr) {
      is_object = true;
      const auto* member = object->if_contains({name.data(), name.size()});
      if (member != nullptr && member->is_string()) {
        found.emplace(std::string(member->get_string().data(), member->get_string().size()));
      }
    }
  }
  wipe(memory.data(), memory.size());
  if (!is_object)
    return fail(Code::internal,
                "the stored credential cannot be read; set it again: slipway environment credential");
  if (!found) return fail(Code::not_found, "the credential has no secret {}", name);
  return *std::move(found);
}

}  // namespace slipway::daemon
