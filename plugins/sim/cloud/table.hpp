// SPDX-License-Identifier: Apache-2.0
// table.hpp - the resources of one kind that a simulated cloud has, and a trace of every one that it ever
// had: what an auditor judges by. Ids grow with time and are never used again. Thread rule: one thread.
#pragma once

#include <slipway/messages/common.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace slipway::sim {

enum class ResourceKind { unknown, server, port, address, firewall_group, volume, image, allocation };
BOOST_DESCRIBE_ENUM(ResourceKind, unknown, server, port, address, firewall_group, volume, image, allocation)

// One resource as the cloud's own books have it, whatever its answers said.
struct Trace {
  ResourceKind kind = ResourceKind::unknown;
  std::string id;
  std::string nonce;  // of the request that made it; empty: it came as a part of something else
  std::string name;
  Marker marker;
  std::int64_t made_ms = 0;
  std::optional<std::int64_t> removed_ms;  // absent: it is there

  static constexpr std::array required{std::string_view("kind"), std::string_view("id")};
};
BOOST_DESCRIBE_STRUCT(Trace, (), (kind, id, nonce, name, marker, made_ms, removed_ms))

// Whether a marker has at least the owner's entries.
inline bool is_owned(const Marker& marker, const Marker& owner) {
  return std::includes(marker.begin(), marker.end(), owner.begin(), owner.end());
}

// T is an Item, maybe with the cloud's own notes in members that no message has.
template <class T>
class Table {
 public:
  Table(ResourceKind kind, std::string prefix) : kind_(kind), prefix_(std::move(prefix)) {}

  // Gives the item its id, and name, marker and nonce from the request. The reference is good until removal.
  T& add(T item, const MakeRequest& request, std::int64_t now_ms) {
    std::string number = std::to_string(++last_number_);
    number.insert(0, 8 - std::min<std::size_t>(8, number.size()), '0');  // so that ids sort by age
    item.id = prefix_ + "-" + number;
    item.name = request.name;
    item.marker = request.marker;
    item.created_ms = now_ms;
    const std::string id = item.id;
    return rows_.emplace(id, Row{std::move(item), request.nonce}).first->second.item;
  }

  // Null: there is none.
  T* find(const std::string& id) {
    const auto found = rows_.find(id);
    return found == rows_.end() ? nullptr : &found->second.item;
  }

  void remove(const std::string& id, std::int64_t now_ms) {
    const auto found = rows_.find(id);
    if (found == rows_.end()) return;
    removed_.push_back(trace(found->second));
    removed_.back().removed_ms = now_ms;
    rows_.erase(found);
  }

  // By age. `f` may change items and must neither add nor remove.
  template <class F>
  void for_each(F f) {
    for (auto& [id, row] : rows_) f(row.item);
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  // One page of what was made before `visible_ms` and bears the owner's entries. A page is the last id that
  // was seen, so nothing is skipped or repeated when items come and go between two pages.
  template <class Reply>
  [[nodiscard]] Reply list(const ListingRequest& request, std::int64_t visible_ms,
                           std::uint32_t max_page) const {
    Reply out;
    const std::size_t limit = std::clamp<std::size_t>(request.page_size, 1, max_page);
    for (auto row = rows_.upper_bound(request.page); row != rows_.end(); ++row) {
      const T& item = row->second.item;
      if (item.created_ms > visible_ms || !is_owned(item.marker, request.owner)) continue;
      if (out.items.size() == limit) {
        out.next_page = out.items.back().id;
        break;
      }
      out.items.push_back(item);
    }
    return out;
  }

  void append_traces(std::vector<Trace>& out) const {
    out.insert(out.end(), removed_.begin(), removed_.end());
    for (const auto& [id, row] : rows_) out.push_back(trace(row));
  }

 private:
  struct Row {
    T item;
    std::string nonce;
  };

  Trace trace(const Row& row) const {
    const T& item = row.item;
    return {kind_, item.id, row.nonce, item.name, item.marker, item.created_ms, {}};
  }

  const ResourceKind kind_;
  const std::string prefix_;
  std::uint64_t last_number_ = 0;
  std::map<std::string, Row> rows_;  // by id, which is by age
  std::vector<Trace> removed_;
};

}  // namespace slipway::sim
