// SPDX-License-Identifier: Apache-2.0
// failpoint.cpp - the registry of fail points, and what they do when they are armed. Thread-safe; nothing is
// done to the process with the lock held.
#include "base/failpoint.hpp"

#include "base/text.hpp"

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace slipway {

namespace {

constexpr std::uint64_t kLongestDelayMs = 60'000;

enum class ActionKind { off, error, delay, crash };

struct Action {
  ActionKind kind = ActionKind::off;
  Code code = Code::internal;    // of an error
  std::uint64_t delay_ms = 0;    // of a delay
  std::uint64_t hits_to_go = 0;  // 0: at every hit; else only at the hit that counts it down to 0
};

struct Point {
  std::uint64_t hits = 0;
  Action armed;
};

struct Registry {
  std::mutex points_mutex;  // guards points
  std::map<std::string, Point, std::less<>> points;
};

// Leaked on purpose: points in static storage may be hit until the very end of the process.
Registry& registry() {
  static auto* const instance = new Registry();
  return *instance;
}

Result<std::uint64_t> parse_count(std::string_view what, std::string_view text, std::uint64_t min,
                                  std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return fail(Code::invalid, "{}: expected a number from {} to {}, got \"{}\"", what, min, max, text);
  }
  return value;
}

Result<Code> parse_code(std::string_view text) {
  Code code{};
  if (boost::describe::enum_from_string(std::string(text).c_str(), code)) return code;
  std::vector<std::string_view> names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Code>>(
      [&names](auto enumerator) { names.emplace_back(enumerator.name); });
  return fail(Code::invalid, "unknown error code \"{}\"{}", text, text::did_you_mean(text, names));
}

// "ACTION[@N]"
Result<Action> parse_action(std::string_view text) {
  Action action;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    SLIPWAY_TRY(action.hits_to_go,
                parse_count("the hit after @", text.substr(at + 1), 1, std::uint64_t{1} << 62));
    text = text.substr(0, at);
  }
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::optional<std::string_view> argument =
      colon == std::string_view::npos ? std::nullopt : std::optional(text.substr(colon + 1));
  if (name == "error") {
    action.kind = ActionKind::error;
    if (argument) {
      SLIPWAY_TRY(action.code, parse_code(*argument));
    }
  } else if (name == "delay") {
    action.kind = ActionKind::delay;
    SLIPWAY_TRY(action.delay_ms, parse_count("delay in ms", argument.value_or(""), 0, kLongestDelayMs));
  } else if (name == "crash" && !argument) {
    action.kind = ActionKind::crash;
  } else if (name != "off" || argument) {
    static constexpr std::string_view kActions[] = {"error", "delay", "crash", "off"};
    return fail(Code::invalid, "unknown action \"{}\"{}, expected error, error:CODE, delay:MS, crash or off",
                text, text::did_you_mean(name, kActions));
  }
  return action;
}

// "NAME=ACTION[@N]"; the caller holds the registry's lock.
Result<std::pair<Point*, Action>> parse_entry(Registry& all, std::string_view entry) {
  const auto equals = entry.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::invalid, "expected NAME=ACTION[@N], got \"{}\"", entry);
  }
  const std::string_view name = entry.substr(0, equals);
  const auto found = all.points.find(name);
  if (found == all.points.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, point] : all.points) names.emplace_back(known);
    return fail(Code::invalid, "no fail point is named \"{}\"{}", name, text::did_you_mean(name, names));
  }
  auto action = parse_action(entry.substr(equals + 1));
  if (!action) return std::move(action).error().within(name);
  return std::pair(&found->second, *action);
}

[[noreturn]] void die_at_once() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();  // until the signal is there
}

}  // namespace

FailPoint::FailPoint(std::string_view name) : name_(name) {
  Registry& all = registry();
  const std::lock_guard lock(all.points_mutex);
  all.points.try_emplace(name_);
}

std::atomic<bool>& FailPoint::any_allowed() {
  static constinit std::atomic<bool> allowed = false;
  return allowed;
}

Status FailPoint::hit_slowly() const {
  Action action;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.points_mutex);
    Point& point = all.points[name_];
    ++point.hits;
    action = point.armed;
    if (action.hits_to_go > 1) {
      --point.armed.hits_to_go;
      return ok();
    }
    if (action.hits_to_go == 1) point.armed = {};
  }
  switch (action.kind) {
    case ActionKind::off:
      break;
    case ActionKind::error:
      return fail(action.code, "fail point {} was hit", name_);
    case ActionKind::delay:
      std::this_thread::sleep_for(std::chrono::milliseconds(action.delay_ms));
      break;
    case ActionKind::crash:
      die_at_once();
  }
  return ok();
}

namespace failpoints {

void allow_for_tests() { FailPoint::any_allowed() = true; }

Status arm(std::string_view spec) {
  if (!FailPoint::any_allowed()) {
    return fail(Code::denied, "fail points are for tests only; start the daemon with its test flag");
  }
  Registry& all = registry();
  const std::lock_guard lock(all.points_mutex);
  std::vector<std::pair<Point*, Action>> parsed;
  for (const std::string_view entry : text::split(spec, ';')) {
    SLIPWAY_TRY(const auto one, parse_entry(all, entry));
    parsed.push_back(one);
  }
  for (const auto& [point, action] : parsed) point->armed = action;
  return ok();
}

void disarm_all() {
  Registry& all = registry();
  const std::lock_guard lock(all.points_mutex);
  for (auto& [name, point] : all.points) point.armed = {};
}

std::map<std::string, std::uint64_t> hits() {
  Registry& all = registry();
  const std::lock_guard lock(all.points_mutex);
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [name, point] : all.points) counts.emplace(name, point.hits);
  return counts;
}

}  // namespace failpoints

}  // namespace slipway
