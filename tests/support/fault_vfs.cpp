// SPDX-License-Identifier: Apache-2.0
#include "support/fault_vfs.hpp"

#include "base/crash.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::testing {
namespace {

constexpr std::size_t kCalls = 9;

// A write or truncation that was not synced yet: what is needed to take it back, and to do it again.
struct Unsynced {
  std::int64_t offset = 0;
  std::string before;
  std::string after;
  std::int64_t size_before = 0;
  std::int64_t size_after = 0;
};

struct FaultFile {
  sqlite3_file base{};
  FaultVfs::Impl* vfs = nullptr;
  std::string path;
  sqlite3_file* real = nullptr;  // in the memory behind this object
};

FaultFile& self(sqlite3_file* file) { return *reinterpret_cast<FaultFile*>(file); }

std::size_t real_offset() {
  constexpr std::size_t align = alignof(std::max_align_t);
  return (sizeof(FaultFile) + align - 1) / align * align;
}

int error_of(DiskCall call, DiskFault fault) {
  switch (call) {
    case DiskCall::open:
      return SQLITE_CANTOPEN;
    case DiskCall::read:
      return SQLITE_IOERR_READ;
    case DiskCall::write:
      return fault == DiskFault::io_error ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    case DiskCall::sync:
      return SQLITE_IOERR_FSYNC;  // whatever the reason, as SQLite's own does
    case DiskCall::truncate:
      return SQLITE_IOERR_TRUNCATE;
    case DiskCall::remove:
      return SQLITE_IOERR_DELETE;
    case DiskCall::stat:
      return SQLITE_IOERR_FSTAT;
    case DiskCall::lock:
      return SQLITE_IOERR_LOCK;
    case DiskCall::shm:
      return fault == DiskFault::full ? SQLITE_FULL : SQLITE_IOERR_SHMMAP;
  }
  return SQLITE_IOERR;
}

}  // namespace

struct FaultVfs::Impl {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs vfs{};
  sqlite3_io_methods methods{};

  std::mutex disk_mutex;  // guards the following, and keeps the record in the order of the writes
  FaultPlan plan;
  bool is_armed = false;
  std::uint64_t until = 0;
  std::uint64_t fired = 0;
  std::array<std::uint64_t, kCalls> counts{};
  bool is_lying = false;
  bool is_dead = false;
  std::map<std::string, std::vector<Unsynced>> unsynced;
  std::set<FaultFile*> open_files;

  // Counts the call; true if it has to fail.
  bool fails(DiskCall call, std::string_view path) {
    ++counts[static_cast<std::size_t>(call)];
    if (!is_armed || call != plan.call || !path.ends_with(plan.suffix)) return false;
    if (until > 1) {
      --until;
      return false;
    }
    if (!plan.for_good) is_armed = false;
    ++fired;
    return true;
  }

  int failure(DiskCall call) const { return error_of(call, plan.fault); }

  static std::int64_t size_of(sqlite3_file* real_file) {
    sqlite3_int64 size = 0;
    return real_file->pMethods->xFileSize(real_file, &size) == SQLITE_OK ? size : 0;
  }

  // What the file holds at `offset`, shorter at its end.
  static std::string content(sqlite3_file* real_file, std::int64_t offset, std::int64_t length) {
    const std::int64_t there = std::clamp<std::int64_t>(size_of(real_file) - offset, 0, length);
    std::string bytes(static_cast<std::size_t>(there), '\0');
    if (there > 0) real_file->pMethods->xRead(real_file, bytes.data(), static_cast<int>(there), offset);
    return bytes;
  }

  int write(FaultFile& file, std::string_view bytes, std::int64_t offset) {
    Unsynced record;
    record.offset = offset;
    record.before = content(file.real, offset, static_cast<std::int64_t>(bytes.size()));
    record.after = bytes;
    record.size_before = size_of(file.real);
    record.size_after = std::max(record.size_before, offset + static_cast<std::int64_t>(bytes.size()));
    unsynced[file.path].push_back(std::move(record));
    return file.real->pMethods->xWrite(file.real, bytes.data(), static_cast<int>(bytes.size()), offset);
  }

