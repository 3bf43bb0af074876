// SPDX-License-Identifier: Apache-2.0
#include "model/constraints.hpp"

#include "base/text.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace slipway::model {
namespace {

// ---- Forms: how a value is written. kNone is the explicit "none"; parse() never gets an empty text. ----

template <class T>
struct Whole {
  static constexpr T kNone = 0;
  static Result<T> parse(std::string_view text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
    return fail(Code::invalid, "expected a whole number from 0 to {}, got \"{}\"",
                std::numeric_limits<T>::max(), text);
  }
  static std::string print(T number) { return number == kNone ? "" : std::to_string(number); }
  static bool is_met(T wanted, T found) { return found >= wanted; }
};

struct Size : Whole<std::uint64_t> {
  static Result<std::uint64_t> parse(std::string_view text) { return text::parse_mib(text); }
  static std::string print(std::uint64_t mib) { return mib == kNone ? "" : text::format_mib(mib); }
};

struct Text {
  static inline const std::string kNone;
  static Result<std::string> parse(std::string_view text) { return std::string(text); }
  static std::string print(const std::string& text) { return text; }
};

struct Truth {
  static constexpr bool kNone = false;
  static Result<bool> parse(std::string_view text) {
    if (text == "true" || text == "false") return text == "true";
    return fail(Code::invalid, "expected true or false, got \"{}\"", text);
  }
  static std::string print(bool value) { return value ? "true" : "false"; }
};

// An enumerator's name; `unknown` is for messages from others and is no word.
template <class E, E None>
struct Word {
  static constexpr E kNone = None;
  static Result<E> parse(std::string_view text) {
    std::optional<E> value;
    std::vector<std::string_view> words;
    std::string list;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto enumerator) {
      if (enumerator.value == E::unknown) return;
      words.emplace_back(enumerator.name);
      list.append(list.empty() ? "" : ", ").append(enumerator.name);
      if (text == enumerator.name) value = enumerator.value;
    });
    if (value) return *value;
    return fail(Code::invalid, "expected one of {}, got \"{}\"{}", list, text,
                text::did_you_mean(text, words));
  }
  static std::string print(E value) { return value == E::unknown ? "" : message("{}", value); }
  static bool is_met(E wanted, E found) { return found == wanted; }
};

// "a,^b"
struct Choice {
  static inline const Selection kNone;
  static Result<Selection> parse(std::string_view text) {
    Selection selection;
    std::vector<std::string_view> seen;
    for (const std::string_view part : text::split(text, ',')) {
      const bool is_excluded = part.starts_with('^');
      const std::string_view name = part.substr(is_excluded ? 1 : 0);
      if (name.empty() || name.starts_with('^')) {
        return fail(Code::invalid, "expected names between commas, ^ before one that is excluded, got \"{}\"",
                    text);
      }
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
        return fail(Code::invalid, "\"{}\" stands twice in \"{}\"", name, text);
      }
      seen.push_back(name);
      (is_excluded ? selection.exclude : selection.include).emplace_back(name);
    }
    return selection;
  }
  static std::string print(const Selection& selection) {
    std::string out = text::join(selection.include, ",");
    for (const std::string& name : selection.exclude) out += (out.empty() ? "^" : ",^") + name;
    return out;
  }
};

// "a,b"
struct Names {
  static inline const std::vector<std::string> kNone;
  static Result<std::vector<std::string>> parse(std::string_view text) {
    SLIPWAY_TRY(auto selection, Choice::parse(text));
    if (!selection.exclude.empty()) {
      return fail(Code::invalid,
                  "names cannot be excluded by ^ here, got \"{}\"; list the ones that are allowed", text);
    }
    return std::move(selection.include);
  }
  static std::string print(const std::vector<std::string>& names) { return text::join(names, ","); }
};

// ---- The table of keys ----

// What excludes what: the name of an instance type, and the hardware that a type settles. The root disk is in
// neither part: it may come from elsewhere and be of any size.
enum class Part { other, type, of_type };

