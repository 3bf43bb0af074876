// SPDX-License-Identifier: Apache-2.0
#include "plugin/in_process.hpp"

#include "base/crash.hpp"
#include "base/log.hpp"
#include "plugin/call_table.hpp"
#include "plugin/library.hpp"
#include "plugin/service_gate.hpp"

#include <slipway/codec.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace slipway::plugin {

namespace {

constexpr Logger kLog("plugin");
constexpr std::chrono::seconds kCreateLimit(5);  // abi.h asks for 1 s

slipway_bytes bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string text(slipway_bytes b) { return b.size == 0 ? std::string() : std::string(b.data, b.size); }
bool is_sane(slipway_bytes b) {
  return (b.size == 0 || b.data != nullptr) && b.size <= SLIPWAY_MESSAGE_MAX_BYTES;
}

// What a function of the table said through a `done` that it calls before it returns.
struct Said {
  int times = 0;
  slipway_status status = SLIPWAY_INTERNAL;
  std::string body;

  static void done(void* token, slipway_status status, slipway_bytes body) noexcept {
    auto& said = *static_cast<Said*>(token);
    if (++said.times > 1) return;
    said.status = is_sane(body) ? status : static_cast<slipway_status>(SLIPWAY_INTERNAL);
    if (is_sane(body)) said.body = text(body);
  }
};

// The threads of one instance. Joined when they are dropped, so never on one of themselves; unless something
// of the plugin still runs on them: then they are lost, with what they hold.
class Threads {
 public:
  Threads(const Clock& clock, unsigned count)
      : pool_(std::make_unique<ThreadExecutor>(clock, count, "plugin")),
        answers_(std::make_unique<ThreadExecutor>(clock, 1, "answers")) {}

  void lose() {
    static_cast<void>(pool_.release());  // NOLINT(bugprone-unused-return-value): leaked on purpose
    static_cast<void>(answers_.release());
  }
  Executor& pool() { return *pool_; }
  Executor& answers() { return *answers_; }

 private:
  std::unique_ptr<ThreadExecutor> pool_;
  std::unique_ptr<ThreadExecutor> answers_;
};

// The instance and all that its threads may touch. Shared by the channel and by the tasks on the pool, so
// that it lives while anything of the plugin runs.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  Instance(OpenSpec spec, Executor& pool, Executor& answers)
      : spec_(std::move(spec)),
        pool_(pool),
        answers_(answers),
        calls_(CallTable::make({spec_.is_child ? nullptr : &spec_.completions,
                                [services = &spec_.services](std::uint64_t id) { services->cancel(id); },
                                [told = spec_.misbehaved] { told(Sin::late_completion); }},
                               spec_.table_number)),
        gate_(spec_.services, calls_, [told = spec_.misbehaved] { told(Sin::bad_request); }),
        host_{sizeof(slipway_host),  SLIPWAY_ABI_VERSION,  this,
              &Instance::on_service, &Instance::on_notify, &Instance::on_cancelled} {}

  // On the pool. After a failure nothing more comes from the plugin once `when_silent` says so.
  Status create() {
    SLIPWAY_TRY(table_, load_library(spec_.library));
    Said manifest;
    table_->describe(&Said::done, &manifest);
    if (manifest.times == 0 || manifest.status != SLIPWAY_OK) {
      return fail(Code::invalid, "{}: describe gave no manifest before it returned", spec_.library);
    }
    description_ = std::move(manifest.body);
    Said error;
    void* made = nullptr;
    const std::string message = encode(spec_.create);
    const slipway_status status = table_->create(&host_, bytes(message), &Said::done, &error, &made);
    if (status != SLIPWAY_OK) {
      return decode_error(status, error.body).within("the plugin refused its settings");
    }
    if (made == nullptr)
      return fail(Code::internal, "{}: create said yes and gave no instance", spec_.library);
    instance_ = made;
    return ok();
  }

  CallId call(PluginCall call, RawDone done) {
    const std::uint64_t id = calls_->open(call, std::move(done));
    if (id == 0) return CallId{0};
    pool_.post([self = shared_from_this(), id, call = std::move(call)] { self->run(id, call); });
    return CallId{id};
  }

  void cancel(std::uint64_t id) {
    if (!calls_->cancel(id)) return;
    // On the thread of the answers: cancel() is plugin code, and the pool may be full of what waits for it.
    enter();
    post_answer([self = shared_from_this(), id] { self->table_->cancel(self->instance_, id); });
  }

