// SPDX-License-Identifier: Apache-2.0
// files.hpp - the moves of files that databases and backups need beside base/fs: each one is durable when it
// returns ok, and an error names the path. Thread-safe: free functions.
#pragma once

#include <slipway/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::store::files {

// Makes the content of a file, or the names in a directory, outlive a power cut.
Status sync(const std::string& path);
// An empty file with mode 0600. conflict: something has the name.
Status create(const std::string& path);
// A copy of a regular file with mode 0600. conflict: something has the name.
Status copy(const std::string& from, const std::string& to);
// Replaces what is at `to`. Both in one directory.
Status rename(const std::string& from, const std::string& to);
// A second name for the same file, so that the first one can be given to another. Absent is success.
Status link(const std::string& from, const std::string& to);
// Absent is success.
Status remove(const std::string& path);

[[nodiscard]] bool exists(const std::string& path);
// 0 if it is absent.
[[nodiscard]] std::uint64_t size(const std::string& path);
// The directory part: "." if there is none.
[[nodiscard]] std::string parent(const std::string& path);

// UTC in seconds for names of files, in the order of time: "20261130T120824Z".
[[nodiscard]] std::string utc_stamp(std::int64_t utc_ms);
// The stamp as UTC milliseconds; invalid if it is none.
[[nodiscard]] Result<std::int64_t> parse_utc_stamp(std::string_view stamp);

}  // namespace slipway::store::files
