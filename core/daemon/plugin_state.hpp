// SPDX-License-Identifier: Apache-2.0
// plugin_state.hpp - the two services of plugins that live in the store: their notes (kv/1) and their
// secrets. Here, because only the daemon may see both modules.
#pragma once

#include "model/environment.hpp"
#include "plugin/services.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <mutex>
#include <string>

namespace slipway::daemon {

// The notes of one plugin in one environment, whichever instances of it run. Thread-safe; `store` and
// `answers` outlive it and the writes that are under way. Completions run on `answers`, never on the store's
// writer.
class StoreKv final : public plugin::KvStore {
 public:
  StoreKv(store::Store& store, Executor& answers, model::EnvironmentId environment, std::string plugin);

  void get(KvGetRequest request, plugin::Done<KvEntry> done) override;
  void put(KvPutRequest request, plugin::Done<KvPutReply> done) override;
  void remove(KvDeleteRequest request, plugin::Done<Unit> done) override;
  void list(KvListRequest request, plugin::Done<KvListReply> done) override;

 private:
  [[nodiscard]] model::PluginNote::Key key_of(const std::string& name) const;
  void try_put(KvPutRequest request, unsigned tries, plugin::Done<KvPutReply> done);
  void try_remove(KvDeleteRequest request, unsigned tries, plugin::Done<Unit> done);
  template <class T>
  void answer(plugin::Done<T> done, Result<T> result);
  // Counts a change of size before it is written; false: the instance's bytes would be too many.
  bool reserve(std::ptrdiff_t bytes);
  void release(std::ptrdiff_t bytes);

  store::Store& store_;
  Executor& answers_;
  const model::EnvironmentId environment_;
  const std::string plugin_;
  std::mutex bytes_mutex_;  // guards bytes_
  std::ptrdiff_t bytes_ = 0;
};

// A credential's secrets, one sealed JSON object of name to text, read anew each time: nothing of them stays
// in memory. Thread-safe; the store outlives it.
class StoreSecrets final : public plugin::SecretSource {
 public:
  StoreSecrets(const store::Store& store, std::string secret_id)
      : store_(store), secret_id_(std::move(secret_id)) {}
  [[nodiscard]] Result<Secret> secret(std::string_view name) override;

 private:
  const store::Store& store_;
  const std::string secret_id_;
};

}  // namespace slipway::daemon