  void roll_back(const std::string& path, const std::vector<Unsynced>& writes, Random* torn);
};

namespace {

// ---- The methods of a file ----

int file_close(sqlite3_file* f) {
  FaultFile& file = self(f);
  {
    const std::lock_guard lock(file.vfs->disk_mutex);
    file.vfs->open_files.erase(&file);
  }
  const int rc = file.real->pMethods->xClose(file.real);
  file.~FaultFile();
  return rc;
}

int file_read(sqlite3_file* f, void* into, int amount, sqlite3_int64 offset) {
  FaultFile& file = self(f);
  {
    const std::lock_guard lock(file.vfs->disk_mutex);
    if (file.vfs->fails(DiskCall::read, file.path)) {
      if (file.vfs->plan.fault == DiskFault::cut_short) {
        const std::string half = FaultVfs::Impl::content(file.real, offset, amount / 2);
        auto* bytes = static_cast<char*>(into);
        std::fill(bytes, bytes + amount, '\0');
        std::copy(half.begin(), half.end(), bytes);
      }
      return file.vfs->failure(DiskCall::read);
    }
  }
  return file.real->pMethods->xRead(file.real, into, amount, offset);
}

int file_write(sqlite3_file* f, const void* from, int amount, sqlite3_int64 offset) {
  FaultFile& file = self(f);
  const std::lock_guard lock(file.vfs->disk_mutex);
  const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(amount));
  const bool has_failed = file.vfs->fails(DiskCall::write, file.path);
  if (file.vfs->is_dead) return SQLITE_IOERR_WRITE;
  if (!has_failed) return file.vfs->write(file, bytes, offset);
  if (file.vfs->plan.fault == DiskFault::cut_short) {
    file.vfs->write(file, bytes.substr(0, bytes.size() / 2), offset);
  }
  return file.vfs->failure(DiskCall::write);
}

int file_truncate(sqlite3_file* f, sqlite3_int64 size) {
  FaultFile& file = self(f);
  const std::lock_guard lock(file.vfs->disk_mutex);
  const bool has_failed = file.vfs->fails(DiskCall::truncate, file.path);
  if (file.vfs->is_dead) return SQLITE_IOERR_TRUNCATE;
  if (has_failed) return file.vfs->failure(DiskCall::truncate);
  Unsynced record;
  record.offset = size;
  record.size_before = FaultVfs::Impl::size_of(file.real);
  record.size_after = size;
  record.before =
      FaultVfs::Impl::content(file.real, size, std::max<std::int64_t>(record.size_before - size, 0));
  file.vfs->unsynced[file.path].push_back(std::move(record));
  return file.real->pMethods->xTruncate(file.real, size);
}

int file_sync(sqlite3_file* f, int) {
  FaultFile& file = self(f);
  const std::lock_guard lock(file.vfs->disk_mutex);
  const bool has_failed = file.vfs->fails(DiskCall::sync, file.path);
  if (file.vfs->is_dead) return SQLITE_IOERR_FSYNC;
  if (has_failed) return file.vfs->failure(DiskCall::sync);
  if (file.vfs->is_lying) return SQLITE_OK;
  file.vfs->unsynced.erase(file.path);
  return SQLITE_OK;  // the record is what survives here; waiting for the real disk would prove nothing
}

int file_size(sqlite3_file* f, sqlite3_int64* size) {
  FaultFile& file = self(f);
  {
    const std::lock_guard lock(file.vfs->disk_mutex);
    if (file.vfs->fails(DiskCall::stat, file.path)) return file.vfs->failure(DiskCall::stat);
  }
  return file.real->pMethods->xFileSize(file.real, size);
}

int file_lock(sqlite3_file* f, int level) {
  FaultFile& file = self(f);
  {
    const std::lock_guard lock(file.vfs->disk_mutex);
    if (file.vfs->fails(DiskCall::lock, file.path)) return file.vfs->failure(DiskCall::lock);
  }
  return file.real->pMethods->xLock(file.real, level);
}

