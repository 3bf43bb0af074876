// SPDX-License-Identifier: Apache-2.0
// fs.hpp - files as a daemon needs them: whole or not at all, owned and protected as they should be, locked
// by one process. Every error names the path and the system's reason; where somebody can repair it, the
// command. Thread-safe: free functions; a FileDescriptor or FileLock has one owner.
#pragma once

#include <slipway/result.hpp>

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace slipway::fs {

// Closes it when it goes. A value that moves.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  // Closes now; the error number of close(), or 0. For writers, to whom a late error matters.
  int close() noexcept;

 private:
  int fd_ = -1;
};

// "DOING PATH: No such file or directory", with the code that fits the error number: not_found, denied,
// conflict (exists), exhausted (disk, quota, descriptors), invalid (a directory, a name that is too long),
// else unavailable.
[[nodiscard]] Error error_of(int error_number, std::string_view doing, std::string_view path);

// The whole content of a regular file. invalid: not a regular file, or more than `max_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

// Afterwards the path holds all of the bytes with exactly this mode, also after a power cut; on failure it
// holds what it held before and nothing is left beside it. Only if the very last step fails (making the
// rename durable) the new content is there although an error says that it may not last. A symbolic link is
// replaced, not followed.
Status write_file_atomically(const std::string& path, std::string_view bytes, mode_t mode);

// Makes the directory and those above it that are missing, all with exactly this mode, durably. Good if it
// exists, whatever its mode; invalid if something else has the name.
Status make_directory(const std::string& path, mode_t mode);

// Good if the owner is root or this process's user, and nobody else may write: mode without 0022, or exactly
// `exact_mode` where one is demanded. `what` is the file's name in the error ("key file"). denied otherwise,
// with what was found, what is wanted and the command that repairs it. Follows symbolic links.
Status check_private(const std::string& path, std::string_view what,
                     std::optional<mode_t> exact_mode = std::nullopt);
// read_file() and check_private() of one and the same file, whatever is renamed meanwhile.
[[nodiscard]] Result<std::string> read_private_file(const std::string& path, std::string_view what,
                                                    std::size_t max_bytes,
                                                    std::optional<mode_t> exact_mode = std::nullopt);

// An exclusive lock on a file, made if it is absent (0600). The kernel drops it with the process, however
// that ends. The file stays: removing it would let two processes lock two files of one name. A child that is
// forked without exec shares the lock.
class FileLock {
 public:
  // conflict: "PATH is locked by pid 4711 (slipwayd)". Does not wait.
  [[nodiscard]] static Result<FileLock> try_lock(const std::string& path);

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace slipway::fs