  void close(std::chrono::nanoseconds grace, const std::function<void(bool)>& closed) {
    calls_->refuse(fail(Code::unavailable, "the plugin's instance is being closed"));
    // Who comes first says how it ended; afterwards nothing touches the completions executor, which may go.
    auto once = std::make_shared<std::atomic<bool>>(false);
    const TimerId timer = spec_.completions.post_after(grace, [self = shared_from_this(), once, closed] {
      if (once->exchange(true)) return;
      self->write_off();
      self->spec_.completions.post([closed] { closed(false); });  // behind the ends of its calls
    });
    for (const std::uint64_t id : calls_->open_calls()) cancel(id);
    calls_->when_drained([self = shared_from_this(), once, closed, timer] {
      self->when_silent([self, once, closed, timer] {
        if (*once) return;  // written off: its calls were ended here, and not by the plugin
        self->table_->destroy(self->instance_);
        if (once->exchange(true)) return;
        self->spec_.completions.cancel(timer);
        self->spec_.completions.post([closed] { closed(true); });
      });
    });
  }

  // Calls `silent` on the pool, when services were given up and have answered, and calls that have completed
  // have run to their return.
  void when_silent(std::function<void()> silent) {
    calls_->close(fail(Code::unavailable, "the plugin's instance was closed"));
    {
      const std::lock_guard lock(inside_mutex_);
      if (inside_ > 0) {
        silent_ = std::move(silent);
        return;
      }
    }
    pool_.post(std::move(silent));
  }

  // Nothing of it is waited for any more, and nothing freed: threads of the plugin may be anywhere.
  void write_off() {
    static std::mutex lost_mutex;  // guards the next
    static auto& lost = *new std::vector<std::shared_ptr<Instance>>;
    kLog.error("a plugin's threads were written off", {{"library", spec_.library}});
    calls_->close(fail(Code::unavailable,
                       "the plugin did not end its calls; its threads in this process were written off"));
    {
      // What its threads still posted to the completions executor before they hung, they have posted.
      const std::lock_guard lock(inside_mutex_);
    }
    const std::lock_guard lock(lost_mutex);
    lost.push_back(shared_from_this());
  }

  // Around everything that uses the plugin's instance, or will, so that destroy() comes after it.
  void enter() {
    const std::lock_guard lock(inside_mutex_);
    ++inside_;
  }
  void leave() {
    std::function<void()> silent;
    {
      const std::lock_guard lock(inside_mutex_);
      if (--inside_ == 0) silent = std::exchange(silent_, nullptr);
    }
    if (silent) pool_.post(std::move(silent));
  }

  const OpenSpec& spec() const { return spec_; }
  const std::string& description() const { return description_; }

 private:
  void run(std::uint64_t id, const PluginCall& call) {
    enter();
    if (!calls_->is_wanted(id)) {
      // Given up before it began: the plugin never sees it, which is proof that nothing was made.
      calls_->reject(id, fail(Code::cancelled, "{} was given up before it began", call.method).rejected());
    } else {
      const slipway_request request{sizeof(slipway_request),
                                    0,
                                    id,
                                    0,
                                    call.deadline.is_never() ? 0 : call.deadline.ns(),
                                    bytes(call.method),
                                    bytes(call.body)};
      table_->call(instance_, &request, &CallTable::complete_by_token, CallTable::token_of(id));
    }
    leave();
  }

  // Of who has entered. Under the lock, so that the post has returned when the answer leaves: the threads may
  // go then.
  void post_answer(Task answer) {
    const std::lock_guard lock(inside_mutex_);
    answers_.post([self = shared_from_this(), answer = std::move(answer)] {
      answer();
      self->leave();
    });
  }

  static void on_service(void* self, const slipway_request* request, slipway_done done,
                         void* token) noexcept {
    auto& instance = *static_cast<Instance*>(self);
    instance.enter();
    const auto answer = [keep = instance.shared_from_this(), done, token](slipway_status status,
                                                                          std::string body) {
      // Not on the service's own thread: a plugin's continuation may take its time.
      keep->post_answer([done, token, status, body = std::move(body)] { done(token, status, bytes(body)); });
    };
    const bool is_sane_request = request != nullptr && request->size >= sizeof(slipway_request) &&
                                 is_sane(request->method) && is_sane(request->body);
    if (!is_sane_request) {
      instance.spec_.misbehaved(Sin::bad_request);
      const Error error = fail(Code::invalid, "a service call with a request that breaks abi.h");
      return answer(SLIPWAY_INVALID, encode_error(error));
    }
    instance.gate_.call(
        {request->flags, request->parent, request->deadline_ns, text(request->method), text(request->body)},
        answer);
  }