int file_unlock(sqlite3_file* f, int level) { return self(f).real->pMethods->xUnlock(self(f).real, level); }

int file_check_reserved(sqlite3_file* f, int* out) {
  return self(f).real->pMethods->xCheckReservedLock(self(f).real, out);
}

int file_control(sqlite3_file* f, int op, void* argument) {
  return self(f).real->pMethods->xFileControl(self(f).real, op, argument);
}

int file_sector_size(sqlite3_file* f) { return self(f).real->pMethods->xSectorSize(self(f).real); }

int file_characteristics(sqlite3_file* f) {
  return self(f).real->pMethods->xDeviceCharacteristics(self(f).real);
}

int file_shm_map(sqlite3_file* f, int page, int page_size, int extend, void volatile** out) {
  FaultFile& file = self(f);
  {
    const std::lock_guard lock(file.vfs->disk_mutex);
    if (file.vfs->fails(DiskCall::shm, file.path)) return file.vfs->failure(DiskCall::shm);
  }
  return file.real->pMethods->xShmMap(file.real, page, page_size, extend, out);
}

int file_shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return self(f).real->pMethods->xShmLock(self(f).real, offset, n, flags);
}

void file_shm_barrier(sqlite3_file* f) { self(f).real->pMethods->xShmBarrier(self(f).real); }

int file_shm_unmap(sqlite3_file* f, int is_deleted) {
  return self(f).real->pMethods->xShmUnmap(self(f).real, is_deleted);
}

// ---- The methods of the VFS ----

FaultVfs::Impl& impl_of(sqlite3_vfs* vfs) { return *static_cast<FaultVfs::Impl*>(vfs->pAppData); }

int vfs_open(sqlite3_vfs* v, sqlite3_filename name, sqlite3_file* f, int flags, int* out_flags) {
  FaultVfs::Impl& vfs = impl_of(v);
  const std::string path = name != nullptr ? name : "";
  f->pMethods = nullptr;
  const std::lock_guard lock(vfs.disk_mutex);
  if (vfs.fails(DiskCall::open, path)) return vfs.failure(DiskCall::open);
  if (vfs.is_dead) return SQLITE_CANTOPEN;
  auto* real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(f) + real_offset());
  const int rc = vfs.real->xOpen(vfs.real, name, real, flags, out_flags);
  if (rc != SQLITE_OK) return rc;
  auto* file = new (f) FaultFile;
  file->base.pMethods = &vfs.methods;
  file->vfs = &vfs;
  file->path = path;
  file->real = real;
  vfs.open_files.insert(file);
  return SQLITE_OK;
}

int vfs_delete(sqlite3_vfs* v, const char* name, int sync_directory) {
  FaultVfs::Impl& vfs = impl_of(v);
  const std::lock_guard lock(vfs.disk_mutex);
  const bool has_failed = vfs.fails(DiskCall::remove, name);
  if (vfs.is_dead) return SQLITE_IOERR_DELETE;
  if (has_failed) return vfs.failure(DiskCall::remove);
  vfs.unsynced.erase(name);  // a file that is gone has nothing to lose
  return vfs.real->xDelete(vfs.real, name, sync_directory);
}

int vfs_access(sqlite3_vfs* v, const char* name, int flags, int* out) {
  FaultVfs::Impl& vfs = impl_of(v);
  {
    const std::lock_guard lock(vfs.disk_mutex);
    if (vfs.fails(DiskCall::stat, name)) return SQLITE_IOERR_ACCESS;
  }
  return vfs.real->xAccess(vfs.real, name, flags, out);
}

int vfs_full_path(sqlite3_vfs* v, const char* name, int length, char* out) {
  return impl_of(v).real->xFullPathname(impl_of(v).real, name, length, out);
}

