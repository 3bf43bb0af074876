// SPDX-License-Identifier: Apache-2.0
#include "conform/bare.hpp"

#include "base/fs.hpp"

#include <slipway/codec.hpp>
#include <slipway/messages/host.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace slipway::conform {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDescribeLimit = std::chrono::milliseconds(100);
constexpr auto kCallLimit = std::chrono::seconds(5);
constexpr auto kDestroyLimit = std::chrono::seconds(1);

slipway_bytes bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string text(slipway_bytes b) { return b.size == 0 ? std::string() : std::string(b.data, b.size); }

// Where completions arrive, whenever they do: never destroyed, so that a late one is only counted.
class Completions {
 public:
  struct End {
    int times = 0;
    slipway_status status = SLIPWAY_INTERNAL;
    std::string body;
  };

  void* token() {
    const std::lock_guard lock(mutex_);
    ends_[++next_] = {};
    return reinterpret_cast<void*>(next_);  // NOLINT: a key, never an address (abi.h)
  }
  // How it ended by now, or in kCallLimit; a later completion is a stranger's.
  End take(void* token, bool is_waiting) {
    std::unique_lock lock(mutex_);
    const auto key = reinterpret_cast<std::uintptr_t>(token);
    if (is_waiting) changed_.wait_for(lock, kCallLimit, [&] { return ends_[key].times > 0; });
    End end = std::move(ends_[key]);
    ends_.erase(key);
    doubles_ += end.times > 1 ? 1 : 0;
    return end;
  }
  std::string problems() {
    const std::lock_guard lock(mutex_);
    if (doubles_ > 0) return message("{} calls were completed more than once", doubles_);
    if (strangers_ == 0) return {};
    return message("{} completions came for calls that were over, or with a token that the host never gave",
                   strangers_);
  }

  static Completions& all() {
    static auto& all = *new Completions;
    return all;
  }
  static void done(void* token, slipway_status status, slipway_bytes body) noexcept {
    Completions& all = Completions::all();
    const std::lock_guard lock(all.mutex_);
    const auto found = all.ends_.find(reinterpret_cast<std::uintptr_t>(token));
    if (found == all.ends_.end()) {
      ++all.strangers_;
      return;
    }
    End& end = found->second;
    if (++end.times == 1) {
      end.status = status;
      if (body.size <= SLIPWAY_MESSAGE_MAX_BYTES) end.body = text(body);
    }
    all.changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::uintptr_t, End> ends_;
  std::uintptr_t next_ = 0;
  unsigned doubles_ = 0;
  unsigned strangers_ = 0;
};

// A host without a cloud, that looks closely at what it is asked.
class BareHost {
 public:
  BareHost() : table_{sizeof(slipway_host), SLIPWAY_ABI_VERSION, this, &call, &notify, &cancelled} {}

