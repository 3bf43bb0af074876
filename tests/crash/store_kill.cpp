// SPDX-License-Identifier: Apache-2.0
// store_kill.cpp - kill -9 of a process that writes to a store, at any time and at fail points, again and
// again on the same file. The writer says over a pipe what was acknowledged to it; afterwards all of that is
// there, whole, and nothing is there by halves.
//
//   slipway_store_kill [--rounds N] [--seed S]     N: SLIPWAY_KILL_ROUNDS, else 50; S: random, printed
#include "base/failpoint.hpp"
#include "store/sqlite_engine.hpp"
#include "store/store.hpp"
#include "store/tables.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace slipway;
using namespace slipway::model;
using store::Store;
using store::Txn;

namespace {

constexpr int kThreads = 4;
constexpr int kRoundsOnOneFile = 10;
constexpr std::uint64_t kLongestRoundMs = 40;

// What one thread did as its n-th: `rows` new machines, its counter set to n, an attempt. An acknowledgement
// is this and the revision.
struct Work {
  std::int32_t thread = 0;
  std::int32_t n = 0;

  [[nodiscard]] int rows() const { return n % 3 + 1; }
  [[nodiscard]] MachineId machine(int row) const {
    return {std::to_string(1000 + (std::int64_t{n} * 10 + row) * kThreads + thread)};
  }
  [[nodiscard]] std::string text() const { return message("work {} of thread {}", n, thread); }
  [[nodiscard]] Nonce nonce() const {
    Nonce nonce;
    nonce.bytes[0] = static_cast<std::uint8_t>(thread);
    for (std::size_t i = 0; i < 4; ++i) nonce.bytes[1 + i] = static_cast<std::uint8_t>(n >> (8 * i));
    return nonce;
  }
  auto operator<=>(const Work&) const = default;
};
struct Acknowledged {
  Work work;
  std::uint64_t revision = 0;
};

MachineId counter_of(int thread) { return {std::to_string(thread)}; }

Machine new_machine(MachineId id, std::string text) {
  Machine row;
  row.environment = {1};
  row.id = std::move(id);
  row.message = std::move(text);
  return row;
}

Txn to_txn(const Work& work, const Snapshot& snapshot) {
  Txn txn("thread");
  for (int row = 0; row < work.rows(); ++row) txn.insert(new_machine(work.machine(row), work.text()));
  Machine counter = *snapshot.find<Machine>({{1}, counter_of(work.thread)});
  counter.message = std::to_string(work.n);
  txn.update(std::move(counter));
  Attempt attempt;
  attempt.nonce = work.nonce();
  attempt.environment = {1};
  attempt.machine = work.machine(0);
  attempt.name = work.text();
  txn.insert(std::move(attempt));
  return txn;
}

// ---- The process that dies ----

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(3);
}

template <class T>
T must(Result<T> result, const char* what) {
  if (!result) give_up(message("{}: {}", what, result.error().message));
  return *std::move(result);
}

std::unique_ptr<Store> open_store(const std::string& path, Executor& writer, Random& random,
                                  const Clock& clock) {
  store::SqliteOptions options;
  options.path = path;
  options.may_create = true;
  auto engine =
      must(store::SqliteEngine::open(std::move(options), store::schema(), clock), "opening the engine");
  auto keys = store::Keys::from_bytes(must(Key32::from_bytes(std::string(Key32::size, 'k')), "the key"));
  return must(Store::open(std::move(engine), std::move(keys), {}, writer, random), "opening the store");
}

void work_for_ever(Store& store, int thread, int acknowledge_fd) {
  std::int32_t n = 0;
  std::from_chars_result parsed{};
  const std::string last = store.snapshot().find<Machine>({{1}, counter_of(thread)})->message;
  if (!last.empty()) parsed = std::from_chars(last.data(), last.data() + last.size(), n);
  if (parsed.ec != std::errc()) give_up("a counter is \"" + last + "\"");
  for (;;) {
    const Work work{thread, ++n};
    const auto end = store.commit(to_txn(work, store.snapshot()));
    if (!end) give_up(message("a commit failed: {}", end.error().message));
    const Acknowledged record{work, end->value};  // below PIPE_BUF: written as a whole
    if (::write(acknowledge_fd, &record, sizeof record) != sizeof record) give_up("the pipe broke");
  }
}

