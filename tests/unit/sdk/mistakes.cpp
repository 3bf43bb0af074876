// SPDX-License-Identifier: Apache-2.0
// mistakes.cpp - what an author gets wrong, each with the words that the compiler must say. Never built:
// mistakes.sh has it checked and looks for the text behind each "says:".
#include <slipway/provider.hpp>

using namespace slipway;

struct Good {
  struct Config {
    std::string text;
    SecretRef token;
    std::vector<int> numbers;
    char letter = 'a';
  };
  static PluginInfo info();
  static Schema<Config> schema();
  Good(Host&, const Config&);
  Result<ProbeReply> probe(Call&, const ProbeRequest&);
  Result<StartReply> start(Call&, const StartRequest&);
  void list(Call, ListRequest, Completion<ListReply>);
  Result<GetReply> get(Call&, const GetRequest&);
  Result<ZonesReply> zones(Call&, const ZonesRequest&);
  void zones_later(Call, ZonesRequest, Completion<ZonesReply>);

  Result<TypesReply> by_value(Call, TypesRequest);
  Result<ZonesReply> other_reply(Call&, const TypesRequest&);
  void callback_of_other(Call, TypesRequest, Completion<ZonesReply>);
  Result<Unit> host_request(Call&, const ClockSleepRequest&);
  int number = 0;
};
template <auto... methods>
constexpr auto use() {
  return &detail::Glue<Good, methods...>::entry;
}

// says: a provider needs a method that takes slipway::StopRequest
const auto no_stop = use<&Good::probe, &Good::start, &Good::list, &Good::get>();
// says: a provider needs a method that takes slipway::ProbeRequest
// says: a provider needs a method that takes slipway::ListRequest
// says: a provider needs a method that takes slipway::GetRequest
const auto only_start = use<&Good::start>();
// says: a provider needs a method that takes slipway::StartRequest
const auto no_start = use<&Good::list>();
// says: must be Result<Reply> f(Call&, const Request&), or asynchronous: void f(Call, Request,
// Completion<Reply>) says: Method<Good, 2, &Good::by_value>
const auto signature = use<&Good::zones, &Good::by_value>();
// says: Method<Good, 1, &Good::number>
const auto no_function = use<&Good::number>();
// says: must answer its request's own Reply
// says: Method<Good, 1, &Good::other_reply>
const auto reply = use<&Good::other_reply>();
// says: Method<Good, 1, &Good::callback_of_other>
const auto completion = use<&Good::callback_of_other>();
// says: must take one of the requests of slipway/messages
const auto no_plugin_request = use<&Good::host_request>();
// says: two methods of SLIPWAY_PLUGIN take the same request
const auto twice = use<&Good::zones, &Good::zones_later>();

struct NoInfo : Good {
  static void info();
  using Good::Good;
};
// says: a plugin needs `static slipway::PluginInfo info()`
const auto no_info = &detail::Glue<NoInfo, &Good::zones>::entry;

struct NoSchema : Good {
  static int schema();
  using Good::Good;
};
// says: a plugin needs `static slipway::Schema<Config> schema()`
const auto no_schema = &detail::Glue<NoSchema, &Good::zones>::entry;

struct NoConstructor : Good {
  NoConstructor();
};
// says: a plugin needs a public constructor (slipway::Host&, Config), or `static
const auto no_constructor = &detail::Glue<NoConstructor, &Good::zones>::entry;

struct NoConfig {
  static PluginInfo info();
};
// says: a plugin needs a public type `Config`
const auto no_config = &detail::Glue<NoConfig>::entry;

// says: a SecretRef is listed by secret(), not by field()
const auto open_secret = field("token", &Good::Config::token);
// says: secret() is for members of the type slipway::SecretRef
const auto no_secret = secret("text", &Good::Config::text);
// says: a setting is a std::string, an integer, a bool, a double
const auto numbers = field("numbers", &Good::Config::numbers);
const auto letter = field("letter", &Good::Config::letter);
// says: min() and max() are for settings that are a number
const auto text = field("text", &Good::Config::text).min(1);
