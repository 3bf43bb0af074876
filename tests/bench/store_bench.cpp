// SPDX-License-Identifier: Apache-2.0
// store_bench.cpp - what durable state costs: commits alone and grouped beside raw SQLite that writes the
// same rows at the same durability, and beside the disk's own fsync; snapshots, followers, opening. Five
// rounds, ours and the peer in turn, median and spread; every round is counted in the file afterwards.
//   slipway_store_bench [--markdown] [MACHINES]    MACHINES: of the largest state, default 100000
#include "base/crash.hpp"
#include "base/strand.hpp"
#include "store/data_dir.hpp"
#include "store/tables.hpp"
#include "support/temp_dir.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

namespace {

using namespace slipway;
using namespace slipway::store;
using model::Machine;

constexpr int kRounds = 5;
constexpr int kSingle = 100;
constexpr int kGrouped = 20'000;
constexpr int kGroup = 512;  // StoreSettings::group_limit

using Time = std::chrono::steady_clock::time_point;
Time now() { return std::chrono::steady_clock::now(); }
double us_since(Time start) { return std::chrono::duration<double, std::micro>(now() - start).count(); }

struct Figures {
  std::vector<double> values;

  void add(double value) { values.push_back(value); }
  [[nodiscard]] double at(double part) const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
  }
  [[nodiscard]] double median() const { return at(0.5); }
};

void row(const std::string& what, const Figures& figures, const char* unit, const std::string& note = "") {
  std::printf("| %s | %.2f %s | %.2f to %.2f | %s |\n", what.c_str(), figures.median(), unit, figures.at(0),
              figures.at(1), note.c_str());
  std::fflush(stdout);
}

std::string ratio(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}

template <class T>
T must(Result<T> result) {
  SLIPWAY_ASSERT_MSG(result.has_value(), result ? std::string() : result.error().message);
  return *std::move(result);
}

Machine machine(std::uint64_t number) {
  Machine m;
  m.environment = {1};
  m.id = model::MachineId::top(number);
  m.name = "web-" + m.id.value;
  m.constraints.cores = 2;
  m.constraints.mem_mib = 4096;
  m.image = "debian-12";
  m.group = "web";
  m.labels = {{"tier", "front"}};
  m.created_ms = 1'800'000'000'000;
  return m;
}

// A state of its own in a fresh directory, with an environment for machines.
class Bench {
 public:
  Bench() { open(); }
  explicit Bench(std::uint64_t machines) : Bench() {
    constexpr std::uint64_t kBatch = 1000;
    for (std::uint64_t at = 0; at < machines; at += kBatch) {
      Txn txn("bench");
      for (std::uint64_t i = at; i < std::min(machines, at + kBatch); ++i) txn.insert(machine(i));
      must(store->commit(std::move(txn)));
    }
  }
  void open() {
    store = must(open_store(directory, {.may_create = true, .quick_check = true, .vfs = {}, .store = {}},
                            writer, random));
    if (!store->snapshot().all<model::Environment>().empty()) return;
    model::Environment environment;
    environment.id = {1};
    environment.name = "bench";
    Txn txn("bench");
    txn.insert(environment);
    must(store->commit(std::move(txn)));
  }
  [[nodiscard]] std::size_t machines() const { return store->snapshot().all<Machine>().size(); }

  SystemClock clock;
  SystemRandom random;
  ThreadExecutor writer{clock, 1, "writer"};
  testing::TempDir temp;
  DataDir directory = must(DataDir::open(temp.path("data"), true));
  std::unique_ptr<Store> store;
};

struct RawRow {
  Machine machine;
  model::Change change;
};