struct Key {
  std::string_view name;
  Part part;
  bool (*is_set)(const Constraints&);
  bool (*is_wanted)(const Constraints&);  // set, and not to "none"
  std::string (*print)(const Constraints&);
  Status (*parse)(std::string_view, Constraints&);
  void (*copy)(const Constraints& from, Constraints& to);
  void (*add_unmet)(const Key&, const Constraints&, const Hardware&, std::vector<Unmet>&);
};

constexpr struct {
} kNoHardware;

template <class Form, auto member, auto hardware_member>
void add_unmet(const Key& key, const Constraints& constraints, const Hardware& hardware,
               std::vector<Unmet>& out) {
  if constexpr (std::is_member_object_pointer_v<decltype(hardware_member)>) {
    if (!key.is_wanted(constraints)) return;
    const auto& found = hardware.*hardware_member;
    if (found && Form::is_met(*(constraints.*member), *found)) return;
    std::string text = found ? Form::print(*found) : "";
    if (text.empty())
      text = found && std::is_arithmetic_v<std::decay_t<decltype(*found)>> ? "0" : "not known";
    out.push_back({message("{}={}", key.name, key.print(constraints)), std::move(text)});
  }
}

template <class Form, auto member, auto hardware_member = kNoHardware>
constexpr Key key(std::string_view name, Part part = Part::other) {
  return {
      name,
      part,
      [](const Constraints& c) { return (c.*member).has_value(); },
      [](const Constraints& c) { return (c.*member).has_value() && *(c.*member) != Form::kNone; },
      [](const Constraints& c) { return Form::print(*(c.*member)); },
      [](std::string_view text, Constraints& c) -> Status {
        if (text.empty()) {
          c.*member = Form::kNone;
          return ok();
        }
        SLIPWAY_TRY(c.*member, Form::parse(text));
        return ok();
      },
      [](const Constraints& from, Constraints& to) { to.*member = from.*member; },
      add_unmet<Form, member, hardware_member>,
  };
}

using C = Constraints;
using H = Hardware;
constexpr std::array kKeys = {
    key<Word<Arch, Arch::unknown>, &C::arch, &H::arch>("arch", Part::of_type),
    key<Whole<std::uint32_t>, &C::cores, &H::cores>("cores", Part::of_type),
    key<Size, &C::mem_mib, &H::mem_mib>("mem", Part::of_type),
    key<Size, &C::root_disk_mib, &H::root_disk_mib>("root-disk"),
    key<Text, &C::root_disk_source>("root-disk-source"),
    key<Text, &C::instance_type>("instance-type", Part::type),
    key<Names, &C::zones>("zones"),
    key<Choice, &C::tags>("tags"),
    key<Choice, &C::spaces>("spaces"),
    key<Text, &C::virt_type>("virt-type"),
    key<Text, &C::image_id>("image-id"),
    key<Truth, &C::allocate_public_ip>("allocate-public-ip"),
    key<Whole<std::uint64_t>, &C::cpu_power, &H::cpu_power>("cpu-power", Part::of_type),
    key<Word<ContainerKind, ContainerKind::none>, &C::container>("container"),
};
constexpr auto kNames = [] {
  std::array<std::string_view, kKeys.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKeys[i].name;
  return names;
}();

bool excludes(Part a, Part b) {
  return (a == Part::type && b == Part::of_type) || (a == Part::of_type && b == Part::type);
}

Result<const Key*> find_key(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return &kKeys[static_cast<std::size_t>(found - kNames.begin())];
  std::string list;
  for (const std::string_view known : kNames) list.append(list.empty() ? "" : ", ").append(known);
  return fail(Code::invalid, "unknown key \"{}\"{}; the keys are {}", text::escaped(name),
              text::did_you_mean(name, kNames), list);
}

