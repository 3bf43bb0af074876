// SPDX-License-Identifier: Apache-2.0
// http_budget.hpp - how many requests a second a credential may send to a host: a token bucket, and a time
// before which nothing goes out because the cloud said so. Pure arithmetic on monotonic ns. Thread-safe.
#pragma once

#include "base/token_bucket.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace slipway::plugin {

class HttpBudget {
 public:
  // A cloud that says "in a year" is believed for so long.
  static constexpr std::int64_t kLongestRetryAfterMs = 3'600'000;

  explicit HttpBudget(TokenBucket::Budget budget) : bucket_(budget) {}

  // Takes a token. Else: from when on one may be had.
  TokenBucket::Take try_take(std::int64_t now_ns);
  // Nothing goes out before this, token or not.
  [[nodiscard]] std::int64_t not_before_ns() const;
  // What the host answered: 429, and 503 with Retry-After, halve the rate (it is back after 60 s);
  // Retry-After of one of them shuts the budget until then.
  void on_reply(std::uint32_t status, std::optional<std::int64_t> retry_after_ms, std::int64_t now_ns);
  // True if forgetting it changes nothing: full rate, not shut, unused for so long that it is full.
  [[nodiscard]] bool is_as_new(std::int64_t now_ns) const;

 private:
  TokenBucket bucket_;
  mutable std::mutex times_mutex_;  // guards the two below
  std::int64_t not_before_ns_ = 0;
  std::int64_t changed_ns_ = 0;  // the last token or throttling
};

// One for each (credential, host). A catalogue can name any number of hosts, so budgets that are as new are
// dropped when there are many.
class HttpBudgets {
 public:
  explicit HttpBudgets(TokenBucket::Budget budget) : budget_(budget) {}
  std::shared_ptr<HttpBudget> of(const std::string& credential, const std::string& host, std::int64_t now_ns);
  [[nodiscard]] std::size_t size() const;

 private:
  static constexpr std::size_t kMany = 256;
  const TokenBucket::Budget budget_;
  mutable std::mutex budgets_mutex_;  // guards budgets_
  std::map<std::pair<std::string, std::string>, std::shared_ptr<HttpBudget>> budgets_;
};

}  // namespace slipway::plugin
