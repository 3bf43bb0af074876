// SPDX-License-Identifier: Apache-2.0
// probe.cpp - a plugin for tests of the host: what it is told to do, it does. Written as anybody writes one;
// its requests are in probe.hpp.
#include "support/plugins/probe.hpp"

#include <slipway/provider.hpp>

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace {

using namespace slipway;

class Probe {
 public:
  struct Config {
    std::string region = "eu-1";
    std::uint32_t create_ms = 0;  // how long the constructor takes
  };

  static PluginInfo info() {
    PluginInfo info;
    info.name = "probe";
    info.version = "1.2.3";
    info.summary = "does what a test tells it";
    info.licence = "Apache-2.0";
    info.kinds = {Kind::network};
    return info;
  }

  static Schema<Config> schema() {
    return {field("region", &Config::region).doc("refused when it is nowhere"),
            field("create_ms", &Config::create_ms).doc("how long creating takes")};
  }

  Probe(Host& host, Config config) : host_(host), http_(host.http({.base_url = "http://cloud.test"})) {
    if (config.region == "hasty") flood_with("hang", 1);
    if (config.region == "hasty") throw std::runtime_error("not while a service answers");
    if (config.region == "nowhere") throw std::runtime_error("no such region: nowhere");
    std::this_thread::sleep_for(std::chrono::milliseconds(config.create_ms));
  }

  Result<Text> echo(Call&, const EchoRequest& request) { return Text{request.text}; }

  // Deaf: it does not look whether the call was given up.
  Result<Text> nap(Call& call, const NapRequest& request) {
    for (std::uint32_t waited = 0; waited < request.ms; ++waited) {
      if (!request.is_deaf && call.cancelled()) return fail(Code::cancelled, "cancelled after {} ms", waited);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Text{"slept"};
  }

  Result<Text> fetch(Call& call, const FetchRequest& request) {
    SLIPWAY_TRY(const HttpReply reply, http_.get(request.path).send(call));
    return Text{reply.body};
  }

  void fetch_later(Call call, FetchLaterRequest request, Completion<Text> done) {
    http_.get(request.path).send(call, [done = std::move(done)](Result<HttpReply> reply) mutable {
      if (!reply) return done(std::move(reply).error());
      done(Text{reply->body});
    });
  }

  Result<Text> die(Call&, const DieRequest& request) {
    if (request.how == "throw") throw std::logic_error("a bug of the plugin");
    if (request.how == "abort") std::abort();
    if (request.how == "exit") std::_Exit(3);
    if (request.how == "trap") __builtin_trap();
    return fail(Code::invalid, "how: unknown value {}", request.how);
  }

  Result<Text> tell(Call& call, const TellRequest& request) {
    call.log(LogSeverity::warn, request.text, {{"k", "v"}});
    call.progress(request.text, 50);
    return Text{request.text};
  }

  Result<Text> flood(Call&, const FloodRequest& request) {
    flood_with(request.path, request.count);
    return Text{"flooded"};
  }

  Result<Text> forge(Call&, const ForgeRequest& request) {
    constexpr int kHost = 3;
    const std::string& bytes = request.bytes.data;
    if (::write(kHost, bytes.data(), bytes.size()) < 0) return fail(Code::internal, "no socket");
    return Text{"forged"};
  }

 private:
  void flood_with(const std::string& path, std::uint32_t count) {
    const Call nobody = host_.background();
    for (std::uint32_t i = 0; i < count; ++i)
      http_.get(path).send(nobody, [](const Result<HttpReply>& r) { static_cast<void>(r.has_value()); });
  }

  Host& host_;
  const HttpClient http_;
};

}  // namespace

SLIPWAY_PLUGIN(Probe, &Probe::echo, &Probe::nap, &Probe::fetch, &Probe::fetch_later, &Probe::die,
               &Probe::tell, &Probe::flood, &Probe::forge)
