// SPDX-License-Identifier: Apache-2.0
#include "plugin/call_table.hpp"

#include "base/crash.hpp"
#include "plugin/frame.hpp"

#include <slipway/codec.hpp>

#include <utility>

namespace slipway::plugin {

namespace {

// A number is 24 bits of table and 40 bits of call: 16 million instances and 10^12 calls each before one
// comes again, and none that a plugin could mistake for another's.
constexpr unsigned kCallBits = 40;

// All tables of the process, by number. Never destroyed: a plugin's thread may complete a call while the
// process ends.
struct Tables {
  std::mutex tables_mutex;  // guards what follows
  std::unordered_map<std::uint64_t, std::weak_ptr<CallTable>> tables;
  std::uint64_t next = 1;
};
Tables& tables() {
  static auto& all = *new Tables;
  return all;
}

}  // namespace

std::shared_ptr<CallTable> CallTable::make(Hooks hooks, std::uint64_t number) {
  const std::lock_guard lock(tables().tables_mutex);
  if (number == 0) number = tables().next++;
  std::shared_ptr<CallTable> table(new CallTable(std::move(hooks), number));
  tables().tables[number] = table;
  return table;
}

CallTable::~CallTable() {
  SLIPWAY_ASSERT(open_.empty());
  const std::lock_guard lock(tables().tables_mutex);
  tables().tables.erase(number_);
}

namespace {

Status check(const PluginCall& call) {
  if (call.method.empty() || call.method.size() > kMaxMethodBytes) {
    return fail(Code::invalid, "a method's name has 1 to {} bytes, this one has {}", kMaxMethodBytes,
                call.method.size())
        .rejected();
  }
  if (call.body.size() <= SLIPWAY_MESSAGE_MAX_BYTES) return ok();
  return fail(Code::invalid, "{}: the request has {} bytes, at most {} are taken", call.method,
              call.body.size(), SLIPWAY_MESSAGE_MAX_BYTES)
      .rejected();
}

}  // namespace

std::uint64_t CallTable::open(const PluginCall& call, RawDone done) {
  Status status = check(call);
  if (status) {
    const std::lock_guard lock(open_mutex_);
    if (!refusal_) {
      const std::uint64_t id = call.id != 0 ? call.id : number_ << kCallBits | next_++;
      open_.emplace(id, Open{std::move(done), call.deadline, false, {}});
      return id;
    }
    status = *refusal_;
  }
  const Error& error = status.error();
  finish(std::move(done), static_cast<slipway_status>(error.code), encode_error(error));
  return 0;
}

bool CallTable::complete(std::uint64_t id, slipway_status status, std::string body) {
  if (end(id, status, std::move(body))) return true;
  {
    const std::lock_guard lock(open_mutex_);
    if (is_closed_) return false;  // it was ended here, and nobody counts any more
  }
  hooks_.late_completion();
  return false;
}

void CallTable::reject(std::uint64_t id, const Error& why) {
  end(id, static_cast<slipway_status>(why.code), encode_error(why));
}

bool CallTable::end(std::uint64_t id, slipway_status status, std::string body) {
  Open call;
  std::function<void()> drained;
  {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return false;
    call = std::move(found->second);
    open_.erase(found);
    if (open_.empty()) drained = std::exchange(drained_, nullptr);
  }
  for (const std::uint64_t service : call.services) hooks_.cancel_service(service);
  finish(std::move(call.done), status, std::move(body));
  if (drained) drained();
  return true;
}

void CallTable::finish(RawDone done, slipway_status status, std::string body) {
  if (hooks_.completions == nullptr) return done(status, std::move(body));
  hooks_.completions->post(
      [done = std::move(done), status, body = std::move(body)]() mutable { done(status, std::move(body)); });
}

bool CallTable::cancel(std::uint64_t id) {
  std::vector<std::uint64_t> services;
  {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(id);
    if (found == open_.end() || std::exchange(found->second.is_cancelled, true)) return false;
    services = found->second.services;
  }
  for (const std::uint64_t service : services) hooks_.cancel_service(service);
  return true;
}

bool CallTable::is_wanted(std::uint64_t id) const {
  const std::lock_guard lock(open_mutex_);
  const auto found = open_.find(id);
  return found != open_.end() && !found->second.is_cancelled;
}

bool CallTable::is_given_up(std::uint64_t id) const {
  const std::lock_guard lock(open_mutex_);
  const auto found = open_.find(id);
  return is_closed_ || (found != open_.end() && found->second.is_cancelled);
}

void CallTable::refuse(const Error& why) {
  const std::lock_guard lock(open_mutex_);
  if (refusal_) return;
  refusal_ = why;
  refusal_->outcome = Outcome::rejected;
}

void CallTable::close(const Error& why) {
  refuse(why);
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> services;
  {
    const std::lock_guard lock(open_mutex_);
    is_closed_ = true;
    for (const auto& [id, call] : open_) ids.push_back(id);
    services = own_services_;
  }
  for (const std::uint64_t service : services) hooks_.cancel_service(service);
  const std::string body = encode_error(why);
  for (const std::uint64_t id : ids) end(id, static_cast<slipway_status>(why.code), body);
}

Result<Deadline> CallTable::add_service(std::uint64_t parent, std::uint64_t service, std::size_t bytes) {
  const std::lock_guard lock(open_mutex_);
  const auto found = open_.find(parent);
  const bool is_over = parent == 0 ? is_closed_ : found == open_.end() || found->second.is_cancelled;
  if (is_over) return fail(Code::cancelled, "what it is made for was given up, or has ended").rejected();
  if (services_ == kMaxOpenServices || service_bytes_ + bytes > kMaxOpenServiceBytes) {
    return fail(Code::exhausted, "{} service calls of {} bytes are open, at most {} of {} may be", services_,
                service_bytes_, kMaxOpenServices, kMaxOpenServiceBytes)
        .rejected();
  }
  ++services_;
  service_bytes_ += bytes;
  (parent == 0 ? own_services_ : found->second.services).push_back(service);
  return parent == 0 ? Deadline::never() : found->second.deadline;
}

void CallTable::remove_service(std::uint64_t parent, std::uint64_t service, std::size_t bytes) {
  const std::lock_guard lock(open_mutex_);
  --services_;
  service_bytes_ -= bytes;
  if (parent == 0) {
    std::erase(own_services_, service);
  } else if (const auto found = open_.find(parent); found != open_.end()) {
    std::erase(found->second.services, service);
  }
}

std::vector<std::uint64_t> CallTable::open_calls() const {
  const std::lock_guard lock(open_mutex_);
  std::vector<std::uint64_t> ids;
  ids.reserve(open_.size());
  for (const auto& [id, call] : open_) ids.push_back(id);
  return ids;
}

void CallTable::when_drained(std::function<void()> drained) {
  {
    const std::lock_guard lock(open_mutex_);
    if (!open_.empty()) {
      drained_ = std::move(drained);
      return;
    }
  }
  drained();
}

void* CallTable::token_of(std::uint64_t id) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a key
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(id));
}

void CallTable::complete_by_token(void* token, slipway_status status, slipway_bytes body) noexcept {
  const std::uint64_t id = reinterpret_cast<std::uintptr_t>(token);
  std::shared_ptr<CallTable> table;
  {
    const std::lock_guard lock(tables().tables_mutex);
    const auto found = tables().tables.find(id >> kCallBits);
    if (found != tables().tables.end()) table = found->second.lock();
  }
  if (table == nullptr) return;  // the instance is gone, and nobody is left to count for
  if (body.size > SLIPWAY_MESSAGE_MAX_BYTES || (body.data == nullptr && body.size != 0)) {
    const Error error = fail(Code::internal, "the plugin answered with {} bytes, at most {} are taken",
                             body.size, SLIPWAY_MESSAGE_MAX_BYTES);
    table->complete(id, SLIPWAY_INTERNAL, encode_error(error));
    return;
  }
  table->complete(id, status, std::string(body.size == 0 ? "" : body.data, body.size));
}

}  // namespace slipway::plugin