[[noreturn]] void run_writer(const std::string& path, const std::string& fail_point, int acknowledge_fd) {
  const SystemClock clock;
  SystemRandom random;
  ThreadExecutor executor(clock, 1, "writer");
  failpoints::allow_for_tests();
  auto store = open_store(path, executor, random, clock);
  if (store->snapshot().all<Environment>().empty()) {
    Environment environment;
    environment.id = {1};
    environment.name = "kill";
    Txn txn("first");
    txn.insert(std::move(environment));
    for (int t = 0; t < kThreads; ++t) txn.insert(new_machine(counter_of(t), "0"));
    must(store->commit(std::move(txn)), "the first commit");
  }
  if (!fail_point.empty()) must(failpoints::arm(fail_point), "arming");
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { work_for_ever(*store, t, acknowledge_fd); });
  threads.clear();  // waits for ever
  std::_Exit(0);
}

// ---- What must be true afterwards ----

class Judge {
 public:
  // Everything acknowledged since the file is there.
  std::vector<Acknowledged> acknowledged;
  std::size_t unanswered = 0;
  std::uint64_t epoch = 0;

  // The number of works that are in the store; ends the program if anything is wrong.
  std::size_t look(const std::string& path) {
    const SystemClock clock;
    SystemRandom random;
    VirtualExecutor executor;
    const auto store = open_store(path, executor, random, clock);
    snapshot_ = store->snapshot();
    changes_.clear();
    for (Revision after; after < snapshot_.revision;) {
      auto page = must(store->changes(after, 5000), "reading changes");
      if (page.resync) give_up("changes are missing");
      after = page.up_to;
      changes_.insert(changes_.end(), page.changes.begin(), page.changes.end());
    }
    if (snapshot_.controller.epoch <= epoch) give_up("the epoch did not grow");
    epoch = snapshot_.controller.epoch;
    check_works();
    check_acknowledged();
    check_changes();
    return revisions_.size();
  }

 private:
  // Every thread's works are there without a gap up to its counter, each of them whole, each with one
  // revision.
  void check_works() {
    revisions_.clear();
    std::size_t rows = 0;
    for (int thread = 0; thread < kThreads; ++thread) {
      const auto counter = snapshot_.find<Machine>({{1}, counter_of(thread)});
      const int last = counter ? std::atoi(counter->message.c_str()) : 0;
      for (Work work{thread, 1}; work.n <= last; ++work.n) {
        const auto attempt = snapshot_.find<Attempt>(work.nonce());
        if (!attempt) give_up(work.text() + ": its attempt is missing");
        for (int row = 0; row < work.rows(); ++row) {
          const auto machine = snapshot_.find<Machine>({{1}, work.machine(row)});
          if (!machine || machine->message != work.text() || machine->revision != attempt->revision) {
            give_up(work.text() + ": is there by halves");
          }
        }
        rows += static_cast<std::size_t>(work.rows());
        if (!revisions_.emplace(work, attempt->revision.value).second) give_up("a work twice");
      }
      if (last > 0 && counter->revision.value != revisions_.at(Work{thread, last}))
        give_up("a counter of another time");
    }
    std::set<std::uint64_t> unique;
    for (const auto& [work, revision] : revisions_) {
      if (!unique.insert(revision).second) give_up(work.text() + ": its revision was given twice");
    }
    const std::size_t machines = snapshot_.all<Machine>().size();
    if (machines != 0 && machines != rows + kThreads) give_up("there are machines of no work");
    if (snapshot_.all<Attempt>().size() != revisions_.size()) give_up("there are attempts of no work");
  }

  void check_acknowledged() const {
    for (const Acknowledged& ack : acknowledged) {
      const auto found = revisions_.find(ack.work);
      if (found == revisions_.end()) give_up(ack.work.text() + ": was acknowledged and is lost");
      if (found->second != ack.revision)
        give_up(ack.work.text() + ": was acknowledged with another revision");
    }
  }

  void check_changes() const {
    std::map<std::uint64_t, std::size_t> counts;
    for (const Change& change : changes_) {
      if (change.ordinal != counts[change.revision.value]++) give_up("ordinals with a gap");
    }
    for (const auto& [work, revision] : revisions_) {
      if (counts[revision] != static_cast<std::size_t>(work.rows()) + 2)
        give_up(work.text() + ": changes are missing");
    }
    const std::size_t first_commit = snapshot_.all<Environment>().empty() ? 0 : 1;
    if (counts.size() != revisions_.size() + first_commit) give_up("there are changes of no work");
  }

