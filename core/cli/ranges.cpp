// SPDX-License-Identifier: Apache-2.0
// ranges.cpp - words to machines and back. Pure.
#include "cli/ranges.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace slipway::cli {
namespace {

constexpr std::size_t kMaxEnvironmentName = 20;
// Ids are counted by the server from 0; nine digits are far beyond any of them and cannot overflow.
constexpr std::size_t kMaxDigits = 9;

// "7", not "07", "+7" or "": the one spelling that the server gives.
std::optional<std::uint32_t> number(std::string_view text) {
  const bool has_digits_only =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > kMaxDigits || !has_digits_only) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "7", or inside a machine "1/lxc/0", "1/lxc/0/kvm/2".
bool is_machine_id(std::string_view text) {
  const auto parts = text::split(text, '/');
  if (parts.size() % 2 == 0) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_kind = i % 2 == 1;
    const bool is_fine = is_kind
                             ? !parts[i].empty() && std::all_of(parts[i].begin(), parts[i].end(),
                                                                [](char c) { return c >= 'a' && c <= 'z'; })
                             : number(parts[i]).has_value();
    if (!is_fine) return false;
  }
  return true;
}

class Machines {
 public:
  Status add(std::string_view part) {
    SLIPWAY_TRY(take_environment(part));
    const auto dash = part.find('-');
    if (dash != std::string_view::npos) return add_range(part, part.substr(0, dash), part.substr(dash + 1));
    if (!is_machine_id(part)) return refused(part);
    return add_one(std::string(part));
  }
  void end_word() { environment_.clear(); }
  std::vector<MachineRef> take() && { return std::move(list_); }

 private:
  Status take_environment(std::string_view& part) {
    const auto colon = part.find(':');
    if (colon == std::string_view::npos) return ok();
    SLIPWAY_TRY(text::check_name("environment", part.substr(0, colon), kMaxEnvironmentName));
    environment_ = part.substr(0, colon);
    part.remove_prefix(colon + 1);
    return ok();
  }

  Status add_range(std::string_view part, std::string_view from, std::string_view to) {
    const auto first = number(from);
    const auto last = number(to);
    if (!first || !last) return refused(part);
    if (*first > *last) {
      return fail(Code::invalid, "machine range {}: runs backwards; write {}-{}", part, *last, *first);
    }
    // Before the first is made: the bound is also one on time.
    if (*last - *first >= kMaxMachineRefs) return too_many();
    for (std::uint32_t id = *first; id <= *last; ++id) SLIPWAY_TRY(add_one(std::to_string(id)));
    return ok();
  }

  Status add_one(std::string id) {
    if (!seen_.emplace(environment_, id).second) return ok();
    if (list_.size() == kMaxMachineRefs) return too_many();
    list_.push_back({environment_, std::move(id)});
    return ok();
  }

  static Failure refused(std::string_view part) {
    return fail(Code::invalid,
                "machine \"{}\": expected an id like 7 or 1/lxc/0, a range like 0-19, a list like 3,5, or "
                "one of these behind ENVIRONMENT:",
                part);
  }
  static Failure too_many() {
    return fail(Code::invalid, "more than {} machines are named at once; name fewer, or use a selector",
                kMaxMachineRefs);
  }

  std::string environment_;
  std::vector<MachineRef> list_;
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

Result<std::vector<MachineRef>> parse_machines(std::span<const std::string> words) {
  Machines machines;
  for (const std::string& word : words) {
    for (const std::string_view part : text::split(word, ',')) SLIPWAY_TRY(machines.add(part));
    machines.end_word();
  }
  return std::move(machines).take();
}

std::vector<std::string> format_machines(std::span<const MachineRef> machines) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < machines.size();) {
    const MachineRef& first = machines[i];
    std::size_t end = i + 1;  // behind the last machine of this run
    if (const auto start = number(first.id)) {
      while (end < machines.size() &&
             machines[end] == MachineRef{first.environment, std::to_string(*start + (end - i))}) {
        ++end;
      }
    }
    std::string word = first.environment.empty() ? "" : first.environment + ":";
    word += first.id;
    if (end - i > 1) word += "-" + machines[end - 1].id;
    words.push_back(std::move(word));
    i = end;
  }
  return words;
}

}  // namespace slipway::cli