// Raw SQLite on a file of the same schema and settings: prepared statements, the log moved at the same size.
class Raw {
 public:
  explicit Raw(Bench& made) {
    path_ = made.directory.database();
    made.store.reset();
    // As the engine opens it: no mutex, as one thread uses it.
    check(sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr));
    run("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL;"
        "PRAGMA wal_autocheckpoint = 1000; PRAGMA cache_size = -8192");
    machine_ = prepare(kTableNumber<Machine>);
    change_ = prepare(kTableNumber<model::Change>);
  }
  ~Raw() {
    sqlite3_finalize(machine_);
    sqlite3_finalize(change_);
    sqlite3_close(db_);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  // `values_of(i)`: the two rows of the i-th commit, as values.
  template <class ValuesOf>
  void insert(int count, int per_commit, const ValuesOf& values_of) {
    for (int i = 0; i < count; ++i) {
      if (i % per_commit == 0) run("BEGIN IMMEDIATE");
      const auto& [machine, change] = values_of(static_cast<std::size_t>(i));
      step(machine_, machine);
      step(change_, change);
      if ((i + 1) % per_commit == 0 || i + 1 == count) run("COMMIT");
    }
  }

 private:
  void check(int code) { SLIPWAY_ASSERT_MSG(code == SQLITE_OK || code == SQLITE_DONE, sqlite3_errmsg(db_)); }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }

  sqlite3_stmt* prepare(std::size_t table) {
    std::string columns;
    std::string places;
    for (const std::string_view column : schema()[table].columns) {
      columns += (columns.empty() ? "\"" : ", \"") + std::string(column) + "\"";
      places += places.empty() ? "?" : ", ?";
    }
    sqlite3_stmt* statement = nullptr;
    const std::string sql =
        "INSERT INTO \"" + std::string(schema()[table].name) + "\" (" + columns + ") VALUES (" + places + ")";
    check(sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return statement;
  }

  void step(sqlite3_stmt* statement, const Values& values) {
    int at = 0;
    for (const Value& value : values) {
      ++at;
      if (const auto* number = std::get_if<std::int64_t>(&value)) sqlite3_bind_int64(statement, at, *number);
      if (const auto* text = std::get_if<std::string>(&value)) {
        sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
      }
      if (std::holds_alternative<std::monostate>(value)) sqlite3_bind_null(statement, at);
    }
    check(sqlite3_step(statement));
    sqlite3_reset(statement);
  }

  std::string path_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* machine_ = nullptr;
  sqlite3_stmt* change_ = nullptr;
};

// What the store makes of the same transactions.
std::vector<RawRow> raw_rows(std::uint64_t from, int count) {
  std::vector<RawRow> rows;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = from + static_cast<std::uint64_t>(i);
    Machine m = machine(number);
    m.revision = {number + 2};  // the environment has the first
    const std::string key = "1:" + m.id.value;
    rows.push_back({std::move(m),
                    {{number + 2},
                     0,
                     1'800'000'000'000,
                     {1},
                     model::Entity::machine,
                     model::ChangeOp::added,
                     key,
                     "bench",
                     "added"}});
  }
  return rows;
}

std::pair<Values, Values> values_of(const RawRow& row) {
  return {to_values(row.machine), to_values(row.change)};
}

// Makes the values of the rows while it inserts them, as the store has to.
double raw_us(Raw& raw, std::uint64_t from, int count, int per_commit) {
  const auto rows = raw_rows(from, count);
  const Time start = now();
  raw.insert(count, per_commit, [&](std::size_t i) { return values_of(rows[i]); });
  return us_since(start) / count;
}

// Only the SQL: the values are there beforehand.
double raw_sql_us(Raw& raw, std::uint64_t from, int count, int per_commit) {
  std::vector<std::pair<Values, Values>> values;
  for (const RawRow& row : raw_rows(from, count)) values.push_back(values_of(row));
  const Time start = now();
  raw.insert(
      count, per_commit, [&](std::size_t i) -> const auto& { return values[i]; });
  return us_since(start) / count;
}

