// SPDX-License-Identifier: Apache-2.0
#include "plugin/instance.hpp"

#include "base/crash.hpp"
#include "base/log.hpp"
#include "base/strand.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace slipway::plugin {

namespace {

constexpr Logger kLog("plugin");

// A channel and the calls that are on it.
struct Generation {
  std::unique_ptr<Channel> channel;  // none: being opened
  unsigned open = 0;
  bool is_retired = false;  // no new calls; closed with its last one
  bool is_closing = false;
};

struct Call {
  PluginCall call;
  RawDone done;
  std::shared_ptr<Generation> generation;  // none: waits
  CallId id{};
  std::optional<TimerId> timer;  // of the deadline, then of the grace
  std::optional<Code> given_up;  // deadline or cancelled
  std::int64_t began_ns = 0;
};

}  // namespace

struct PluginInstance::State : std::enable_shared_from_this<State> {
  State(Executor& executor, Random& random_source, std::string instance_name, InstanceLimits instance_limits,
        Opener channel_opener, Hooks instance_hooks)
      : strand(executor),
        random(random_source),
        name(std::move(instance_name)),
        limits(instance_limits),
        opener(std::move(channel_opener)),
        hooks(std::move(instance_hooks)) {}

  // Everything below runs on the strand but for status.
  Strand strand;
  Random& random;
  const std::string name;
  const InstanceLimits limits;
  Opener opener;
  const Hooks hooks;

  std::shared_ptr<Generation> current;
  unsigned opening = 0;  // channels that are being opened; closing waits for them
  std::uint64_t last_replacement = 0;
  std::uint64_t taken_replacement = 0;  // the latest one that opened
  std::vector<std::shared_ptr<Generation>> retired;
  std::map<std::uint64_t, Call> calls;
  std::deque<std::uint64_t> waiting;
  std::deque<std::int64_t> failures;  // times, in ns
  unsigned tries = 0;                 // to open, since it last was ready for a while
  std::int64_t ready_ns = 0;
  std::optional<TimerId> restart_timer;
  std::int64_t restart_ns = 0;
  bool in_process_is_out = false;
  std::function<void()> closed;
  std::optional<TimerId> close_timer;

  mutable std::mutex status_mutex;  // guards the next
  InstanceStatus shown;
  std::atomic<std::uint64_t> next_ticket{1};

  [[nodiscard]] InstancePhase phase() const {
    const std::lock_guard lock(status_mutex);
    return shown.phase;
  }
  template <class Change>
  void change(Change apply) {
    const std::lock_guard lock(status_mutex);
    apply(shown);
  }
  void enter(InstancePhase phase, std::string reason = {}) {
    change([&](InstanceStatus& s) {
      s.phase = phase;
      s.reason = std::move(reason);
      s.place = current != nullptr && current->channel != nullptr ? current->channel->place() : "";
    });
    if (hooks.changed) {
      InstanceStatus now;
      change([&](const InstanceStatus& s) { now = s; });
      hooks.changed(now);
    }
  }
  void count_load() {
    change([&](InstanceStatus& s) {
      s.waiting = static_cast<unsigned>(waiting.size());
      s.running = static_cast<unsigned>(calls.size() - waiting.size());
    });
  }

  void open();
  void on_opened(const std::shared_ptr<Generation>& generation, Result<std::unique_ptr<Channel>> opened);
  void on_ended(const std::shared_ptr<Generation>& generation, const Error& why);
  ChannelEvents events_for(const std::shared_ptr<Generation>& generation);

  void submit(std::uint64_t ticket, PluginCall call, RawDone done);
  void begin_waiting();
  void begin(std::uint64_t ticket);
  void on_done(std::uint64_t ticket, slipway_status status, std::string body);
  void end(std::uint64_t ticket, const Error& error);
  void give_up(std::uint64_t ticket, Code code);
  void on_stuck(std::uint64_t ticket);

  [[nodiscard]] std::optional<Error> refusal() const;
  void refuse_waiting();
  void count_failure(const std::string& what);
  void back_off(const std::string& reason);
  void retire(const std::shared_ptr<Generation>& generation, std::chrono::nanoseconds grace);
  void close_if_unused(const std::shared_ptr<Generation>& generation);
  void finish_closing();
};

