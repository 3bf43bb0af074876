// SPDX-License-Identifier: Apache-2.0
#include "model/names.hpp"

#include "base/crash.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace slipway::model {
namespace {

constexpr std::string_view kIdPlace = "{id}";
constexpr std::string_view kPrefix = "slipway-";
constexpr std::string_view kShared = "shared";  // in place of a machine id; no id is a word
constexpr std::size_t kControllerPart = 8;      // Uuid::short_form
constexpr std::size_t kSeqDigits = 10;          // of kMaxAttemptSeq
static_assert(kMaxAttemptSeq / 1'000'000'000 > 0 && kMaxAttemptSeq / 10'000'000'000 == 0);
static_assert(kShared.size() <= MachineId::kMaxSize);
static_assert(kPrefix.size() + kControllerPart + 1 + kMaxEnvironmentName + 1 + MachineId::kMaxSize + 1 +
                  kSeqDigits <=
              kMaxResourceName);

std::string with_hyphens(std::string id) {
  std::replace(id.begin(), id.end(), '/', '-');
  return id;
}

std::string replace_id(std::string_view name_template, std::string_view id) {
  std::string name(name_template);
  for (std::size_t at = name.find(kIdPlace); at != std::string::npos;
       at = name.find(kIdPlace, at + id.size())) {
    name.replace(at, kIdPlace.size(), id);
  }
  return name;
}

// "…-1-lxc"
bool ends_as_container(std::string_view name) {
  const auto parts = text::split(name, '-');
  if (parts.size() < 3) return false;
  return MachineId::parse(message("{}/{}/0", parts[parts.size() - 2], parts.back())).has_value();
}

}  // namespace

Status check_environment_name(std::string_view name) {
  SLIPWAY_TRY(text::check_name("environment name", name, kMaxEnvironmentName));
  if (!ends_as_container(name)) return ok();
  return fail(Code::invalid,
              "environment name: \"{}\" ends as the id of a container does; choose another end", name);
}

Status check_machine_name(std::string_view name) {
  SLIPWAY_TRY(text::check_name("name", name, kMaxMachineName));
  if (name.back() != '-') return ok();
  return fail(Code::invalid, "name: expected a letter or digit at the end, got \"{}\"", name);
}

Status check_name_template(std::string_view name_template, std::size_t machines) {
  const std::string longest = replace_id(name_template, std::string(MachineId::kMaxSize, '9'));
  if (longest.find_first_of("{}") != std::string::npos) {
    return fail(Code::invalid, "name: expected no braces but {{id}}, got \"{}\"",
                text::escaped(name_template));
  }
  const bool has_id = name_template.find(kIdPlace) != std::string_view::npos;
  if (machines > 1 && !has_id) {
    return fail(Code::invalid,
                "name: \"{}\" would be the name of {} machines; put {{id}} into it, as in \"{}-{{id}}\"",
                text::escaped(name_template), machines, text::escaped(name_template));
  }
  if (longest.size() > kMaxMachineName && has_id) {
    return fail(Code::invalid, "name: \"{}\" has {} characters with the longest id, expected at most {}",
                text::escaped(name_template), longest.size(), kMaxMachineName);
  }
  if (check_machine_name(longest)) return ok();
  // The template's own words, not those of a name that nobody wrote.
  return fail(
      Code::invalid,
      "name: expected 1 to {} characters of a-z, 0-9 and -, a hyphen neither first nor last, got \"{}\"",
      kMaxMachineName, text::escaped(name_template));
}

std::string expand_name(std::string_view name_template, const MachineId& machine) {
  return replace_id(name_template, with_hyphens(machine.value));
}

std::string default_machine_name(std::string_view environment, const MachineId& machine) {
  return message("{}-{}", environment, with_hyphens(machine.value));
}

std::string resource_name(std::string_view controller_uuid, std::string_view environment,
                          const MachineId& machine, std::int64_t seq) {
  SLIPWAY_ASSERT(controller_uuid.size() >= kControllerPart);
  SLIPWAY_ASSERT(!environment.empty() && environment.size() <= kMaxEnvironmentName);
  SLIPWAY_ASSERT(machine.value.size() <= MachineId::kMaxSize);
  SLIPWAY_ASSERT(seq >= 0 && seq <= kMaxAttemptSeq);
  return message("{}{}-{}-{}-{}", kPrefix, controller_uuid.substr(0, kControllerPart), environment,
                 machine.value.empty() ? std::string(kShared) : with_hyphens(machine.value), seq);
}

std::string host_interface_name(const Nonce& nonce) { return "sw" + nonce.text().substr(0, 11); }

}  // namespace slipway::model
