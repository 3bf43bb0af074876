// SPDX-License-Identifier: Apache-2.0
#include "plugin/http_budget.hpp"

#include <algorithm>

namespace slipway::plugin {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kForgottenAfterNs = 120'000'000'000;  // longer than the rate's recovery and the refill

}  // namespace

TokenBucket::Take HttpBudget::try_take(std::int64_t now_ns) {
  // Held over the bucket too: a Retry-After that comes meanwhile must not find the token gone out.
  const std::lock_guard lock(times_mutex_);
  if (now_ns < not_before_ns_) return {false, not_before_ns_};
  const TokenBucket::Take take = bucket_.try_take(now_ns);
  if (take.is_taken) changed_ns_ = std::max(changed_ns_, now_ns);
  return take;
}

std::int64_t HttpBudget::not_before_ns() const {
  const std::lock_guard lock(times_mutex_);
  return not_before_ns_;
}

void HttpBudget::on_reply(std::uint32_t status, std::optional<std::int64_t> retry_after_ms,
                          std::int64_t now_ns) {
  const bool is_throttled = status == 429 || (status == 503 && retry_after_ms);
  if (!is_throttled) return;
  bucket_.on_throttled(now_ns);
  const std::int64_t wait_ms = std::clamp<std::int64_t>(retry_after_ms.value_or(0), 0, kLongestRetryAfterMs);
  const std::lock_guard lock(times_mutex_);
  not_before_ns_ = std::max(not_before_ns_, now_ns + wait_ms * kNsPerMs);
  changed_ns_ = std::max(changed_ns_, now_ns);
}

bool HttpBudget::is_as_new(std::int64_t now_ns) const {
  const std::lock_guard lock(times_mutex_);
  return now_ns >= not_before_ns_ && now_ns - changed_ns_ > kForgottenAfterNs;
}

std::shared_ptr<HttpBudget> HttpBudgets::of(const std::string& credential, const std::string& host,
                                            std::int64_t now_ns) {
  const std::lock_guard lock(budgets_mutex_);
  auto& budget = budgets_[{credential, host}];
  if (budget != nullptr) return budget;
  budget = std::make_shared<HttpBudget>(budget_);
  std::shared_ptr<HttpBudget> made = budget;  // its second owner keeps it from being dropped below
  if (budgets_.size() > kMany) {
    std::erase_if(budgets_, [&](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->is_as_new(now_ns);
    });
  }
  return made;
}

std::size_t HttpBudgets::size() const {
  const std::lock_guard lock(budgets_mutex_);
  return budgets_.size();
}

}  // namespace slipway::plugin