  static void on_notify(void* self, std::uint64_t call, slipway_bytes topic, slipway_bytes body) noexcept {
    auto& instance = *static_cast<Instance*>(self);
    if (!is_sane(topic) || !is_sane(body)) return instance.spec_.misbehaved(Sin::bad_request);
    instance.spec_.services.notify(call, text(topic), text(body));
  }

  static std::int32_t on_cancelled(void* self, std::uint64_t call) noexcept {
    return static_cast<Instance*>(self)->calls_->is_given_up(call) ? 1 : 0;
  }

  const OpenSpec spec_;
  Executor& pool_;
  Executor& answers_;  // where answers of services, and cancel(), reach the plugin
  const std::shared_ptr<CallTable> calls_;
  ServiceGate gate_;
  const slipway_host host_;
  const slipway_plugin* table_ = nullptr;
  void* instance_ = nullptr;
  std::string description_;

  std::mutex inside_mutex_;  // guards what follows
  unsigned inside_ = 0;      // calls, cancellations and answers inside the plugin, or on their way there
  std::function<void()> silent_;
};

class InProcessChannel final : public Channel {
 public:
  // `threads`: none where the executors are the caller's.
  InProcessChannel(std::shared_ptr<Instance> instance, std::unique_ptr<Threads> threads)
      : threads_(std::move(threads)), instance_(std::move(instance)) {}
  ~InProcessChannel() override { SLIPWAY_ASSERT_MSG(is_closed_, "a channel was dropped and not closed"); }

  CallId call(PluginCall call, RawDone done) override {
    return instance_->call(std::move(call), std::move(done));
  }
  void cancel(CallId id) override { instance_->cancel(static_cast<std::uint64_t>(id)); }
  void close(std::chrono::nanoseconds grace, std::function<void(bool)> closed) override {
    instance_->close(grace, [this, closed = std::move(closed)](bool is_clean) {
      is_closed_ = true;
      if (!is_clean && threads_ != nullptr) threads_->lose();
      closed(is_clean);
    });
  }
  const std::string& description() const override { return instance_->description(); }
  std::string place() const override { return "in process"; }

 private:
  const std::unique_ptr<Threads> threads_;
  const std::shared_ptr<Instance> instance_;
  std::atomic<bool> is_closed_ = false;
};

// What is being opened. Whoever sets `is_over`, the limit or the end of create(), owns the rest.
struct Opening {
  std::unique_ptr<Threads> threads;
  std::shared_ptr<Instance> instance;
  Done<std::unique_ptr<Channel>> opened;
  std::optional<TimerId> timer;
  Status created = ok();
  std::atomic<bool> is_over = false;
};

}  // namespace

void open_in_process(OpenSpec spec, Executor* pool, Done<std::unique_ptr<Channel>> opened) {
  auto opening = std::make_shared<Opening>();
  if (pool == nullptr) opening->threads = std::make_unique<Threads>(spec.completions.clock(), spec.threads);
  Executor& calls = pool == nullptr ? opening->threads->pool() : *pool;
  Executor& answers = pool == nullptr ? opening->threads->answers() : *pool;
  opening->instance = std::make_shared<Instance>(std::move(spec), calls, answers);
  opening->opened = std::move(opened);
  Executor& completions = opening->instance->spec().completions;
  completions.post([opening, &calls, &completions] {
    opening->timer = completions.post_after(kCreateLimit, [opening] {
      if (opening->is_over.exchange(true)) return;
      opening->instance->write_off();
      if (opening->threads != nullptr) opening->threads->lose();
      opening->opened(fail(Code::unavailable, "{}: create did not end in {}",
                           opening->instance->spec().library, kCreateLimit));
    });
    calls.post([opening, &completions] {
      opening->created = opening->instance->create();
      const auto finish = [opening, &completions] {
        if (opening->is_over.exchange(true)) return;  // written off: the executor may be gone
        completions.cancel(*opening->timer);
        completions.post([opening] {
          // Out of what the task on the pool holds: threads are never dropped on one of themselves.
          auto threads = std::move(opening->threads);
          if (!opening->created) return opening->opened(opening->created.error());
          opening->opened(std::unique_ptr<Channel>(
              std::make_unique<InProcessChannel>(std::move(opening->instance), std::move(threads))));
        });
      };
      if (!opening->created) return opening->instance->when_silent(finish);
      const auto instance = opening->instance;
      instance->enter();
      finish();
      instance->leave();
    });
  });
}

}  // namespace slipway::plugin