PluginInstance::PluginInstance(Executor& executor, Random& random, std::string name, InstanceLimits limits,
                               Opener opener, Hooks hooks)
    : state_(std::make_shared<State>(executor, random, std::move(name), limits, std::move(opener),
                                     std::move(hooks))) {
  SLIPWAY_ASSERT(limits.max_calls > 0);
  state_->strand.post([state = state_] { state->open(); });
}

PluginInstance::~PluginInstance() {
  SLIPWAY_ASSERT_MSG(state_->phase() == InstancePhase::closed, state_->name + " was dropped and not closed");
}

TicketId PluginInstance::call(PluginCall call, RawDone done) {
  const std::uint64_t ticket = state_->next_ticket++;
  state_->strand.post([state = state_, ticket, call = std::move(call), done = std::move(done)]() mutable {
    state->submit(ticket, std::move(call), std::move(done));
  });
  return TicketId{ticket};
}

void PluginInstance::cancel(TicketId ticket) {
  state_->strand.post(
      [state = state_, id = static_cast<std::uint64_t>(ticket)] { state->give_up(id, Code::cancelled); });
}

InstanceStatus PluginInstance::status() const {
  const std::lock_guard lock(state_->status_mutex);
  return state_->shown;
}

void PluginInstance::retry() {
  state_->strand.post([state = state_] {
    const InstancePhase phase = state->phase();
    if (phase != InstancePhase::backing_off && phase != InstancePhase::quarantined) return;
    if (state->restart_timer) state->strand.cancel(*std::exchange(state->restart_timer, std::nullopt));
    state->failures.clear();
    state->tries = 0;
    state->open();
  });
}

void PluginInstance::replace(Opener opener, Done<Unit> replaced) {
  state_->strand.post([state = state_, opener = std::move(opener), replaced = std::move(replaced)] {
    if (state->phase() == InstancePhase::closed || state->closed) {
      return replaced(fail(Code::cancelled, "{} is being closed", state->name).rejected());
    }
    auto generation = std::make_shared<Generation>();
    const std::uint64_t number = ++state->last_replacement;
    ++state->opening;
    opener(state->events_for(generation),
           [state, generation, number, opener, replaced](Result<std::unique_ptr<Channel>> opened) {
             --state->opening;
             if (!opened) {
               replaced(std::move(opened).error());
               return state->finish_closing();
             }
             generation->channel = *std::move(opened);
             const bool is_late = number < state->taken_replacement;
             if (state->closed || is_late) {
               state->retire(generation, std::chrono::nanoseconds(0));
               return replaced(fail(Code::cancelled, "{}: {}", state->name,
                                    is_late ? "a later replacement was faster" : "it is being closed")
                                   .rejected());
             }
             state->taken_replacement = number;
             if (state->restart_timer)
               state->strand.cancel(*std::exchange(state->restart_timer, std::nullopt));
             state->opener = opener;
             state->failures.clear();
             const auto old = std::exchange(state->current, generation);
             if (old != nullptr) state->retire(old, state->limits.drain);
             state->tries = 0;
             state->ready_ns = state->strand.clock().monotonic_ns();
             state->change([](InstanceStatus& s) { ++s.starts; });
             state->enter(InstancePhase::ready);
             replaced(ok());
             state->begin_waiting();
           });
  });
}

void PluginInstance::close(std::chrono::nanoseconds grace, std::function<void()> closed) {
  state_->strand.post([state = state_, grace, closed = std::move(closed)] {
    SLIPWAY_ASSERT_MSG(!state->closed, state->name + " is closed twice");
    state->closed = closed;
    if (state->restart_timer) state->strand.cancel(*std::exchange(state->restart_timer, std::nullopt));
    state->refuse_waiting();
    if (state->current != nullptr) state->retire(std::exchange(state->current, nullptr), grace);
    for (const auto& generation : state->retired) {
      if (!generation->is_closing) state->retire(generation, grace);
    }
    state->finish_closing();
  });
}

