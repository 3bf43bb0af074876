// SPDX-License-Identifier: Apache-2.0
#include "base/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <tuple>

namespace slipway::detail {
namespace {

constexpr mode_t kMode = 0640;

Result<fs::FileDescriptor> open_for_appending(const std::string& path) {
  fs::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kMode));
  if (!file.is_open()) return fs::error_of(errno, "opening log file", path);
  return file;
}

// The log cannot log about itself.
void say_on_stderr(const Error& error) { std::fprintf(stderr, "slipway: %s\n", error.message.c_str()); }

struct CloseGzip {
  void operator()(gzFile_s* file) const noexcept { gzclose(file); }
};

// FROM becomes TO, a gzip file; FROM is there until TO is whole.
Status compress(const std::string& from, const std::string& to) {
  const fs::FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return fs::error_of(errno, "opening log file", from);
  const std::string aside = to + ".part";
  fs::FileDescriptor target(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!target.is_open()) return fs::error_of(errno, "opening log file", aside);

  std::unique_ptr<gzFile_s, CloseGzip> gzip(gzdopen(fcntl(target.get(), F_DUPFD_CLOEXEC, 0), "wb"));
  std::array<char, 64U << 10U> buffer{};
  ssize_t count = 0;
  bool is_good = gzip != nullptr;
  while (is_good && (count = read(source.get(), buffer.data(), buffer.size())) > 0) {
    is_good = gzwrite(gzip.get(), buffer.data(), static_cast<unsigned>(count)) == static_cast<int>(count);
  }
  is_good = is_good && count == 0 && gzclose(gzip.release()) == Z_OK;
  if (is_good && rename(aside.c_str(), to.c_str()) == 0) {
    unlink(from.c_str());
    return ok();
  }
  const int reason = errno != 0 ? errno : EIO;  // zlib does not always leave one
  unlink(aside.c_str());
  return fs::error_of(reason, "compressing log file", from);
}

}  // namespace

Result<std::shared_ptr<LogFileSink>> LogFileSink::open(const LogSettings& settings) {
  if (settings.max_bytes == 0)
    return fail(Code::invalid, "log file {}: expected a size above 0", settings.path);
  SLIPWAY_TRY(fs::FileDescriptor file, open_for_appending(settings.path));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return fs::error_of(errno, "examining log file", settings.path);
  return std::shared_ptr<LogFileSink>(
      new LogFileSink(settings, std::move(file), static_cast<std::uint64_t>(info.st_size)));
}

LogFileSink::~LogFileSink() {
  if (compressor_.joinable()) compressor_.join();
}

void LogFileSink::sink_it_(const spdlog::details::log_msg& line) {
  std::string_view rest(line.payload.data(), line.payload.size());
  if (size_ > 0 && size_ + rest.size() > settings_.max_bytes) rotate();
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      // Takes back a part of the line, which would otherwise be glued to the next one.
      const auto part = static_cast<off_t>(line.payload.size() - rest.size());
      if (part > 0) std::ignore = ftruncate(file_.get(), lseek(file_.get(), 0, SEEK_END) - part);
      spdlog::throw_spdlog_ex("writing log file " + settings_.path, reason);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += line.payload.size();
}

// When it fails the present file is written on, and the next try is max_bytes later.
void LogFileSink::rotate() {
  if (compressor_.joinable()) compressor_.join();
  size_ = 0;
  // What is missing is no error; what cannot be renamed is overwritten by the next younger one.
  unlink(old_path(settings_.keep).c_str());
  unlink((old_path(settings_.keep) + ".gz").c_str());
  for (unsigned number = settings_.keep; number-- > 1;) {
    for (const char* ending : {"", ".gz"}) {
      std::ignore = rename((old_path(number) + ending).c_str(), (old_path(number + 1) + ending).c_str());
    }
  }
  const int renamed = settings_.keep == 0 ? unlink(settings_.path.c_str())
                                          : rename(settings_.path.c_str(), old_path(1).c_str());
  if (renamed != 0) return say_on_stderr(fs::error_of(errno, "rotating log file", settings_.path));
  auto next = open_for_appending(settings_.path);
  if (!next) return say_on_stderr(next.error());
  file_ = *std::move(next);
  if (settings_.keep == 0 || !settings_.has_compression) return;
  compressor_ = std::thread([from = old_path(1)]() noexcept {
    if (const auto status = compress(from, from + ".gz"); !status) say_on_stderr(status.error());
  });
}

}  // namespace slipway::detail
