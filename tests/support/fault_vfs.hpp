// SPDX-License-Identifier: Apache-2.0
// fault_vfs.hpp - a disk for SQLite that fails when it is told to: a VFS over the system's, which is the
// default one as long as the object lives. It counts calls, makes the N-th of a kind fail, and remembers what
// was written and not yet synced, so that a test can pull the plug. Thread-safe; one object at a time in a
// process, made before and destroyed after every database that uses it.
#pragma once

#include "base/random.hpp"

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace slipway::testing {

// stat: existence and size of a file; shm: the shared memory of the write-ahead log's index.
enum class DiskCall { open, read, write, sync, truncate, remove, stat, lock, shm };
BOOST_DESCRIBE_ENUM(DiskCall, open, read, write, sync, truncate, remove, stat, lock, shm)

// cut_short: a write that wrote half before the disk was full, a read that gave half before it failed. (That
// the file ends halfway is no fault of a call but a damaged file: SQLite takes the rest for zeros.)
enum class DiskFault { io_error, full, cut_short };
BOOST_DESCRIBE_ENUM(DiskFault, io_error, full, cut_short)

struct FaultPlan {
  DiskCall call = DiskCall::write;
  std::uint64_t nth = 1;  // counted from arm(); the first is 1
  bool for_good = false;  // this call and every later one of its kind
  DiskFault fault = DiskFault::io_error;
  std::string suffix{};  // only files whose path ends so: "-wal", ".db"; empty: all
};

class FaultVfs {
 public:
  FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  ~FaultVfs();

  // Replaces the plan before it.
  void arm(FaultPlan plan);
  void disarm();
  // How often the plan made a call fail since arm().
  [[nodiscard]] std::uint64_t faults() const;
  // Calls of this kind, failed ones included, since the start or reset_counts().
  [[nodiscard]] std::uint64_t calls(DiskCall call) const;
  void reset_counts();

  // A disk that says "synced" and lies: what is written after this call is lost with the power, until told
  // otherwise and synced again.
  void set_lying(bool is_lying);

  // The process dies (kill -9): from now on no call changes a file, whatever still runs or closes.
  void kill();
  // The power goes: as kill(), and what was not synced is not there any more. With `torn`, each unsynced
  // write survives by chance, as a disk's cache decides.
  void lose_power(Random* torn = nullptr);
  // The next process starts. Every database has to be closed before. A plan goes on.
  void revive();
  // As revive(), on a disk that is well and honest.
  void restart();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway::testing
