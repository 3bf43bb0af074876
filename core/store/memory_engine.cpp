// SPDX-License-Identifier: Apache-2.0
#include "store/memory_engine.hpp"

#include "base/crash.hpp"

#include <algorithm>

namespace slipway::store {
namespace {

bool starts_with(const Values& key, const Values& prefix) {
  return prefix.size() <= key.size() && std::equal(prefix.begin(), prefix.end(), key.begin());
}

}  // namespace

void MemoryDisk::fail_commit_after(std::size_t commits, CommitFault fault) {
  const std::lock_guard lock(tables_mutex_);
  commits_until_fault_ = commits;
  fault_ = fault;
}

void MemoryDisk::set_broken(bool is_broken) {
  const std::lock_guard lock(tables_mutex_);
  is_broken_ = is_broken;
}

void MemoryDisk::set_lying(bool is_lying) {
  const std::lock_guard lock(tables_mutex_);
  is_lying_ = is_lying;
}

void MemoryDisk::sync() {
  const std::lock_guard lock(tables_mutex_);
  synced_ = committed_;
}

void MemoryDisk::lose_power() {
  const std::lock_guard lock(tables_mutex_);
  committed_ = synced_;
}

std::uint64_t MemoryDisk::commits() const {
  const std::lock_guard lock(tables_mutex_);
  return commits_;
}

MemoryEngine::MemoryEngine(std::shared_ptr<MemoryDisk> disk)
    : schema_(disk->schema_), disk_(std::move(disk)) {
  const std::lock_guard lock(disk_->tables_mutex_);
  disk_->is_crashed_ = false;  // a new process
}

Status MemoryEngine::check_disk() const {
  if (disk_->is_crashed_) return fail(Code::unavailable, "the process has crashed");
  if (disk_->is_broken_) return fail(Code::unavailable, "the disk does not answer");
  return ok();
}

Status MemoryEngine::load(const LoadRow& row) {
  Tables tables;
  {
    const std::lock_guard lock(disk_->tables_mutex_);
    SLIPWAY_TRY(check_disk());
    tables = disk_->committed_;
  }
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (!schema_[table].is_resident) continue;
    for (const auto& [key, values] : tables[table]) SLIPWAY_TRY(row(table, values));
  }
  return ok();
}

Status MemoryEngine::begin() {
  SLIPWAY_ASSERT(!group_);
  const std::lock_guard lock(disk_->tables_mutex_);
  SLIPWAY_TRY(check_disk());
  group_ = disk_->committed_;
  return ok();
}

Status MemoryEngine::apply(std::span<const RowChange> changes) {
  SLIPWAY_ASSERT(group_);
  {
    const std::lock_guard lock(disk_->tables_mutex_);
    SLIPWAY_TRY(check_disk());
  }
  Tables tables = *group_;
  for (const RowChange& change : changes) SLIPWAY_TRY(apply_one(change, tables));
  group_ = std::move(tables);
  return ok();
}

Status MemoryEngine::apply_one(const RowChange& change, Tables& tables) const {
  const std::string_view name = schema_[change.table].name;
  auto& rows = tables[change.table];
  const Values key = key_of(change.table, change.values);
  const bool exists = rows.contains(key);
  if (change.op == RowOp::insert && exists) return fail(Code::conflict, "table {}: the key exists", name);
  if ((change.op == RowOp::update || change.op == RowOp::erase) && !exists) {
    return fail(Code::conflict, "table {}: there is no such row", name);
  }
  if (change.op == RowOp::erase) {
    SLIPWAY_TRY(check_children(change.table, key, tables));
    rows.erase(key);
    return ok();
  }
  SLIPWAY_TRY(check_parents(change.table, change.values, tables));
  rows.put(key, change.values);
  return ok();
}

