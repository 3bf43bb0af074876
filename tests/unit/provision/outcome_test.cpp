// SPDX-License-Identifier: Apache-2.0
// outcome_test - the table of codes: named cases, and laws over the whole cross product.
#include "provision/outcome.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace slipway::provision {
namespace {

template <class E>
std::vector<E> all() {
  std::vector<E> out;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) { out.push_back(d.value); });
  return out;
}

Error error(Code code, Scope scope, Outcome outcome, std::optional<std::int64_t> after = {},
            std::string id = {}) {
  Error out;
  out.code = code;
  out.scope = scope;
  out.outcome = outcome;
  out.retry_after_ms = after;
  out.accepted_id = std::move(id);
  return out;
}

TEST_CASE("each code has its verdict and its consequence") {
  struct Case {
    Error error;
    Verdict verdict;
    Consequence consequence;
  };
  using V = Verdict;
  using C = Consequence;
  constexpr auto kNo = Outcome::rejected;
  constexpr auto kUnknown = Outcome::unknown;
  const std::vector<Case> cases = {
      {error(Code::invalid, Scope::request, kNo), V::rejected, C::fail},
      {error(Code::denied, Scope::account, kNo), V::rejected, C::fail},
      {error(Code::invalid, Scope::request, kUnknown), V::unknown, C::fail},
      {error(Code::unauthenticated, Scope::account, kNo), V::rejected, C::suspend_credential},
      {error(Code::exhausted, Scope::zone, kNo), V::rejected, C::next_zone},
      {error(Code::exhausted, Scope::zone, kUnknown, {}, "i-1"), V::created, C::next_zone},
      {error(Code::exhausted, Scope::account, kNo), V::rejected, C::blocked_quota},
      {error(Code::exhausted, Scope::region, kNo), V::rejected, C::blocked_quota},
      {error(Code::exhausted, Scope::request, kNo), V::rejected, C::retry},
      {error(Code::unavailable, Scope::request, kNo, 500), V::rejected, C::throttled},
      {error(Code::unavailable, Scope::request, kNo), V::rejected, C::back_off},
      {error(Code::unavailable, Scope::request, kUnknown), V::unknown, C::back_off},
      {error(Code::unavailable, Scope::request, kUnknown, 500), V::unknown, C::back_off},
      {error(Code::unavailable, Scope::zone, kNo), V::rejected, C::next_zone},
      {error(Code::deadline, Scope::request, kUnknown), V::unknown, C::back_off},
      {error(Code::not_found, Scope::request, kNo), V::rejected, C::drop_lookups_once},
      {error(Code::cancelled, Scope::request, kNo), V::rejected, C::none},
      {error(Code::cancelled, Scope::request, kUnknown), V::unknown, C::none},
      {error(Code::conflict, Scope::request, kNo), V::unknown, C::retry},
      {error(Code::unsupported, Scope::request, kNo), V::rejected, C::unsupported},
      {error(Code::internal, Scope::request, kNo), V::rejected, C::retry},
      {error(Code::internal, Scope::request, kUnknown), V::unknown, C::retry},
  };
  for (const Case& c : cases) {
    INFO(boost::describe::enum_to_string(c.error.code, "?") << " " << static_cast<int>(c.error.scope));
    const Judgement got = judge(c.error);
    CHECK(got.verdict == c.verdict);
    CHECK(got.consequence == c.consequence);
  }
}

TEST_CASE("over all errors only a proven first refusal is rejected, and an id is always created") {
  std::size_t rejected = 0;
  for (const Code code : all<Code>())
    for (const Scope scope : all<Scope>())
      for (const Outcome outcome : all<Outcome>())
        for (const std::optional<std::int64_t> after : {std::optional<std::int64_t>(), {-5}, {0}, {9000}})
          for (const char* id : {"", "i-1"})
            for (const Send send : {Send::first, Send::again}) {
              const Error e = error(code, scope, outcome, after, id);
              CAPTURE(boost::describe::enum_to_string(code, "?"), static_cast<int>(scope),
                      static_cast<int>(outcome), id);
              const Judgement got = judge(e, send);
              CHECK((got.verdict == Verdict::created) == !e.accepted_id.empty());
              if (got.verdict == Verdict::rejected) {
                ++rejected;
                CHECK(outcome == Outcome::rejected);
                CHECK(send == Send::first);
                CHECK(code != Code::conflict);
              }
              if (got.consequence == Consequence::throttled) {
                CHECK(after.has_value());
                CHECK(outcome == Outcome::rejected);
              }
              CHECK((got.consequence == Consequence::none) == (code == Code::cancelled));
              CHECK(got.retry_after_ms.has_value() == after.has_value());
              CHECK(got.retry_after_ms.value_or(0) >= 0);
            }
  CHECK(rejected == 10U * 4U * 4U);  // codes but conflict, scopes, times
}

TEST_CASE("a success counts only with an id") {
  CHECK(judge_success("i-1") == Judgement{Verdict::created, Consequence::none});
  CHECK(judge_success("") == Judgement{Verdict::unknown, Consequence::retry});
}

}  // namespace
}  // namespace slipway::provision
