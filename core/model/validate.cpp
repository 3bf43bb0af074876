// SPDX-License-Identifier: Apache-2.0
#include "model/validate.hpp"

#include "base/text.hpp"
#include "model/address.hpp"
#include "model/constraints.hpp"
#include "model/names.hpp"
#include "model/placement.hpp"

#include <slipway/base64.hpp>

#include <algorithm>
#include <array>

namespace slipway::model {
namespace {

// Everything that is wrong, in the order in which it was found.
class Problems {
 public:
  void add(std::string_view path, std::string_view problem) {
    text_.append(text_.empty() ? "" : "; ").append(path).append(": ").append(problem);
  }
  // Of a check whose message names the member itself.
  void add(const Status& status) {
    if (!status) text_.append(text_.empty() ? "" : "; ").append(status.error().message);
  }
  [[nodiscard]] Status status() const {
    if (text_.empty()) return ok();
    return fail(Code::invalid, "{}", text_);
  }

 private:
  std::string text_;
};

// `at` is what stands before a member's name in its path: "" or "ports[1].".
void check(Problems& problems, const std::string& at, const VolumeRequest& request) {
  problems.add(text::check_name(at + "pool", request.pool));
  if (request.size_mib == 0 || request.size_mib > kMaxVolumeMib) {
    problems.add(at + "size_mib", message("expected 1 to {}, got {}", kMaxVolumeMib, request.size_mib));
  }
  if (request.count == 0) problems.add(at + "count", "expected at least 1, got 0");
}

void check(Problems& problems, const std::string& at, const PortRange& ports) {
  switch (ports.protocol) {
    case Protocol::tcp:
    case Protocol::udp:
      if (ports.from == 0) problems.add(at + "from", "expected 1 to 65535, got 0");
      if (ports.to < ports.from) {
        problems.add(at + "to", message("expected {} (from) to 65535, got {}", ports.from, ports.to));
      }
      break;
    case Protocol::icmp:
      if (ports.from != 0 || ports.to != 0)
        problems.add(at + "from", "icmp has no ports, expected from and to 0");
      break;
    case Protocol::unknown:
      problems.add(at + "protocol", "expected one of tcp, udp, icmp");
      break;
  }
  if (const auto cidr = Cidr::parse(ports.source); !cidr) problems.add(at + "source", cidr.error().message);
}

// A list that is far too long is not also gone through.
bool is_within(Problems& problems, std::string_view field, std::size_t size, std::size_t max) {
  if (size <= max) return true;
  problems.add(field, message("expected at most {}, got {}", max, size));
  return false;
}

bool is_label_key(std::string_view key) {
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_allowed = [&](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '/' || c == '-'; };
  return !key.empty() && key.size() <= kMaxLabelKey && is_alnum(key.front()) &&
         std::all_of(key.begin(), key.end(), is_allowed);
}

void check_labels(Problems& problems, const std::map<std::string, std::string>& labels) {
  if (!is_within(problems, "labels", labels.size(), kMaxLabels)) return;
  for (const auto& [key, value] : labels) {
    const std::string path = message("labels.{}", text::escaped(key.substr(0, kMaxLabelKey)));
    if (!is_label_key(key)) {
      problems.add(
          path, message("expected a key of 1 to {} characters of A-Z, a-z, 0-9, '.', '_', '/' and '-', the "
                        "first a letter or digit",
                        kMaxLabelKey));
    } else if (key.starts_with("slipway")) {
      problems.add(path, "keys that start with \"slipway\" are kept for Slipway's own marks");
    }
    if (value.size() > kMaxLabelValue || !text::is_plain(value)) {
      problems.add(path,
                   message("expected a value of at most {} bytes without control characters, got {} bytes",
                           kMaxLabelValue, value.size()));
    }
  }
}

void check_image(Problems& problems, const std::string& image) {
  if (image.size() <= kMaxImage && text::is_plain(image) && image.find(' ') == std::string::npos) return;
  problems.add("image", message("expected at most {} bytes without spaces, got \"{}\"", kMaxImage,
                                text::escaped(image.substr(0, kMaxImage))));
}

void check_lists(Problems& problems, const Machine& machine) {
  if (is_within(problems, "ssh_keys", machine.ssh_keys.size(), kMaxSshKeys)) {
    for (std::size_t i = 0; i < machine.ssh_keys.size(); ++i) {
      if (const auto key = check_ssh_key(machine.ssh_keys[i]); !key)
        problems.add(message("ssh_keys[{}]", i), key.error().message);
    }
  }
  if (is_within(problems, "ports", machine.ports.size(), kMaxPortRanges)) {
    for (std::size_t i = 0; i < machine.ports.size(); ++i) {
      check(problems, message("ports[{}].", i), machine.ports[i]);
    }
  }
  if (is_within(problems, "volumes", machine.volumes.size(), kMaxVolumeRequests)) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < machine.volumes.size(); ++i) {
      check(problems, message("volumes[{}].", i), machine.volumes[i]);
      count += machine.volumes[i].count;
    }
    is_within(problems, "volumes, the counts together", count, kMaxVolumes);
  }
}