Status MemoryEngine::check_parents(std::size_t table, const Values& row, const Tables& tables) const {
  for (const ForeignKey& foreign : schema_[table].foreign_keys) {
    Values key;
    for (const std::size_t column : foreign.columns) key.push_back(row[column]);
    const bool is_null = std::find(key.begin(), key.end(), Value()) != key.end();
    if (!is_null && !tables[foreign.parent].contains(key)) {
      return fail(Code::conflict, "table {}: its {} does not exist", schema_[table].name,
                  schema_[foreign.parent].name);
    }
  }
  return ok();
}

// Looks at every row of the children: fine for tests, and the real engine has an index.
Status MemoryEngine::check_children(std::size_t table, const Values& key, const Tables& tables) const {
  for (std::size_t child = 0; child < schema_.size(); ++child) {
    for (const ForeignKey& foreign : schema_[child].foreign_keys) {
      if (foreign.parent != table) continue;
      for (const auto& [child_key, row] : tables[child]) {
        const bool refers =
            std::equal(key.begin(), key.end(), foreign.columns.begin(), foreign.columns.end(),
                       [&row = row](const Value& part, std::size_t column) { return row[column] == part; });
        if (refers) {
          return fail(Code::conflict, "table {}: a row of {} refers to it", schema_[table].name,
                      schema_[child].name);
        }
      }
    }
  }
  return ok();
}

Values MemoryEngine::key_of(std::size_t table, const Values& row) const {
  return Values(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(schema_[table].key_columns));
}

Status MemoryEngine::commit() {
  SLIPWAY_ASSERT(group_);
  const std::lock_guard lock(disk_->tables_mutex_);
  SLIPWAY_TRY(check_disk());
  std::optional<MemoryDisk::CommitFault> fault;
  if (disk_->fault_ && disk_->commits_until_fault_-- == 0) fault = std::exchange(disk_->fault_, std::nullopt);

  using Fault = MemoryDisk::CommitFault;
  if (!fault || *fault == Fault::kept || *fault == Fault::crash_kept) {
    disk_->committed_ = *std::move(group_);
    if (!disk_->is_lying_) disk_->synced_ = disk_->committed_;
    ++disk_->commits_;
  }
  if (fault == Fault::refused) return fail(Code::unavailable, "the disk is full").rejected();
  group_.reset();
  if (!fault) return ok();
  disk_->is_crashed_ = *fault == Fault::crash_kept || *fault == Fault::crash_lost;
  return fail(Code::unavailable, "the disk did not answer a commit");
}

void MemoryEngine::rollback() noexcept { group_.reset(); }

Status MemoryEngine::recover() {
  group_.reset();
  const std::lock_guard lock(disk_->tables_mutex_);
  SLIPWAY_TRY(check_disk());
  disk_->synced_ = disk_->committed_;
  return ok();
}

Result<std::vector<Values>> MemoryEngine::read(std::size_t table, const Values& prefix, const Values& after,
                                               std::size_t limit) {
  MemoryDisk::Table rows;
  {
    const std::lock_guard lock(disk_->tables_mutex_);
    SLIPWAY_TRY(check_disk());
    rows = disk_->committed_[table];
  }
  std::vector<Values> found;
  for (auto at = rows.lower_bound(std::max(prefix, after)); at != rows.end() && found.size() < limit; ++at) {
    if (at->first == after) continue;
    if (!starts_with(at->first, prefix)) break;
    found.push_back(at->second);
  }
  return found;
}

Result<std::size_t> MemoryEngine::erase_below(std::size_t table, std::int64_t bound, std::size_t limit) {
  SLIPWAY_ASSERT(group_);
  auto& rows = (*group_)[table];
  std::size_t erased = 0;
  while (erased < limit && !rows.empty()) {
    const Values key = rows.begin()->first;
    if (std::get<std::int64_t>(key.front()) >= bound) break;
    rows.erase(key);
    ++erased;
  }
  return erased;
}

Status MemoryEngine::copy_to(const std::string& path) {
  return fail(Code::unsupported, "{}: a store in memory has no file to copy", path);
}

std::uint64_t MemoryEngine::size_bytes() const { return 0; }

}  // namespace slipway::store