  Snapshot snapshot_;
  std::vector<Change> changes_;
  std::map<Work, std::uint64_t> revisions_;
};

// ---- Rounds ----

struct Totals {
  std::size_t killed_by_us = 0;
  std::size_t killed_at_point = 0;
  std::size_t acknowledged = 0;
  std::size_t unanswered = 0;  // kept, but the answer did not arrive any more: also fine
};

// Reads until the writer is gone; kills it when `kill_after_ms` have passed.
std::vector<Acknowledged> listen(int fd, pid_t writer, std::uint64_t kill_after_ms) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::milliseconds(kill_after_ms));
  std::vector<Acknowledged> all;
  bool is_killed = false;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock)).count();
    pollfd waiting{fd, POLLIN, 0};
    ::poll(&waiting, 1, is_killed ? -1 : static_cast<int>(left));
    if (!is_killed && deadline.has_passed(clock)) {
      ::kill(writer, SIGKILL);
      is_killed = true;
      continue;
    }
    Acknowledged record;
    const ssize_t count = ::read(fd, &record, sizeof record);
    if (count == 0) return all;
    if (count == sizeof record) all.push_back(record);
  }
}

std::string choose_fail_point(Random& random) {
  const std::string at = "@" + std::to_string(1 + random.below(60));
  switch (random.below(4)) {
    case 0:
      return "store.before_commit=crash" + at;
    case 1:
      return "store.after_commit=crash" + at;
    default:
      return {};
  }
}

void run_round(const std::string& path, Random& random, Judge& judge, Totals& totals) {
  const std::string fail_point = choose_fail_point(random);
  const std::uint64_t kill_after_ms = fail_point.empty() ? random.below(kLongestRoundMs) : 10'000;
  int ends[2];
  if (::pipe(ends) != 0) give_up("no pipe");
  const pid_t writer = ::fork();
  if (writer < 0) give_up("no process");
  if (writer == 0) {
    ::close(ends[0]);
    run_writer(path, fail_point, ends[1]);
  }
  ::close(ends[1]);
  const auto heard = listen(ends[0], writer, kill_after_ms);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(writer, &status, 0);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) give_up("the writer ended by itself");

  ++(fail_point.empty() ? totals.killed_by_us : totals.killed_at_point);
  totals.acknowledged += heard.size();
  judge.acknowledged.insert(judge.acknowledged.end(), heard.begin(), heard.end());
  const std::size_t unanswered = judge.look(path) - judge.acknowledged.size();
  totals.unanswered += unanswered - judge.unanswered;
  judge.unanswered = unanswered;
}

std::uint64_t number_of(std::string_view text, std::uint64_t otherwise) {
  std::uint64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = std::getenv("SLIPWAY_KILL_ROUNDS");
  std::uint64_t rounds = number_of(wanted != nullptr ? wanted : "", 50);
  std::uint64_t seed = SystemRandom().u64() % 1'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--rounds") rounds = number_of(argv[i + 1], rounds);
    if (std::string_view(argv[i]) == "--seed") seed = number_of(argv[i + 1], seed);
  }
  std::printf("%llu rounds, seed %llu\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);

  std::string directory = (std::filesystem::temp_directory_path() / "slipway-kill-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) give_up("no directory " + directory);
  SeededRandom random(seed);
  Totals totals;
  for (std::uint64_t round = 0; round < rounds;) {
    const std::string path = directory + "/" + std::to_string(round) + ".db";
    Judge judge;
    for (int i = 0; i < kRoundsOnOneFile && round < rounds; ++i, ++round)
      run_round(path, random, judge, totals);
  }
  std::filesystem::remove_all(directory);
  std::printf(
      "killed at any time %zu, at a fail point %zu; %zu transactions acknowledged, 0 lost, 0 by halves; %zu "
      "kept"
      " of which the answer did not arrive\n",
      totals.killed_by_us, totals.killed_at_point, totals.acknowledged, totals.unanswered);
  return totals.acknowledged > 0 ? 0 : 1;
}