double ours_grouped_us(Bench& bench, std::uint64_t from) {
  std::vector<Txn> txns;
  for (int i = 0; i < kGrouped; ++i) {
    txns.emplace_back("bench").insert(machine(from + static_cast<std::uint64_t>(i)), "added");
  }
  std::atomic<int> left = kGrouped;
  std::promise<void> all;
  const Time start = now();
  for (Txn& txn : txns) {
    bench.store->commit(std::move(txn), [&](Store::Committed end) {
      must(std::move(end));
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().get();
  return us_since(start) / kGrouped;
}

double ours_single_us(Bench& bench, std::uint64_t from) {
  const Time start = now();
  for (int i = 0; i < kSingle; ++i) {
    Txn txn("bench");
    txn.insert(machine(from + static_cast<std::uint64_t>(i)), "added");
    must(bench.store->commit(std::move(txn)));
  }
  return us_since(start) / kSingle;
}

double fsync_us(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  SLIPWAY_ASSERT(file >= 0);
  const std::string page(4096, 'x');
  const Time start = now();
  for (int i = 0; i < kSingle; ++i) {
    SLIPWAY_ASSERT(::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()));
    SLIPWAY_ASSERT(::fdatasync(file) == 0);
  }
  const double each = us_since(start) / kSingle;
  ::close(file);
  return each;
}

void commits() {
  Figures sync, single, raw_single, grouped, raw_grouped, raw_sql;
  Bench ours, made, made_for_sql;
  Raw raw(made);
  Raw sql(made_for_sql);
  std::uint64_t at = 0;
  for (int round = 0; round < kRounds; ++round) {
    sync.add(fsync_us(ours.temp.path("fsync")));
    single.add(ours_single_us(ours, at));
    raw_single.add(raw_us(raw, at, kSingle, 1));
    at += kSingle;
    grouped.add(ours_grouped_us(ours, at));
    raw_grouped.add(raw_us(raw, at, kGrouped, kGroup));
    raw_sql.add(raw_sql_us(sql, at, kGrouped, kGroup));
    at += kGrouped;
  }
  SLIPWAY_ASSERT(ours.machines() == at);
  const auto reached = [&](const Figures& peer) {
    return "the store reaches " + ratio(peer.median() / grouped.median()) + " of it";
  };
  std::printf(
      "| commits of one machine and its change row | median | least to most | |\n|---|---|---|---|\n");
  row("write of a page and fdatasync", sync, "µs");
  row("one at a time, store", single, "µs", ratio(single.median() / sync.median()) + " of a sync");
  row("one at a time, raw SQLite", raw_single, "µs");
  row("grouped, store", grouped, "µs",
      std::to_string(static_cast<int>(1e6 / grouped.median())) + " commits a second");
  row("grouped, raw SQLite, 512 in a transaction", raw_grouped, "µs", reached(raw_grouped) + " (goal 0.8)");
  row("the same, values made beforehand", raw_sql, "µs", reached(raw_sql));
}

void snapshots(const std::vector<std::uint64_t>& sizes) {
  std::printf(
      "\n| snapshot with | taking it | least to most | taking it and changing one machine "
      "|\n|---|---|---|---|\n");
  constexpr int kTimes = 2000;
  for (const std::uint64_t size : sizes) {
    Bench bench(size);
    SLIPWAY_ASSERT(bench.machines() == size);
    Figures taken, changed;
    for (int round = 0; round < kRounds; ++round) {
      std::size_t seen = 0;
      Time start = now();
      for (int i = 0; i < kTimes; ++i) seen += bench.store->snapshot().all<Machine>().size();
      taken.add(us_since(start) * 1000 / kTimes);
      SLIPWAY_ASSERT(seen == size * kTimes);
      const model::Snapshot base = bench.store->snapshot();
      start = now();
      for (int i = 0; i < kTimes; ++i) {
        model::Snapshot next = base;
        next.put<Machine>(
            base.find<Machine>({{1}, model::MachineId::top(static_cast<std::uint64_t>(i) * 7919 % size)}));
      }
      changed.add(us_since(start) * 1000 / kTimes);
    }
    row(std::to_string(size) + " machines", taken, "ns", ratio(changed.median()) + " ns");
  }
}

void followers() {
  Bench bench;
  ThreadExecutor threads(bench.clock, 1, "follower");
  Strand strand(threads);
  Figures latency;
  std::atomic<std::int64_t> committed_ns = 0;
  std::promise<double> woken;
  std::unique_ptr<Store::Subscription> subscription;
  std::promise<void> ready;
  strand.post([&] {
    subscription = bench.store->subscribe(strand, [&](model::Revision) {
      woken.set_value(static_cast<double>(bench.clock.monotonic_ns() - committed_ns) / 1000);
    });
    ready.set_value();
  });
  ready.get_future().get();
  constexpr int kTimes = 1000;
  for (int i = 0; i < kTimes; ++i) {
    Txn txn("bench");
    txn.insert(machine(static_cast<std::uint64_t>(i)));
    woken = {};
    auto wake = woken.get_future();
    committed_ns = bench.clock.monotonic_ns();
    must(bench.store->commit(std::move(txn)));
    latency.add(wake.get());
  }
  strand.post([&] { subscription.reset(); });
  std::promise<void> gone;
  strand.post([&] { gone.set_value(); });
  gone.get_future().get();
  std::printf(
      "\n| commit() to the follower's wake-up, one at a time | p50 | p99 |\n|---|---|---|\n| 1 follower | "
      "%.1f µs | %.1f µs |\n",
      latency.median(), latency.at(0.99));
}

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoull(line.substr(6));
  }
  return 0;
}

