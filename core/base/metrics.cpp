// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.hpp"

#include "base/text.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace slipway {
namespace {

constexpr std::string_view kCounter = "counter";
constexpr std::string_view kGauge = "gauge";
constexpr std::string_view kHistogram = "histogram";

// Lower-case words of letters and digits with one _ between them.
bool is_snake_case(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name.front()) && name.back() != '_' &&
         name.find("__") == std::string_view::npos && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || is_digit(c) || c == '_';
         });
}

Status check_metric_name(std::string_view type, std::string_view name) {
  if (!name.starts_with("slipway_") || !is_snake_case(name)) {
    return fail(Code::invalid, "metric {}: expected a snake_case name that starts with slipway_", name);
  }
  if (name.ends_with("_total") != (type == kCounter)) {
    return fail(Code::invalid, "metric {}: a counter's name ends in _total and no other's does, this is a {}",
                name, type);
  }
  if (type == kHistogram && !name.ends_with("_seconds") && !name.ends_with("_bytes")) {
    return fail(Code::invalid, "metric {}: a histogram's name ends in its unit, _seconds or _bytes", name);
  }
  constexpr std::array<std::string_view, 5> kNotBaseUnits = {"_ms", "_ns", "_milliseconds", "_mib", "_kib"};
  for (const std::string_view unit : kNotBaseUnits) {
    if (name.ends_with(unit) || name.ends_with(std::string(unit) + "_total")) {
      return fail(Code::invalid, "metric {}: expected a base unit (_seconds, _bytes), got {}", name, unit);
    }
  }
  return ok();
}

// What Prometheus takes and the text format can carry: snake_case, no reserved name, none twice.
Status check_label_names(std::string_view name, std::vector<std::string> labels) {
  for (const std::string& label : labels) {
    if (!is_snake_case(label) || label == "le" || label == "quantile") {
      return fail(Code::invalid, "metric {}: expected snake_case label names, not le or quantile, got \"{}\"",
                  name, label);
    }
  }
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice == labels.end()) return ok();
  return fail(Code::invalid, "metric {}: label {} twice", name, *twice);
}

std::string listed(const std::vector<std::string>& labels) {
  return labels.empty() ? "no labels" : "labels " + text::join(labels, ", ");
}

template <class Metric>
auto builder() {
  if constexpr (std::is_same_v<Metric, Counter>) {
    return prometheus::BuildCounter();
  } else if constexpr (std::is_same_v<Metric, Gauge>) {
    return prometheus::BuildGauge();
  } else {
    return prometheus::BuildHistogram();
  }
}

}  // namespace

template <class Metric>
Result<MetricFamily<Metric>> Metrics::family(std::string_view name, Description wanted) {
  SLIPWAY_TRY(check_metric_name(wanted.type, name));
  SLIPWAY_TRY(check_label_names(name, wanted.label_names));
  const std::lock_guard lock(descriptions_mutex_);
  auto found = descriptions_.find(name);
  if (found == descriptions_.end()) {
    auto build = builder<Metric>();
    wanted.family = &build.Name(std::string(name)).Help(wanted.help).Register(registry_);
    found = descriptions_.emplace(name, std::move(wanted)).first;
  } else if (const Description& there = found->second; there.type != wanted.type) {
    return fail(Code::conflict, "duplicate metric {}: it is a {}, asked for as a {}", name, there.type,
                wanted.type);
  } else if (there.help != wanted.help) {
    return fail(Code::conflict, "duplicate metric {}: its help is \"{}\", asked for with \"{}\"", name,
                there.help, wanted.help);
  } else if (there.label_names != wanted.label_names) {
    return fail(Code::conflict, "duplicate metric {}: it has {}, asked for with {}", name,
                listed(there.label_names), listed(wanted.label_names));
  } else if (there.buckets != wanted.buckets) {
    return fail(Code::conflict, "duplicate metric {}: it has other buckets", name);
  }
  Description& description = found->second;  // stays where it is: a map's nodes do not move
  return MetricFamily<Metric>(static_cast<prometheus::Family<Metric>*>(description.family),
                              &description.label_names, &description.buckets);
}

Result<MetricFamily<Counter>> Metrics::counters(std::string_view name, std::string_view help,
                                                const std::vector<std::string>& label_names) {
  return family<Counter>(name, {kCounter, std::string(help), label_names, {}});
}

Result<MetricFamily<Gauge>> Metrics::gauges(std::string_view name, std::string_view help,
                                            const std::vector<std::string>& label_names) {
  return family<Gauge>(name, {kGauge, std::string(help), label_names, {}});
}

Result<MetricFamily<Histogram>> Metrics::histograms(std::string_view name, std::string_view help,
                                                    const std::vector<std::string>& label_names,
                                                    const Buckets& buckets) {
  if (buckets.empty() ||
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) != buckets.end()) {
    return fail(Code::invalid, "metric {}: expected bucket bounds that rise", name);
  }
  return family<Histogram>(name, {kHistogram, std::string(help), label_names, buckets});
}

const Buckets& Metrics::latency_buckets() {
  static const Buckets buckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                  1,     2.5,    5,     10,   25,    50,   100, 250,  600};
  return buckets;
}

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

}  // namespace slipway