// Without the memory mapping of version 3: every read has to come through here.
sqlite3_io_methods file_methods() {
  sqlite3_io_methods methods{};
  methods.iVersion = 2;
  methods.xClose = file_close;
  methods.xRead = file_read;
  methods.xWrite = file_write;
  methods.xTruncate = file_truncate;
  methods.xSync = file_sync;
  methods.xFileSize = file_size;
  methods.xLock = file_lock;
  methods.xUnlock = file_unlock;
  methods.xCheckReservedLock = file_check_reserved;
  methods.xFileControl = file_control;
  methods.xSectorSize = file_sector_size;
  methods.xDeviceCharacteristics = file_characteristics;
  methods.xShmMap = file_shm_map;
  methods.xShmLock = file_shm_lock;
  methods.xShmBarrier = file_shm_barrier;
  methods.xShmUnmap = file_shm_unmap;
  return methods;
}

}  // namespace

FaultVfs::FaultVfs() : impl_(std::make_unique<Impl>()) {
  impl_->real = sqlite3_vfs_find(nullptr);
  impl_->methods = file_methods();
  impl_->vfs = *impl_->real;
  impl_->vfs.pNext = nullptr;
  impl_->vfs.zName = "slipway-fault";
  impl_->vfs.szOsFile = static_cast<int>(real_offset()) + impl_->real->szOsFile;
  impl_->vfs.pAppData = impl_.get();
  impl_->vfs.xOpen = vfs_open;
  impl_->vfs.xDelete = vfs_delete;
  impl_->vfs.xAccess = vfs_access;
  impl_->vfs.xFullPathname = vfs_full_path;
  SLIPWAY_ASSERT(sqlite3_vfs_register(&impl_->vfs, 1) == SQLITE_OK);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&impl_->vfs);
  sqlite3_vfs_register(impl_->real, 1);
}

void FaultVfs::arm(FaultPlan plan) {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->until = plan.nth;
  impl_->plan = std::move(plan);
  impl_->is_armed = true;
  impl_->fired = 0;
}

void FaultVfs::disarm() {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->is_armed = false;
}

std::uint64_t FaultVfs::faults() const {
  const std::lock_guard lock(impl_->disk_mutex);
  return impl_->fired;
}

std::uint64_t FaultVfs::calls(DiskCall call) const {
  const std::lock_guard lock(impl_->disk_mutex);
  return impl_->counts[static_cast<std::size_t>(call)];
}

void FaultVfs::reset_counts() {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->counts = {};
}

void FaultVfs::set_lying(bool is_lying) {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->is_lying = is_lying;
}

void FaultVfs::kill() {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->is_dead = true;
}

void FaultVfs::lose_power(Random* torn) {
  const std::lock_guard lock(impl_->disk_mutex);
  impl_->is_dead = true;
  for (const auto& [path, writes] : impl_->unsynced) impl_->roll_back(path, writes, torn);
  impl_->unsynced.clear();
}

void FaultVfs::revive() {
  const std::lock_guard lock(impl_->disk_mutex);
  SLIPWAY_ASSERT(impl_->open_files.empty());
  impl_->is_dead = false;
}

void FaultVfs::restart() {
  revive();
  disarm();
  set_lying(false);
}

// On a copy of the content, then written over the file in place: opening and closing it here would drop the
// locks that this process holds on it (POSIX), but who loses power has lost those too.
void FaultVfs::Impl::roll_back(const std::string& path, const std::vector<Unsynced>& writes, Random* torn) {
  if (!std::filesystem::exists(path)) return;
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto apply = [&](std::int64_t offset, const std::string& part, std::int64_t size) {
    bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(offset) + part.size()));
    std::copy(part.begin(), part.end(), bytes.begin() + offset);
    bytes.resize(static_cast<std::size_t>(size));
  };
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
    apply(write->offset, write->before, write->size_before);
  }
  for (const Unsynced& write : writes) {
    const bool has_survived = torn != nullptr && torn->below(2) == 0;
    if (!has_survived) continue;
    const auto size = std::max(static_cast<std::int64_t>(bytes.size()), write.size_after);
    apply(write.offset, write.after, write.size_after < write.size_before ? write.size_after : size);
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace slipway::testing