// What `--open DIRECTORY` prints, in a process that did nothing before: milliseconds, KiB, machines.
void open_and_print(const std::string& path) {
  SystemClock clock;
  SystemRandom random;
  ThreadExecutor writer(clock, 1, "writer");
  const DataDir directory = must(DataDir::open(path, false));
  const std::uint64_t before = resident_kib();
  const Time start = now();
  const auto store = must(open_store(directory, {}, writer, random));
  std::printf("%f %llu %zu\n", us_since(start) / 1000,
              static_cast<unsigned long long>(resident_kib() - before),
              store->snapshot().all<Machine>().size());
}

void opening(std::uint64_t machines) {
  testing::TempDir kept;
  {
    Bench bench(machines);
    bench.store.reset();
    std::filesystem::rename(bench.temp.path("data"), kept.path("data"));
  }
  Figures ms, kib;
  for (int round = 0; round < kRounds; ++round) {
    FILE* child = ::popen(
        ("exec /proc/" + std::to_string(::getpid()) + "/exe --open " + kept.path("data")).c_str(), "r");
    SLIPWAY_ASSERT(child != nullptr);
    double took_ms = 0;
    unsigned long long took_kib = 0;
    std::size_t seen = 0;
    SLIPWAY_ASSERT(std::fscanf(child, "%lf %llu %zu", &took_ms, &took_kib, &seen) == 3);
    SLIPWAY_ASSERT(::pclose(child) == 0 && seen == machines);
    ms.add(took_ms);
    kib.add(static_cast<double>(took_kib) / static_cast<double>(machines));
  }
  std::printf(
      "\n| opening a state of %llu machines, with quick_check | median | least to most | "
      "|\n|---|---|---|---|\n",
      static_cast<unsigned long long>(machines));
  row("time", ms, "ms");
  row("resident memory for each machine", kib, "KiB");
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t largest = 100'000;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--open" && i + 1 < argc) {
      open_and_print(argv[i + 1]);
      return 0;
    }
    if (argument != "--markdown") largest = std::stoull(argument);
  }
  commits();
  snapshots({largest / 100, largest / 10, largest});
  followers();
  opening(largest);
  return 0;
}