Status parse_value(const Key& key, std::string_view value, Constraints& out) {
  if (!text::is_plain(value) || value.find_first_of(" \"'") != std::string_view::npos) {
    return fail(Code::invalid, "{}: a value has no spaces, quotes or control characters, got \"{}\"",
                key.name, text::escaped(value));
  }
  if (auto status = key.parse(value, out); !status) return std::move(status).error().within(key.name);
  return ok();
}

Status check_conflicts(const Constraints& constraints) {
  for (const Key& a : kKeys) {
    for (const Key& b : kKeys) {
      if (a.part != Part::type || !excludes(a.part, b.part)) continue;
      if (!a.is_wanted(constraints) || !b.is_wanted(constraints)) continue;
      return fail(Code::invalid, "{}={} and {}={} exclude each other; leave one of them out", a.name,
                  a.print(constraints), b.name, b.print(constraints));
    }
  }
  return ok();
}

Status parse_pair(std::string_view pair, Constraints& out) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::invalid,
                "expected key=value, got \"{}\"; a value has no spaces, and quotes do not help",
                text::escaped(pair));
  }
  SLIPWAY_TRY(const Key* key, find_key(pair.substr(0, equals)));
  if (key->is_set(out)) return fail(Code::invalid, "{} is given twice", key->name);
  return parse_value(*key, pair.substr(equals + 1), out);
}

Result<Constraints> parse(std::string_view text) {
  Constraints constraints;
  for (std::string_view rest = text::trim(text); !rest.empty(); rest = text::trim(rest)) {
    const std::string_view pair = rest.substr(0, rest.find_first_of(" \t\r\n"));
    rest.remove_prefix(pair.size());
    SLIPWAY_TRY(parse_pair(pair, constraints));
  }
  SLIPWAY_TRY(check_conflicts(constraints));
  return constraints;
}

// A value is good if its text says the same.
Status check(const Constraints& constraints) {
  for (const Key& key : kKeys) {
    if (!key.is_set(constraints)) continue;
    Constraints only;
    key.copy(constraints, only);
    Constraints again;
    SLIPWAY_TRY(parse_value(key, key.print(only), again));
    if (again != only) {
      return fail(Code::invalid,
                  "{}: written as \"{}\" it would mean another value; names are not empty and have no comma "
                  "and no ^ in front",
                  key.name, key.print(only));
    }
  }
  return check_conflicts(constraints);
}

}  // namespace

std::span<const std::string_view> constraint_keys() { return kNames; }

Result<Constraints> parse_constraints(std::string_view text) {
  auto constraints = parse(text);
  if (!constraints) return std::move(constraints).error().within("constraints");
  return constraints;
}

std::string print_constraints(const Constraints& constraints) {
  std::string out;
  for (const Key& key : kKeys) {
    if (!key.is_set(constraints)) continue;
    out.append(out.empty() ? "" : " ").append(key.name).append("=").append(key.print(constraints));
  }
  return out;
}

Status check_constraints(const Constraints& constraints) {
  if (auto status = check(constraints); !status) return std::move(status).error().within("constraints");
  return ok();
}

Constraints merge(const Constraints& fallback, const Constraints& own) {
  const auto is_excluded = [&](const Key& key) {
    return std::any_of(kKeys.begin(), kKeys.end(), [&](const Key& other) {
      return excludes(key.part, other.part) && other.is_wanted(own);
    });
  };
  Constraints merged = own;
  for (const Key& key : kKeys) {
    if (!key.is_set(own) && !is_excluded(key)) key.copy(fallback, merged);
  }
  return merged;
}

std::vector<Unmet> unmet(const Constraints& constraints, const Hardware& hardware) {
  Constraints looked_at = constraints;
  const std::string source = constraints.root_disk_source.value_or("");
  if (!source.empty() && source != "local") looked_at.root_disk_mib.reset();
  std::vector<Unmet> out;
  for (const Key& key : kKeys) key.add_unmet(key, looked_at, hardware, out);
  return out;
}

}  // namespace slipway::model
