// SPDX-License-Identifier: Apache-2.0
// host.hpp - what a plugin's constructor gets: the facts of its environment, and the host's services. Lives
// as long as the plugin. Thread-safe.
#pragma once

#include <slipway/call.hpp>
#include <slipway/http.hpp>
#include <slipway/messages/host.hpp>
#include <slipway/messages/manifest.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slipway {

// Durable notes of this environment's plugin, in the host's database: they survive restarts and upgrades.
// Sizes are bounded (kMaxKvKeyBytes and others). Stateless: call says whose notes.
class Kv {
 public:
  // Empty: there is none.
  [[nodiscard]] static Result<std::optional<KvEntry>> get(const Call& call, std::string key) {
    auto entry = call_service(call, KvGetRequest{std::move(key)});
    if (entry) return std::optional(*std::move(entry));
    if (entry.error().code == Code::not_found) return std::optional<KvEntry>();
    return entry.error();
  }
  // The new revision; durable. conflict: the key's revision is not `if_revision` (0: it must not exist).
  [[nodiscard]] static Result<std::int64_t> put(const Call& call, std::string key, std::string value,
                                                std::optional<std::int64_t> if_revision = {}) {
    SLIPWAY_TRY(const KvPutReply reply,
                call_service(call, KvPutRequest{std::move(key), Bytes{std::move(value)}, if_revision}));
    return reply.revision;
  }
  // What is not there is success, unless if_revision is given.
  [[nodiscard]] static Status remove(const Call& call, std::string key,
                                     std::optional<std::int64_t> if_revision = {}) {
    return call_service(call, KvDeleteRequest{std::move(key), if_revision});
  }
  // All whose keys begin so, by key; without their values.
  [[nodiscard]] static Result<std::vector<KvEntry>> list(const Call& call, std::string prefix = {}) {
    std::vector<KvEntry> entries;
    KvListRequest request;
    request.prefix = std::move(prefix);
    do {
      SLIPWAY_TRY(KvListReply page, call_service(call, request));
      std::move(page.entries.begin(), page.entries.end(), std::back_inserter(entries));
      request.after = std::move(page.next);
    } while (!request.after.empty());
    return entries;
  }
};

class Host {
 public:
  Host(detail::HostLink& link, CreateMessage facts) : link_(link), facts_(std::move(facts)) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const EnvironmentRef& environment() const { return facts_.environment; }
  [[nodiscard]] const std::string& controller() const { return facts_.controller; }  // UUID
  [[nodiscard]] const std::string& plugin_dir() const { return facts_.plugin_dir; }  // where helpers/ is
  // Of a plugin of profile system: its own directory on this host; else empty.
  [[nodiscard]] const std::string& state_dir() const { return facts_.state_dir; }

  [[nodiscard]] HttpClient http(HttpOptions options) const { return HttpClient(std::move(options)); }
  [[nodiscard]] Kv kv() const { return {}; }

  // Only with reads_secrets in info(): for schemes that sign. Everything else puts secrets in by name.
  [[nodiscard]] Result<std::string> secret(const Call& call, const SecretRef& name) const {
    SLIPWAY_TRY(SecretGetReply reply, call_service(call, SecretGetRequest{name}));
    return std::move(reply.value);
  }

  // Any service by its request, on behalf of `call`; blocks.
  template <class R>
  [[nodiscard]] Result<typename R::Reply> call(const Call& call, const R& request) const {
    return call_service(call, request);
  }
  template <class R>
  void call(const Call& call, const R& request, Callback<typename R::Reply> callback) const {
    call_service(call, request, std::move(callback));
  }

  // A call of nobody's, for a thread of the plugin's own: no deadline; services end with `cancelled` when the
  // instance ends.
  [[nodiscard]] Call background() const { return Call(std::make_shared<detail::CallState>(link_)); }

  // A line of the host's log; Call::log also names the call. Constant text; what varies goes into fields.
  void log(LogSeverity level, std::string text, LogFields fields = {}) const {
    link_.notify(0, LogNote{level, std::move(text), std::move(fields)});
  }
  // Adds to the counter slipway_plugin_NAME_total; the name is [a-z][a-z0-9_]*.
  void count(std::string name, double value = 1) const {
    link_.notify(0, MetricNote{std::move(name), value});
  }

 private:
  detail::HostLink& link_;
  const CreateMessage facts_;
};

}  // namespace slipway
