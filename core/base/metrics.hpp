// SPDX-License-Identifier: Apache-2.0
// metrics.hpp - the metrics of this process, over prometheus-cpp. Its counters, gauges and histograms are
// used as they are; ours is what it lacks: names that are checked, label names that belong to a family, and
// an error instead of an exception when two parts of the program claim one name differently. Thread-safe.
// Families and metrics live as long as the Metrics that made them.
#pragma once

#include "base/crash.hpp"

#include <slipway/result.hpp>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

// All metrics of one name. A handle: small, copied freely.
template <class Metric>
class MetricFamily {
 public:
  // The metric with these label values, made at the first call. Takes a lock and a look-up: on a hot path
  // keep the reference.
  Metric& with(const std::vector<std::string>& values = {}) const {
    SLIPWAY_ASSERT(values.size() == label_names_->size());
    prometheus::Labels labels;
    for (std::size_t i = 0; i < values.size(); ++i) labels.emplace((*label_names_)[i], values[i]);
    if constexpr (std::is_same_v<Metric, Histogram>) {
      return family_->Add(labels, *buckets_);
    } else {
      return family_->Add(labels);
    }
  }

  // Takes a metric out, for a label value that is gone (an environment); references to it dangle.
  void remove(Metric& metric) const { family_->Remove(&metric); }

 private:
  friend class Metrics;
  MetricFamily(prometheus::Family<Metric>* family, const std::vector<std::string>* label_names,
               const Buckets* buckets)
      : family_(family), label_names_(label_names), buckets_(buckets) {}

  prometheus::Family<Metric>* family_;           // owned by the registry
  const std::vector<std::string>* label_names_;  // owned by Metrics, as the next
  const Buckets* buckets_;
};

class Metrics {
 public:
  // The family of this name. Asking again with the same help and labels gives the same one; with others, or
  // as another type, is a conflict that says what differs. invalid: the name does not keep to the rules:
  // slipway_ and snake_case; a counter ends in _total, a histogram in its unit _seconds or _bytes, a gauge
  // not in _total; base units only (no _ms, _mib).
  [[nodiscard]] Result<MetricFamily<Counter>> counters(std::string_view name, std::string_view help,
                                                       const std::vector<std::string>& label_names = {});
  [[nodiscard]] Result<MetricFamily<Gauge>> gauges(std::string_view name, std::string_view help,
                                                   const std::vector<std::string>& label_names = {});
  [[nodiscard]] Result<MetricFamily<Histogram>> histograms(std::string_view name, std::string_view help,
                                                           const std::vector<std::string>& label_names = {},
                                                           const Buckets& buckets = latency_buckets());

  // Seconds, from 1 ms (a commit) to 10 min (a slow cloud's create), three a decade.
  [[nodiscard]] static const Buckets& latency_buckets();

  // Everything in the Prometheus text format 0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  struct Description {
    std::string_view type;
    std::string help;
    std::vector<std::string> label_names;
    Buckets buckets;  // of a histogram
    void* family = nullptr;
  };

  template <class Metric>
  Result<MetricFamily<Metric>> family(std::string_view name, Description wanted);

  prometheus::Registry registry_;
  std::mutex descriptions_mutex_;  // guards descriptions_
  std::map<std::string, Description, std::less<>> descriptions_;
};

}  // namespace slipway
