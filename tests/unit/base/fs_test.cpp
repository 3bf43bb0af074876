// SPDX-License-Identifier: Apache-2.0
#include "base/fs.hpp"

#include "support/temp_dir.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

namespace slipway::fs {
namespace {

using testing::TempDir;

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::size_t entries_in(const std::string& path) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
  return count;
}

// Sets the umask of one test.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { umask(before_); }

 private:
  mode_t before_;
};

// Runs the function in a child as a user who is not root; true if it said so. A case that needs this runs as
// root or as somebody else alike.
template <class Function>
bool as_plain_user(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(function() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("a file is written whole with exactly its mode, whatever the umask") {
  const TempDir dir;
  const Umask strict(0077);
  const std::string bytes("a\0b\n", 4);
  REQUIRE(write_file_atomically(dir.path("f"), bytes, 0644));
  CHECK(read_file(dir.path("f"), 100).value() == bytes);
  CHECK(mode_of(dir.path("f")) == 0644);
  REQUIRE(write_file_atomically(dir.path("f"), "second", 0400));
  CHECK(read_file(dir.path("f"), 100).value() == "second");
  CHECK(mode_of(dir.path("f")) == 0400);
  REQUIRE(write_file_atomically(dir.path("f"), "", 0600));
  CHECK(read_file(dir.path("f"), 100).value().empty());
  CHECK(entries_in(dir.path()) == 1);
}

TEST_CASE("a file of a megabyte comes back as it was written") {
  const TempDir dir;
  const std::string bytes(1'000'001, 'x');
  REQUIRE(write_file_atomically(dir.path("f"), bytes, 0600));
  CHECK(read_file(dir.path("f"), bytes.size()).value() == bytes);
}

TEST_CASE("a write that fails leaves the old content and nothing beside it") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("taken"));  // rename() onto a directory fails: the last step
  const auto onto_directory = write_file_atomically(dir.path("taken"), "new", 0600);
  REQUIRE_FALSE(onto_directory.has_value());
  CHECK(onto_directory.error().message.find(dir.path("taken")) != std::string::npos);
  CHECK(onto_directory.error().message.find("Is a directory") != std::string::npos);
  CHECK(entries_in(dir.path()) == 1);

  const auto nowhere = write_file_atomically(dir.path("missing/f"), "new", 0600);
  CHECK((!nowhere && nowhere.error().code == Code::not_found));

  std::filesystem::create_directory(dir.path("closed"));
  REQUIRE(write_file_atomically(dir.path("closed/f"), "old", 0644));
  REQUIRE(chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(chmod(dir.path("closed").c_str(), 0555) == 0);
  CHECK(as_plain_user([&] {
    const auto status = write_file_atomically(dir.path("closed/f"), "new", 0644);
    return !status && status.error().code == Code::denied;
  }));
  CHECK(read_file(dir.path("closed/f"), 10).value() == "old");
  CHECK(entries_in(dir.path("closed")) == 1);
  REQUIRE(chmod(dir.path("closed").c_str(), 0755) == 0);
}

TEST_CASE("a writer that dies half-way leaves the old content") {
  const TempDir dir;
  REQUIRE(write_file_atomically(dir.path("f"), "old", 0600));
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0;; ++i) {
      if (!write_file_atomically(dir.path("f"), std::string(100'000, i % 2 == 0 ? 'a' : 'b'), 0600)) _exit(1);
    }
  }
  usleep(5000);
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  const std::string content = read_file(dir.path("f"), 200'000).value();
  CHECK((content == "old" || content == std::string(100'000, 'a') || content == std::string(100'000, 'b')));
}

TEST_CASE("a symbolic link is replaced, not followed") {
  const TempDir dir;
  REQUIRE(write_file_atomically(dir.path("target"), "target", 0600));
  std::filesystem::create_symlink("target", dir.path("link"));
  REQUIRE(write_file_atomically(dir.path("link"), "new", 0600));
  CHECK(read_file(dir.path("target"), 10).value() == "target");
  CHECK_FALSE(std::filesystem::is_symlink(dir.path("link")));
}

TEST_CASE("reading is bounded and says path and reason") {
  const TempDir dir;
  REQUIRE(write_file_atomically(dir.path("f"), "12345", 0600));
  CHECK(read_file(dir.path("f"), 5).value() == "12345");
  const auto big = read_file(dir.path("f"), 4);
  REQUIRE_FALSE(big.has_value());
  CHECK(big.error().code == Code::invalid);
  CHECK(big.error().message == "reading " + dir.path("f") + ": expected at most 4 bytes, it has more");

  const auto missing = read_file(dir.path("g"), 4);
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == Code::not_found);
  CHECK(missing.error().message == "opening " + dir.path("g") + ": No such file or directory");

  CHECK(read_file(dir.path(), 4).error().code == Code::invalid);
  REQUIRE(mkfifo(dir.path("fifo").c_str(), 0600) == 0);
  CHECK(read_file(dir.path("fifo"), 4).error().code == Code::invalid);  // and does not hang
  CHECK(read_file("/proc/self/comm", 100).value().size() > 1);          // its size shows as 0
}

TEST_CASE("an error number has the code that fits it") {
  CHECK(error_of(ENOSPC, "writing", "/f").code == Code::exhausted);
  CHECK(error_of(EACCES, "writing", "/f").code == Code::denied);
  CHECK(error_of(EIO, "writing", "/f").code == Code::unavailable);
  CHECK(error_of(EIO, "writing", "/f").message == "writing /f: Input/output error");
}

TEST_CASE("a directory is made with its parents and exactly its mode") {
  const TempDir dir;
  const Umask strict(0077);
  REQUIRE(make_directory(dir.path("a/b/c"), 0755));
  CHECK(mode_of(dir.path("a")) == 0755);
  CHECK(mode_of(dir.path("a/b/c")) == 0755);
  CHECK(make_directory(dir.path("a/b/c"), 0700).has_value());
  CHECK(mode_of(dir.path("a/b/c")) == 0755);  // what exists stays as it is
  CHECK(make_directory(dir.path("d/"), 0700).has_value());
  CHECK(std::filesystem::is_directory(dir.path("d")));

  REQUIRE(write_file_atomically(dir.path("f"), "", 0600));
  CHECK(make_directory(dir.path("f"), 0700).error().code == Code::invalid);
  CHECK(make_directory(dir.path("f/sub"), 0700).error().code == Code::not_found);
}

TEST_CASE("a file that others may write is refused with the command that repairs it") {
  const TempDir dir;
  const std::string path = dir.path("slipway.key");
  REQUIRE(write_file_atomically(path, "k", 0640));
  CHECK(check_private(path, "key file").has_value());
  for (const mode_t mode : {0660U, 0602U, 0666U}) {
    REQUIRE(chmod(path.c_str(), mode) == 0);
    const auto status = check_private(path, "key file");
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == Code::denied);
    CHECK(status.error().message.ends_with("run: chmod go-w " + path));
  }
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  CHECK(check_private(path, "key file", 0400).error().message ==
        "key file " + path + ": the mode is 0644, expected 0400; run: chmod 0400 " + path);
  CHECK(read_private_file(path, "key file", 10, 0400).error().code == Code::denied);
  REQUIRE(chmod(path.c_str(), 0400) == 0);
  CHECK(check_private(path, "key file", 0400).has_value());
  CHECK(read_private_file(path, "key file", 10, 0400).value() == "k");
  CHECK(check_private(dir.path("missing"), "key file").error().code == Code::not_found);
}

TEST_CASE("the command in an error is fit for a shell") {
  const TempDir dir;
  const std::string path = dir.path("it's here");
  REQUIRE(write_file_atomically(path, "k", 0666));
  CHECK(check_private(path, "file")
            .error()
            .message.ends_with("chmod go-w '" + dir.path("it'\\''s here") + "'"));
}

TEST_CASE("a file of another user is refused, one of root is not") {
  CHECK(as_plain_user([] { return check_private("/etc/passwd", "file").has_value(); }));
  if (geteuid() != 0) {
    WARN("SKIPPED: giving a file to another user needs root");
    return;
  }
  const TempDir dir;
  REQUIRE(write_file_atomically(dir.path("f"), "k", 0600));
  REQUIRE(chown(dir.path("f").c_str(), 65534, 0) == 0);
  const auto status = check_private(dir.path("f"), "key file");
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == Code::denied);
  CHECK(status.error().message.find(
            "the owner is uid 65534 (nobody), expected uid 0 (root); run: chown 0 ") != std::string::npos);
}