// ---- Opening and ending
// -------------------------------------------------------------------------------------

PluginInstance::ChannelEvents PluginInstance::State::events_for(
    const std::shared_ptr<Generation>& generation) {
  const std::weak_ptr<State> weak = weak_from_this();
  return {strand,
          [weak, generation](const Error& why) {
            if (const auto state = weak.lock()) state->on_ended(generation, why);
          },
          [weak](Sin sin) {
            const auto state = weak.lock();
            if (state == nullptr) return;
            std::uint64_t times = 0;
            state->change([&](InstanceStatus& s) {
              times = ++(sin == Sin::late_completion ? s.late_completions : s.bad_requests);
            });
            // Less and less often: it may do nothing else.
            if (!std::has_single_bit(times)) return;
            kLog.warn("a plugin misbehaved",
                      {{"plugin", state->name},
                       {"what", detail::wire_name(boost::describe::enum_to_string(sin, "?"))},
                       {"count", times}});
          },
          in_process_is_out};
}

void PluginInstance::State::open() {
  if (closed) return;
  restart_timer.reset();
  enter(InstancePhase::opening);
  current = std::make_shared<Generation>();
  ++opening;
  opener(events_for(current),
         [state = shared_from_this(), generation = current](Result<std::unique_ptr<Channel>> opened) {
           state->on_opened(generation, std::move(opened));
         });
}

void PluginInstance::State::on_opened(const std::shared_ptr<Generation>& generation,
                                      Result<std::unique_ptr<Channel>> opened) {
  --opening;
  if (!opened) {
    const Error& error = opened.error();
    if (generation->is_retired) {
      std::erase(retired, generation);
      return finish_closing();
    }
    current = nullptr;
    // Settings that the plugin refuses stay refused: no more tries until they change. The rest may pass.
    if (error.code == Code::invalid || error.code == Code::unsupported || error.code == Code::denied) {
      enter(InstancePhase::quarantined, error.message);
      return refuse_waiting();
    }
    count_failure(error.message);
    return back_off(error.message);
  }
  generation->channel = *std::move(opened);
  if (generation->is_retired) return close_if_unused(generation);  // closed or replaced meanwhile
  ready_ns = strand.clock().monotonic_ns();
  change([](InstanceStatus& s) { ++s.starts; });
  enter(InstancePhase::ready);
  kLog.info("plugin started", {{"plugin", name}, {"where", generation->channel->place()}});
  begin_waiting();
}

void PluginInstance::State::on_ended(const std::shared_ptr<Generation>& generation, const Error& why) {
  // Its calls have got the reason already, before this.
  change([](InstanceStatus& s) { ++s.crashes; });
  kLog.error("plugin ended", {{"plugin", name}, {"reason", why.message}});
  generation->is_retired = true;
  close_if_unused(generation);
  if (generation != current) return;
  retired.push_back(std::exchange(current, nullptr));
  if (strand.clock().monotonic_ns() - ready_ns > limits.restart.cap.count()) tries = 0;
  count_failure(why.message);
  back_off(why.message);
}

void PluginInstance::State::count_failure(const std::string& what) {
  const std::int64_t now = strand.clock().monotonic_ns();
  failures.push_back(now);
  while (failures.front() < now - limits.window.count()) failures.pop_front();
  if (failures.size() < limits.failures || closed) return;
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(limits.window).count();
  const std::string reason = failures.size() == 1 ? what
                                                  : message("{} failures within {} minutes, the last one: {}",
                                                            failures.size(), minutes, what);
  kLog.error("plugin quarantined", {{"plugin", name}, {"reason", reason}});
  if (current != nullptr) retire(std::exchange(current, nullptr), limits.cancel_grace);
  enter(InstancePhase::quarantined, reason);
  refuse_waiting();
}

void PluginInstance::State::back_off(const std::string& reason) {
  if (closed || phase() == InstancePhase::quarantined) return;
  const auto delay = limits.restart.delay(++tries, random);
  restart_ns = strand.clock().monotonic_ns() + delay.count();
  enter(InstancePhase::backing_off, reason);
  refuse_waiting();
  restart_timer = strand.post_after(delay, [weak = weak_from_this()] {
    if (const auto state = weak.lock()) state->open();
  });
}

