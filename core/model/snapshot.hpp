// SPDX-License-Identifier: Apache-2.0
// snapshot.hpp - everything that is known at one revision, as an immutable value: what deciders get.
// A copy costs some ten pointers and shares all rows (base/persistent_map.hpp), so it does not grow with the
// machines; a change replaces one row and copies the path to it. Thread rule: a Snapshot object belongs to
// one thread; copies of it may be used in others.
#pragma once

#include "base/persistent_map.hpp"
#include "model/attempt.hpp"
#include "model/environment.hpp"
#include "model/machine.hpp"
#include "model/network.hpp"
#include "model/plugin_note.hpp"
#include "model/storage.hpp"

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace slipway::model {

// The kinds of rows that a snapshot holds. Parents stand before what refers to them.
using Rows = boost::mp11::mp_list<Credential, Environment, Machine, Attempt, Pool, Volume, Attachment, Space,
                                  Subnet, PluginNote>;

// Which daemon wrote this state and how often it was started and rolled back (EXACTLY_ONCE).
struct Controller {
  std::string uuid;
  std::uint64_t epoch = 0;  // starts of a daemon on this state
  std::uint64_t incarnation =
      0;  // raised when the state turned out to be older than the cloud (a restored backup)

  bool operator==(const Controller&) const = default;
};

template <class Row>
using RowPtr = std::shared_ptr<const Row>;  // shared: every snapshot that has the row

class Snapshot {
  template <class Row>
  using Table = PersistentMap<typename Row::Key, RowPtr<Row>>;
  template <class Row, class Index>
  struct IndexOf {
    PersistentMap<typename Index::Key, RowPtr<Row>> map;
  };
  template <class Row>
  struct Indexed {
    template <class Index>
    using Of = IndexOf<Row, Index>;
    Table<Row> rows;
    boost::mp11::mp_rename<boost::mp11::mp_transform<Of, typename Row::Indexes>, std::tuple> indexes;
  };

 public:
  Revision revision;  // of the last transaction in here
  Controller controller;

  // All rows of a kind in the order of their keys: `for (const auto& [key, machine] :
  // snapshot.all<Machine>())`.
  template <class Row>
  [[nodiscard]] const Table<Row>& all() const {
    return std::get<Indexed<Row>>(tables_).rows;
  }
  template <class Row, class Index>
  [[nodiscard]] const auto& by() const {
    return std::get<IndexOf<Row, Index>>(std::get<Indexed<Row>>(tables_).indexes).map;
  }
  // The row, or null.
  template <class Row>
  [[nodiscard]] RowPtr<Row> find(const typename Row::Key& key) const {
    const auto* row = all<Row>().find(key);
    return row != nullptr ? *row : nullptr;
  }
  template <class Row, class Index>
  [[nodiscard]] RowPtr<Row> find_by(const typename Index::Key& key) const {
    const auto* row = by<Row, Index>().find(key);
    return row != nullptr ? *row : nullptr;
  }

  // Calls visit(const RowPtr<Row>&) for an environment's rows of a kind, in the order of their keys.
  template <class Row, class Visit>
  void for_each_in(EnvironmentId environment, Visit visit) const {
    typename Row::Key first{};
    std::get<0>(first) = environment;
    const auto& rows = all<Row>();
    for (auto it = rows.lower_bound(first); it != rows.end() && std::get<0>(it->first) == environment; ++it)
      visit(it->second);
  }

  // Why the row cannot be put in: a key of one of its indexes belongs to another row. Nothing if it can.
  template <class Row>
  [[nodiscard]] std::optional<std::string> index_conflict(const Row& row) const {
    std::optional<std::string> conflict;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, typename Row::Indexes>>(
        [&](auto index) {
          using Index = typename decltype(index)::type;
          const auto key = Index::key(row);
          if (!key || conflict) return;
          const auto* holder = by<Row, Index>().find(*key);
          if (holder != nullptr && !((*holder)->key() == row.key())) conflict = Index::text(*key);
        });
    return conflict;
  }

  // For the store alone, which checked index_conflict() before. Both give the row that stood there, or null.
  template <class Row>
  RowPtr<Row> put(RowPtr<Row> row) {
    auto& table = std::get<Indexed<Row>>(tables_);
    auto old = find<Row>(row->key());
    if (old) drop_from_indexes(*old);
    for_each_index<Row>([&]<class Index>(auto& map) {
      if (const auto key = Index::key(*row)) map.put(*key, row);
    });
    const auto key = row->key();
    table.rows.put(key, std::move(row));
    return old;
  }
  template <class Row>
  RowPtr<Row> erase(const typename Row::Key& key) {
    auto old = find<Row>(key);
    if (!old) return nullptr;
    drop_from_indexes(*old);
    std::get<Indexed<Row>>(tables_).rows.erase(key);
    return old;
  }

 private:
  template <class Row, class Visit>
  void for_each_index(Visit visit) {
    boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, typename Row::Indexes>>(
        [&](auto index) {
          using Index = typename decltype(index)::type;
          visit.template operator()<Index>(
              std::get<IndexOf<Row, Index>>(std::get<Indexed<Row>>(tables_).indexes).map);
        });
  }
  template <class Row>
  void drop_from_indexes(const Row& row) {
    for_each_index<Row>([&]<class Index>(auto& map) {
      if (const auto key = Index::key(row)) map.erase(*key);
    });
  }

  boost::mp11::mp_rename<boost::mp11::mp_transform<Indexed, Rows>, std::tuple> tables_;
};

}  // namespace slipway::model
