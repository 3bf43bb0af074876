// SPDX-License-Identifier: Apache-2.0
// local_state.hpp - secrets and notes of an instance without a daemon: in memory, for as long as the process
// lives. Thread-safe.
#pragma once

#include "plugin/services.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace slipway::plugin {

class MapSecrets final : public SecretSource {
 public:
  explicit MapSecrets(const std::map<std::string, std::string>& secrets);
  [[nodiscard]] Result<Secret> secret(std::string_view name) override;

 private:
  std::map<std::string, Secret, std::less<>> secrets_;
};

class MemoryKv final : public KvStore {
 public:
  void get(KvGetRequest request, Done<KvEntry> done) override;
  void put(KvPutRequest request, Done<KvPutReply> done) override;
  void remove(KvDeleteRequest request, Done<Unit> done) override;
  void list(KvListRequest request, Done<KvListReply> done) override;

 private:
  [[nodiscard]] Status check_revision(const std::string& key, std::optional<std::int64_t> wanted) const;

  std::mutex entries_mutex_;  // guards what follows; completions only hand the answer on
  std::map<std::string, KvEntry> entries_;
  std::int64_t revision_ = 0;
};

}  // namespace slipway::plugin