  const slipway_host* table() const { return &table_; }
  void opened(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    open_.insert(id);
  }
  void closed(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    open_.erase(id);
  }
  std::string problem() {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  static void call(void* self, const slipway_request* request, slipway_done done, void* token) noexcept {
    auto& host = *static_cast<BareHost*>(self);
    const std::string problem = host.problem_of(request);
    if (!problem.empty()) {
      const std::lock_guard lock(host.mutex_);
      if (host.problem_.empty()) host.problem_ = problem;
      const std::string error = encode_error(fail(Code::invalid, "{}", problem));
      return done(token, SLIPWAY_INVALID, bytes(error));
    }
    const auto [status, body] = answer(text(request->method));
    done(token, status, bytes(body));
  }

  std::string problem_of(const slipway_request* request) {
    if (request == nullptr || request->size < sizeof(slipway_request))
      return "a service call whose size is wrong";
    if (request->flags != 0) return "a service call with an unknown flag";
    if (request->method.size == 0 || request->method.data == nullptr)
      return "a service call without a method";
    const std::lock_guard lock(mutex_);
    if (request->parent != 0 && !open_.contains(request->parent)) {
      return message("a service call ({}) for the call {}, which is not open", text(request->method),
                     request->parent);
    }
    return {};
  }

  static std::pair<slipway_status, std::string> answer(const std::string& method) {
    if (method == ClockNowRequest::method) {
      timespec now{};
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      return {SLIPWAY_OK, encode(ClockNowReply{now.tv_sec * 1'000'000'000 + now.tv_nsec, 1'800'000'000'000})};
    }
    if (method == ClockSleepRequest::method) return {SLIPWAY_OK, "{}"};
    if (method == KvPutRequest::method) return {SLIPWAY_OK, encode(KvPutReply{1})};
    if (method == KvDeleteRequest::method || method == KvListRequest::method) return {SLIPWAY_OK, "{}"};
    if (method == KvGetRequest::method) return {SLIPWAY_NOT_FOUND, "{}"};
    if (method == SecretGetRequest::method) return {SLIPWAY_OK, encode(SecretGetReply{"conform"})};
    return {SLIPWAY_UNAVAILABLE, encode_error(fail(Code::unavailable, "there is no cloud here").rejected())};
  }

  static void notify(void*, uint64_t, slipway_bytes, slipway_bytes) noexcept {}
  static int32_t cancelled(void* self, uint64_t id) noexcept {
    auto& host = *static_cast<BareHost*>(self);
    const std::lock_guard lock(host.mutex_);
    return host.open_.contains(id) ? 0 : 1;
  }

  const slipway_host table_;
  std::mutex mutex_;  // guards what follows
  std::set<std::uint64_t> open_;
  std::string problem_;
};

class Runner {
 public:
  explicit Runner(const BareSpec& spec) : spec_(spec) {}

  BareReport run(const std::function<void()>& measure) {
    if (!load()) return std::move(report_);
    switch (spec_.job) {
      case BareJob::table:
        check_majors();
        break;
      case BareJob::describe:
        describe();
        break;
      case BareJob::rounds:
        rounds(measure);
        break;
      case BareJob::refuse:
        refuse(measure);
        break;
    }
    if (const std::string problem = Completions::all().problems(); !problem.empty()) add(problem);
    return std::move(report_);
  }

 private:
  void add(std::string problem) { report_.problems.push_back(std::move(problem)); }
  [[nodiscard]] bool is_good() const { return report_.problems.empty(); }

  bool load() {
    void* library = ::dlopen(spec_.library.c_str(), RTLD_NOW | RTLD_LOCAL);  // and never closed
    if (library == nullptr) {
      const char* reason = ::dlerror();
      add(message("it cannot be loaded: {}", reason == nullptr ? "no reason given" : reason));
      return false;
    }
    entry_ = reinterpret_cast<slipway_entry_fn>(::dlsym(library, SLIPWAY_ENTRY_SYMBOL));  // NOLINT
    if (entry_ == nullptr) {
      add(message("it has no symbol {}", SLIPWAY_ENTRY_SYMBOL));
      return false;
    }
    std::uint32_t want = 0;
    table_ = entry_(SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MAJOR, &want);
    if (want != SLIPWAY_ABI_MAJOR) {
      add(message("it was built for ABI {}, this kit speaks {}", want, SLIPWAY_ABI_MAJOR));
    } else if (table_ == nullptr) {
      add(message("its entry gave no table to a host that speaks ABI {}, for which it was built", want));
    } else if (table_->size < sizeof(slipway_plugin)) {
      add(message("its table has {} bytes, expected at least {}", table_->size, sizeof(slipway_plugin)));
    } else if (table_->abi >> 16U != SLIPWAY_ABI_MAJOR) {
      add(message("its table is of ABI {}, its entry of {}", table_->abi >> 16U, want));
    } else if (table_->describe == nullptr || table_->create == nullptr || table_->call == nullptr ||
               table_->cancel == nullptr || table_->destroy == nullptr) {
      add("a function of its table is missing");
    }
    return is_good();
  }

  void check_majors() {
    struct Row {
      std::uint32_t min, max;
    };
    for (const Row row :
         {Row{SLIPWAY_ABI_MAJOR + 1, SLIPWAY_ABI_MAJOR + 9}, Row{0, 0}, Row{UINT32_MAX, UINT32_MAX}}) {
      std::uint32_t want = 0;
      if (entry_(row.min, row.max, &want) != nullptr) {
        add(message("its entry gave a table to a host that speaks only ABI {} to {}", row.min, row.max));
      }
      if (want != SLIPWAY_ABI_MAJOR) {
        add(message("its entry did not say to a host of ABI {} to {} which one it wants", row.min, row.max));
      }
    }
    std::uint32_t want = 0;
    if (entry_(0, SLIPWAY_ABI_MAJOR + 9, &want) != table_) {
      add("its entry gave two tables to two hosts that speak its ABI");
    }
  }

  void describe() {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      void* token = Completions::all().token();
      const auto began = Clock::now();
      table_->describe(&Completions::done, token);
      const auto took = Clock::now() - began;
      const auto said = Completions::all().take(token, false);
      if (said.times == 0) return add("describe returned before it called done");
      if (said.status != SLIPWAY_OK) return add(message("describe ended with status {}", said.status));
      if (took > kDescribeLimit) {
        return add(message("describe took {} ms, expected at most {}",
                           std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
                           kDescribeLimit.count()));
      }
      if (round == 0) first = said.body;
      if (said.body != first) return add("describe answered differently the second time");
    }
    report_.description = first;
  }

  // nullptr: it said no, or broke the contract (then there is a problem).
  void* create(const CreateMessage& create_message, Error* refusal) {
    const std::string body = encode(create_message);
    void* token = Completions::all().token();
    char mark = 0;
    void* const untouched = &mark;  // anything that no plugin makes
    void* made = untouched;
    const slipway_status status =
        table_->create(host_.table(), bytes(body), &Completions::done, token, &made);
    const auto error = Completions::all().take(token, false);
    if (status == SLIPWAY_OK) {
      if (error.times != 0) add("create said yes and called error");
      if (made != untouched && made != nullptr) return made;
      add("create said yes and gave no instance");
      return nullptr;
    }
    if (made != untouched) add("create said no and set the instance");
    if (error.times == 0) {
      add(message("create ended with status {} and gave no reason: error was not called", status));
    } else if (error.status != status) {
      add(message("create ended with status {}, and error said {}", status, error.status));
    }
    Error why = decode_error(status, error.body);
    if (refusal == nullptr) {
      add(message("create refused good settings: {}", why.message));
    } else {
      *refusal = std::move(why);
    }
    return nullptr;
  }

  void call(void* instance, const std::string& method) {
    const std::uint64_t id = ++next_id_;
    void* token = Completions::all().token();
    host_.opened(id);
    constexpr std::string_view kBody = "{}";
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t deadline = now.tv_sec * 1'000'000'000 + now.tv_nsec + 5'000'000'000;
    const slipway_request request{sizeof(slipway_request), 0, id, 0, deadline, bytes(method), bytes(kBody)};
    table_->call(instance, &request, &Completions::done, token);
    const auto end = Completions::all().take(token, true);
    host_.closed(id);
    if (end.times == 0) {
      return add(message("{}: the call was not completed in {} s", method, kCallLimit.count()));
    }
    if (end.status < SLIPWAY_OK || end.status > SLIPWAY_INTERNAL) {
      add(message("{}: the call ended with the unknown status {}", method, end.status));
    }
  }

  void destroy(void* instance) {
    const auto began = Clock::now();
    table_->destroy(instance);
    const auto took = Clock::now() - began;
    if (took > kDestroyLimit) {
      add(message("destroy took {} ms with nothing open",
                  std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
    }
  }

  void round() {
    void* instance = create(spec_.create, nullptr);
    if (instance == nullptr) return;
    for (const std::string& method : spec_.methods) {
      if (is_good()) call(instance, method);
    }
    if (is_good()) destroy(instance);
    if (const std::string problem = host_.problem(); !problem.empty()) add(problem);
  }

  void rounds(const std::function<void()>& measure) {
    const int printed = redirect_output();
    for (unsigned i = 0; i < spec_.warm_up && is_good(); ++i) round();
    if (is_good()) measure();
    for (unsigned i = 0; i < spec_.rounds && is_good(); ++i) round();
    if (is_good()) measure();
    std::fflush(nullptr);
    std::array<char, 256> text_printed{};
    if (printed >= 0) {
      const ssize_t size = ::pread(printed, text_printed.data(), text_printed.size(), 0);
      if (size > 0) report_.printed.assign(text_printed.data(), static_cast<std::size_t>(size));
    }
  }

  void refuse(const std::function<void()>& measure) {
    for (unsigned i = 0; i < spec_.warm_up && is_good(); ++i) refuse_all(false);
    if (is_good()) measure();
    for (unsigned i = 0; i < spec_.rounds && is_good(); ++i) refuse_all(i == 0);
    if (is_good()) measure();
  }

  void refuse_all(bool is_kept) {
    CreateMessage wrong = spec_.create;
    for (const json::value& settings : spec_.wrong_settings) {
      wrong.settings = settings;
      Error refusal;
      refusal.message = "";
      if (void* instance = create(wrong, &refusal)) {
        destroy(instance);
        refusal.code = Code::internal;
      }
      if (is_kept) report_.refusals.push_back(std::move(refusal));
    }
  }

  // Only in the child: what it writes there goes into a file that is read afterwards.
  int redirect_output() const {
    if (!spec_.sandbox.readable_paths.empty()) {
      const int memory = ::memfd_create("printed", MFD_CLOEXEC);
      if (memory >= 0 && ::dup2(memory, STDOUT_FILENO) >= 0) return memory;
    }
    return -1;
  }

  const BareSpec& spec_;
  BareReport report_;
  BareHost& host_ = *new BareHost;  // a plugin's left-over thread may use it for ever
  slipway_entry_fn entry_ = nullptr;
  const slipway_plugin* table_ = nullptr;
  std::uint64_t next_id_ = 0;
};

}  // namespace

Usage usage_of(int pid) {
  Usage usage;
  const std::string proc = "/proc/" + std::to_string(pid);
  std::error_code ec;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(proc + "/fd", ec)) {
    ++usage.descriptors;
  }
  std::ifstream status(proc + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:"))
      usage.threads = static_cast<unsigned>(std::strtoul(line.c_str() + 8, nullptr, 10));
    if (line.starts_with("RssAnon:")) usage.memory_kib = std::strtoull(line.c_str() + 8, nullptr, 10);
  }
  return usage;
}

BareReport run_bare(const BareSpec& spec, const std::function<void()>& measure) {
  return Runner(spec).run(measure);
}

}  // namespace slipway::conform