void PluginInstance::State::retire(const std::shared_ptr<Generation>& generation,
                                   std::chrono::nanoseconds grace) {
  if (!generation->is_retired) retired.push_back(generation);
  generation->is_retired = true;
  if (generation->open > 0) {
    strand.post_after(grace, [weak = weak_from_this(), generation] {
      const auto state = weak.lock();
      if (state == nullptr) return;
      std::vector<std::uint64_t> open;
      for (const auto& [ticket, call] : state->calls) {
        if (call.generation == generation) open.push_back(ticket);
      }
      for (const std::uint64_t ticket : open) state->give_up(ticket, Code::cancelled);
    });
  }
  close_if_unused(generation);
}

void PluginInstance::State::close_if_unused(const std::shared_ptr<Generation>& generation) {
  if (!generation->is_retired || generation->open > 0 || generation->is_closing ||
      generation->channel == nullptr) {
    return;
  }
  generation->is_closing = true;
  generation->channel->close(limits.cancel_grace, [state = shared_from_this(), generation](bool is_clean) {
    if (!is_clean && generation->channel->place() == "in process") state->in_process_is_out = true;
    generation->channel.reset();
    std::erase(state->retired, generation);
    state->finish_closing();
  });
}

void PluginInstance::State::finish_closing() {
  if (!closed || !calls.empty() || opening > 0) return;
  const bool is_in_use = std::any_of(retired.begin(), retired.end(), [](const auto& generation) {
    return generation->channel != nullptr || generation->is_closing;
  });
  if (is_in_use || phase() == InstancePhase::closed) return;
  enter(InstancePhase::closed);
  closed();
}

// ---- Calls
// --------------------------------------------------------------------------------------------------

std::optional<Error> PluginInstance::State::refusal() const {
  InstanceStatus now;
  {
    const std::lock_guard lock(status_mutex);
    now = shown;
  }
  if (closed) return fail(Code::unavailable, "the plugin's instance is being closed").rejected();
  if (now.phase == InstancePhase::quarantined) {
    return fail(Code::unavailable, "the plugin is quarantined: {}", now.reason).rejected();
  }
  if (now.phase == InstancePhase::backing_off) {
    const std::chrono::nanoseconds left(
        std::max<std::int64_t>(restart_ns - strand.clock().monotonic_ns(), 0));
    return fail(Code::unavailable, "{}; it is started again", now.reason)
        .rejected()
        .retry_after(std::chrono::ceil<std::chrono::milliseconds>(left));
  }
  return std::nullopt;
}

void PluginInstance::State::submit(std::uint64_t ticket, PluginCall call, RawDone done) {
  const auto refused = refusal();
  Call& entry = calls.emplace(ticket, Call{}).first->second;
  entry.call = std::move(call);
  entry.done = std::move(done);
  if (refused) return end(ticket, *refused);
  if (!entry.call.deadline.is_never()) {
    entry.timer = strand.post_at(entry.call.deadline, [weak = weak_from_this(), ticket] {
      if (const auto state = weak.lock()) state->give_up(ticket, Code::deadline);
    });
  }
  waiting.push_back(ticket);
  begin_waiting();
  count_load();
}

void PluginInstance::State::begin_waiting() {
  while (!waiting.empty() && current != nullptr && current->channel != nullptr && !current->is_retired &&
         current->open < limits.max_calls) {
    const std::uint64_t ticket = waiting.front();
    waiting.pop_front();
    begin(ticket);
  }
}

void PluginInstance::State::begin(std::uint64_t ticket) {
  Call& call = calls.at(ticket);
  call.generation = current;
  ++current->open;
  call.began_ns = strand.clock().monotonic_ns();
  PluginCall sent = std::move(call.call);
  call.call.method = sent.method;
  call.id = current->channel->call(
      std::move(sent), [weak = weak_from_this(), ticket](slipway_status status, std::string body) {
        if (const auto state = weak.lock()) state->on_done(ticket, status, std::move(body));
      });
}