// A placement that the machine's own constraints forbid can never be served.
void check_agreement(Problems& problems, const Placement& placement, const Constraints& constraints) {
  const auto& zones = constraints.zones;
  if (placement.kind == PlacementKind::zone && zones && !zones->empty() &&
      std::find(zones->begin(), zones->end(), placement.target) == zones->end()) {
    problems.add("placement", message("zone {} is not among the zones of the constraints", placement.target));
  }
  if (placement.kind == PlacementKind::container && constraints.container &&
      *constraints.container != placement.container) {
    problems.add("placement", message("{} contradicts container={} of the constraints",
                                      print_placement(placement), *constraints.container));
  }
}

}  // namespace

Status validate(const VolumeRequest& request) {
  Problems problems;
  check(problems, "", request);
  return problems.status();
}

Status validate(const PortRange& ports) {
  Problems problems;
  check(problems, "", ports);
  return problems.status();
}

Status check_ssh_key(std::string_view key) {
  constexpr std::array<std::string_view, 7> kTypes = {"ssh-ed25519",
                                                      "ssh-rsa",
                                                      "ecdsa-sha2-nistp256",
                                                      "ecdsa-sha2-nistp384",
                                                      "ecdsa-sha2-nistp521",
                                                      "sk-ssh-ed25519@openssh.com",
                                                      "sk-ecdsa-sha2-nistp256@openssh.com"};
  if (key.size() > kMaxSshKey || !text::is_plain(key)) {
    return fail(Code::invalid, "expected one line \"TYPE KEY COMMENT\" of at most {} bytes, got {} bytes",
                kMaxSshKey, key.size());
  }
  const auto words = text::split(key, ' ');
  if (std::find(kTypes.begin(), kTypes.end(), words[0]) == kTypes.end()) {
    return fail(Code::invalid, "expected a type such as ssh-ed25519 first (no options), got \"{}\"",
                text::escaped(words[0].substr(0, 40)));
  }
  const auto blob = parse_base64(words.size() > 1 ? words[1] : "");
  std::string start(3, '\0');  // the type's length in 4 bytes, big-endian; all are below 256
  start.append(1, static_cast<char>(words[0].size())).append(words[0]);
  if (!blob || blob->size() <= start.size() || !blob->starts_with(start)) {
    return fail(Code::invalid, "what follows {} is no such key; copy the whole line of the .pub file",
                words[0]);
  }
  return ok();
}

Status validate_labels(const std::map<std::string, std::string>& labels) {
  Problems problems;
  check_labels(problems, labels);
  return problems.status();
}

Status validate(const Machine& machine) {
  Problems problems;
  if (const auto id = MachineId::parse(machine.id.value); !id) problems.add("id", id.error().message);
  problems.add(check_machine_name(machine.name));
  if (!machine.group.empty()) problems.add(text::check_name("group", machine.group));
  problems.add(check_constraints(machine.constraints));
  problems.add(check_placement(machine.placement));
  check_agreement(problems, machine.placement, machine.constraints);
  check_image(problems, machine.image);
  check_labels(problems, machine.labels);
  check_lists(problems, machine);
  return problems.status();
}

Status validate(const Environment& environment) {
  Problems problems;
  problems.add(check_environment_name(environment.name));
  problems.add(check_constraints(environment.constraints));
  return problems.status();
}

}  // namespace slipway::model
