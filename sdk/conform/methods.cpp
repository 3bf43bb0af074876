// SPDX-License-Identifier: Apache-2.0
#include "conform/methods.hpp"

#include <slipway/codec.hpp>

#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <type_traits>

namespace slipway::conform {

namespace {

using Effects = boost::mp11::mp_list<MaintainRequest, ExecRequest, FirewallOpenRequest, FirewallCloseRequest,
                                     AttachRequest, DetachRequest, ObjectPutRequest>;

template <class R>
MethodFacts make_facts() {
  MethodFacts facts;
  facts.name = R::method;
  facts.members = to_json(R{}).as_object();
  boost::mp11::mp_for_each<slipway::detail::Members<R>>([&](auto member) {
    if (slipway::detail::is_required<R>(member.name)) facts.required.emplace_back(member.name);
  });
  facts.has_effect = std::is_base_of_v<MakeRequest, R> || std::is_base_of_v<DeleteRequest, R> ||
                     boost::mp11::mp_contains<Effects, R>::value;
  facts.check_reply = [](std::string_view body) -> Status {
    SLIPWAY_TRY(decode<typename R::Reply>(body));
    return ok();
  };
  return facts;
}

}  // namespace

const std::vector<MethodFacts>& known_methods() {
  static const std::vector<MethodFacts> all = [] {
    std::vector<MethodFacts> methods;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, PluginRequests>>(
        [&](auto type) { methods.push_back(make_facts<typename decltype(type)::type>()); });
    return methods;
  }();
  return all;
}

const MethodFacts* facts_of(std::string_view method) {
  const auto& all = known_methods();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const MethodFacts& facts) { return facts.name == method; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> harmless_methods(const Bench& bench) {
  std::vector<std::string> out;
  for (const std::string& method : bench.manifest.methods) {
    const MethodFacts* facts = facts_of(method);
    const bool is_harmless = facts == nullptr ? bench.is_harmless() : !facts->has_effect;
    if (is_harmless) out.push_back(method);
  }
  return out;
}

Status check_end(std::string_view method, std::string_view body, const CallEnd& end) {
  const std::string asked = message("{} was called with {}", method, slipway::detail::excerpt(body, 120));
  if (end.status < SLIPWAY_OK || end.status > SLIPWAY_INTERNAL) {
    return unmet("{}; wanted a status of abi.h, got {}", asked, end.status)
        .why("the host takes it as a bug of the plugin, whatever it was meant to say")
        .look_at("what the plugin gives to done")
        .to_do("end each call with one of the statuses in abi.h");
  }
  if (!end.is_ok()) {
    const Error error = end.error();
    if (error.code != Code::internal) return ok();
    return unmet("{}; wanted a reply, or an error that says what is wrong, got internal: {}", asked,
                 error.message)
        .why("internal is a bug of the plugin: five of them in ten minutes, and the host gives it up")
        .look_at("exceptions that leave a method, and replies above 16 MiB")
        .to_do("answer what a caller or a cloud did wrong with invalid, unavailable or not_found");
  }
  json::error_code ec;
  const json::value value = json::parse(end.body, ec);
  const MethodFacts* facts = facts_of(method);
  const Status decoded = ec || !value.is_object() ? Status(fail(Code::invalid, "expected a JSON object"))
                         : facts == nullptr       ? ok()
                                                  : facts->check_reply(end.body);
  if (decoded) return ok();
  return unmet("{}; its reply cannot be read: {}, got {}", asked, decoded.error().message,
               slipway::detail::excerpt(end.body, 120))
      .why("the host drops such a reply; of a method that makes something the outcome is then unknown")
      .look_at("sdk/schema, which has the reply's form")
      .to_do("answer with the reply's type of the SDK, or with an error");
}

}  // namespace slipway::conform