TEST_CASE("a lock is held by one, named in the error of the other, and free after its holder") {
  const TempDir dir;
  const std::string path = dir.path("lock");
  {
    const auto lock = FileLock::try_lock(path);
    REQUIRE(lock);
    CHECK(read_file(path, 20).value() == std::to_string(getpid()) + "\n");
    const auto second = FileLock::try_lock(path);
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().code == Code::conflict);
    std::string comm = read_file("/proc/self/comm", 20).value();
    comm.pop_back();
    CHECK(second.error().message ==
          path + " is locked by pid " + std::to_string(getpid()) + " (" + comm + ")");
  }
  CHECK(FileLock::try_lock(path));
}

TEST_CASE("a lock dies with the process that holds it") {
  const TempDir dir;
  const std::string path = dir.path("lock");
  int ready[2] = {-1, -1};
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = FileLock::try_lock(path);
    if (!lock || write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const auto refused = FileLock::try_lock(path);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("pid " + std::to_string(child)) != std::string::npos);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(FileLock::try_lock(path));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a lock file that holds nonsense is locked by another process") {
  const TempDir dir;
  const std::string path = dir.path("lock");
  const auto lock = FileLock::try_lock(path);
  REQUIRE(lock);
  for (const char* content : {"", "\x1b[31m", "../../etc/passwd"}) {
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    REQUIRE(write(file.get(), content, std::string_view(content).size()) >= 0);
    CHECK(FileLock::try_lock(path).error().message == path + " is locked by another process");
  }
}

TEST_CASE("a lock file in a missing directory or behind a link is an error with the path") {
  const TempDir dir;
  CHECK(FileLock::try_lock(dir.path("missing/lock")).error().code == Code::not_found);
  std::filesystem::create_symlink("elsewhere", dir.path("link"));
  CHECK_FALSE(FileLock::try_lock(dir.path("link")));
  CHECK_FALSE(std::filesystem::exists(dir.path("elsewhere")));
}

TEST_CASE("a descriptor is closed once, by its last owner") {
  FileDescriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fd = first.get();
  FileDescriptor second(std::move(first));
  CHECK_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move)
  CHECK(second.get() == fd);
  first = std::move(second);
  CHECK(fcntl(fd, F_GETFD) != -1);
  CHECK(first.close() == 0);
  CHECK(fcntl(fd, F_GETFD) == -1);
  CHECK(first.close() == 0);
}

}  // namespace
}  // namespace slipway::fs
