// SPDX-License-Identifier: Apache-2.0
// fuzz_tests.cpp - random bodies by the run's seed, without a cloud: each must be answered, and none must end
// the plugin. Where a plugin can change this machine, what changes something lacks a required member.
#include "conform/methods.hpp"
#include "conform/trial.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <array>

namespace slipway::conform {

namespace {

class Mutator {
 public:
  Mutator(Random& random, const MethodFacts* facts, bool must_be_wrong)
      : random_(random), facts_(facts), must_be_wrong_(must_be_wrong) {}

  std::string body() {
    json::object object = facts_ == nullptr ? json::object() : facts_->members;
    for (std::uint64_t i = random_.below(4); i > 0; --i) change(object);
    if (must_be_wrong_ && facts_ != nullptr && !facts_->required.empty())
      object.erase(facts_->required.front());
    std::string text = json::serialize(object);
    if (random_.below(4) == 0) break_text(text);
    return text;
  }

 private:
  json::value any(int depth) {
    switch (random_.below(depth > 3 ? 9 : 11)) {
      case 0:
        return nullptr;
      case 1:
        return random_.below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_.u64());
      case 3:
        return random_.u64();
      case 4:
        return random_.unit() * 1e300;
      case 5:
        return "";
      case 6:
        return kTexts[random_.below(kTexts.size())];
      case 7:
        return json::string(random_.below(70'000), 'x');
      case 8:
        return -1;
      case 9: {
        json::array array;
        for (std::uint64_t i = random_.below(4); i > 0; --i) array.push_back(any(depth + 1));
        return array;
      }
      default: {
        json::object object;
        for (std::uint64_t i = random_.below(4); i > 0; --i)
          object[kTexts[random_.below(kTexts.size())]] = any(depth + 1);
        return object;
      }
    }
  }

  // One member anywhere: another value, one more, one less.
  void change(json::object& object) {
    if (object.empty() || random_.below(6) == 0) {
      object[kTexts[random_.below(kTexts.size())]] = any(0);
      return;
    }
    const auto at = object.begin() + static_cast<std::ptrdiff_t>(random_.below(object.size()));
    if (auto* inner = at->value().if_object(); inner != nullptr && random_.below(2) == 0)
      return change(*inner);
    if (random_.below(8) == 0) {
      object.erase(at);
    } else {
      at->value() = any(0);
    }
  }

  void break_text(std::string& text) {
    switch (random_.below(3)) {
      case 0:
        text.resize(random_.below(text.size() + 1));
        break;
      case 1:
        if (!text.empty()) text[random_.below(text.size())] = static_cast<char>(random_.below(256));
        break;
      default:
        text.insert(random_.below(text.size() + 1), kTexts[random_.below(kTexts.size())]);
    }
  }

  static constexpr std::array<const char*, 12> kTexts{"a",
                                                      "\0x",
                                                      "../../etc/passwd",
                                                      "${secret:token}",
                                                      "%s%n%x",
                                                      "'; --",
                                                      "\xc3\xbc\xf0\x9f\x8c\x8d",
                                                      "\xe2\x80\xae",
                                                      "http://127.0.0.1/",
                                                      "1e999",
                                                      "\r\nHost: x",
                                                      "{}"};

  Random& random_;
  const MethodFacts* facts_;
  bool must_be_wrong_;
};

Status fuzz(Trial& trial, const std::string& method, unsigned count) {
  const Bench& bench = trial.bench();
  const MethodFacts* facts = facts_of(method);
  if (facts == nullptr && !bench.is_harmless())
    return skipped("a method of its own, which may change this machine");
  SLIPWAY_TRY(Subject * subject, trial.subject());
  Mutator mutator(trial.random(), facts, !bench.is_harmless() && (facts == nullptr || facts->has_effect));
  for (unsigned i = 0; i < count; ++i) {
    const std::string body = mutator.body();
    SLIPWAY_TRY(check_end(method, body, subject->raw(method, body)));
    SLIPWAY_TRY(subject->check_manners());
  }
  trial.count_bodies(count);
  return ok();
}

}  // namespace

void add_fuzz_tests(const Bench& bench, Tests& tests) {
  const auto& methods = bench.manifest.methods;
  if (methods.empty()) return;
  const unsigned count = std::max(bench.options.fuzz_bodies / static_cast<unsigned>(methods.size()), 1U);
  for (const std::string& method : methods) {
    tests.push_back({"fuzz/" + method.substr(0, method.find('/')),
                     [method, count](Trial& trial) { return fuzz(trial, method, count); }});
  }
}

}  // namespace slipway::conform