// On the strand: it is the completions executor.
void PluginInstance::State::on_done(std::uint64_t ticket, slipway_status status, std::string body) {
  const auto found = calls.find(ticket);
  if (found == calls.end()) return;
  Call call = std::move(found->second);
  calls.erase(found);
  if (call.timer) strand.cancel(*call.timer);
  if (status == SLIPWAY_CANCELLED && call.given_up == Code::deadline) {  // we cancelled it for that
    Error error = decode_error(SLIPWAY_DEADLINE, body);
    status = SLIPWAY_DEADLINE;
    body = encode_error(error);
  }
  if (hooks.call_ended) {
    hooks.call_ended(call.call.method, status,
                     std::chrono::nanoseconds(strand.clock().monotonic_ns() - call.began_ns));
  }
  --call.generation->open;
  close_if_unused(call.generation);
  const bool is_internal = status == SLIPWAY_INTERNAL || status < SLIPWAY_OK || status > SLIPWAY_INTERNAL;
  if (is_internal) {
    const Error error = decode_error(status, body);
    change([](InstanceStatus& s) { ++s.internal_errors; });
    kLog.warn("plugin reported a bug of its own",
              {{"plugin", name}, {"method", call.call.method}, {"error", error.message}});
    if (call.generation == current) count_failure(call.call.method + ": " + error.message);
  }
  begin_waiting();
  count_load();
  call.done(status, std::move(body));
  finish_closing();
}

// Of a call that no plugin has seen.
void PluginInstance::State::end(std::uint64_t ticket, const Error& error) {
  const auto found = calls.find(ticket);
  Call call = std::move(found->second);
  calls.erase(found);
  if (call.timer) strand.cancel(*call.timer);
  call.done(static_cast<slipway_status>(error.code), encode_error(error));
}

void PluginInstance::State::refuse_waiting() {
  const auto error = refusal();
  if (!error) return;
  for (const std::uint64_t ticket : std::exchange(waiting, {})) end(ticket, *error);
  count_load();
}

void PluginInstance::State::give_up(std::uint64_t ticket, Code code) {
  const auto found = calls.find(ticket);
  if (found == calls.end() || found->second.given_up) return;
  Call& call = found->second;
  call.given_up = code;
  if (call.generation == nullptr) {
    std::erase(waiting, ticket);
    const std::string_view why =
        code == Code::deadline ? "waited until its deadline for a place" : "was given up while it waited";
    end(ticket, fail(code, "{} {}; it was not begun", call.call.method, why).rejected());
    return count_load();
  }
  if (call.timer) strand.cancel(*call.timer);
  call.timer = strand.post_after(limits.cancel_grace, [weak = weak_from_this(), ticket] {
    if (const auto state = weak.lock()) state->on_stuck(ticket);
  });
  call.generation->channel->cancel(call.id);
}

void PluginInstance::State::on_stuck(std::uint64_t ticket) {
  const auto found = calls.find(ticket);
  if (found == calls.end()) return;
  found->second.timer.reset();
  const auto generation = found->second.generation;
  if (generation->is_closing) return;
  const std::string reason =
      message("{} did not end {} after it was cancelled", found->second.call.method, limits.cancel_grace);
  kLog.error("plugin is stuck", {{"plugin", name}, {"reason", reason}});
  change([](InstanceStatus& s) { ++s.stuck; });
  generation->is_closing = true;
  if (!generation->is_retired) retired.push_back(generation);
  generation->is_retired = true;
  const bool was_current = generation == current;
  if (was_current) current = nullptr;
  // Ends it at once; every call that is on it gets its end by that.
  generation->channel->close(std::chrono::nanoseconds(0),
                             [state = shared_from_this(), generation, was_current, reason](bool is_clean) {
                               if (!is_clean && generation->channel->place() == "in process")
                                 state->in_process_is_out = true;
                               generation->channel.reset();
                               std::erase(state->retired, generation);
                               if (was_current && state->current == nullptr) {  // not replaced meanwhile
                                 state->count_failure(reason);
                                 state->back_off(reason);
                               }
                               state->finish_closing();
                             });
}

}  // namespace slipway::plugin
