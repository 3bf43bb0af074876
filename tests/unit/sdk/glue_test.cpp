// SPDX-License-Identifier: Apache-2.0
// glue_test.cpp - methods of both styles through the real entry table: exactly one completion whatever the
// plugin does, cancellation, exceptions, the end of an instance.
#include "unit/sdk/script.hpp"

#include <slipway/provider.hpp>
#include <slipway/testing.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace slipway;
using testing::CallOptions;
using testing::FakeHost;

// Each method misbehaves or works in its own way.
class Styles {
 public:
  struct Config {
    bool fails = false;
    bool throws = false;
  };

  static PluginInfo info() {
    PluginInfo info;
    info.name = "styles";
    info.version = "1.2.3";
    info.kinds = {Kind::network};
    return info;
  }
  static Schema<Config> schema() {
    return {field("fails", &Config::fails), field("throws", &Config::throws)};
  }
  static Result<std::unique_ptr<Styles>> create(Host& host, const Config& config) {
    if (config.throws) throw std::runtime_error("thrown by create");
    if (config.fails) return fail(Code::denied, "refused by create");
    return std::unique_ptr<Styles>(new Styles(host));
  }
  ~Styles() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Two requests, one after the other, without a thread of its own.
  void zones(Call call, ZonesRequest, Completion<ZonesReply> done) {
    http_.get("a").send(call, [this, call, done = std::move(done)](Result<HttpReply> a) mutable {
      if (!a) return done(a.error());
      http_.get("b").send(call, [name = a->body, done = std::move(done)](Result<HttpReply> b) mutable {
        if (!b) return done(b.error());
        ZonesReply reply;
        reply.zones.push_back({name + b->body, true, {}});
        done(std::move(reply));
      });
    });
  }
  void types(Call, TypesRequest, Completion<TypesReply> done) {
    threads_.emplace_back([done = std::move(done)]() mutable { done(TypesReply{}); });
  }
  void images(Call, ImagesRequest, Completion<ImagesReply> done) {
    Completion<ImagesReply> moved = std::move(done);
    // NOLINTNEXTLINE(bugprone-use-after-move): that it is harmless is what is tested
    done(fail(Code::denied, "a moved-from completion has no duty"));
  }
  void image(Call, ImageRequest, Completion<ImageReply> done) {
    done(ImageReply{"first", {}, {}, {}, {}});
    done(ImageReply{"second", {}, {}, {}, {}});
  }
  void subnets(Call, SubnetsRequest, Completion<SubnetsReply>) {
    throw std::runtime_error("thrown by subnets");
  }
  Result<QuotaReply> quota(Call&, const QuotaRequest&) const { throw 7; }
  // Ends when it is cancelled, and not otherwise.
  void probe(Call call, ProbeRequest, Completion<ProbeReply> done) noexcept {
    const auto shared = std::make_shared<Completion<ProbeReply>>(std::move(done));
    call.on_cancel([shared] { (*shared)(fail(Code::cancelled, "given up as asked")); });
  }
  Result<ObjectUrlReply> url(Call& call, const ObjectUrlRequest& request) {
    SLIPWAY_TRY(const HttpReply reply, http_.get("slow").send(call));
    return ObjectUrlReply{reply.body + request.key};
  }

 private:
  explicit Styles(const Host& host) : http_(host.http({.base_url = "https://x.example"})) {}

  const HttpClient http_;
  std::vector<std::thread> threads_;
};

struct Ended {
  int times = 0;
  slipway_status status = SLIPWAY_OK;
  std::string body;
  static void done(void* token, slipway_status status, slipway_bytes body) {
    auto& self = *static_cast<Ended*>(token);
    ++self.times;
    self.status = status;
    self.body = detail::as_text(body);
  }
};

const auto kPlainEntry = &detail::Glue<Styles, &Styles::types, &Styles::image, &Styles::quota>::entry;

}  // namespace

SLIPWAY_PLUGIN(testing::Script, &testing::Script::run)

TEST_CASE("an asynchronous method asks twice and answers once", "[sdk]") {
  FakeHost host;
  using Entry = detail::Glue<Styles, &Styles::zones>;
  testing::Plugin plugin(host, json::object(), &Entry::entry);
  host.expect("GET", "/a").reply_text(200, "eu-");
  host.expect("GET", "/b").reply_text(200, "1");
  const auto reply = plugin.call(ZonesRequest{});
  CHECK(host.problems().empty());
  REQUIRE(reply);
  REQUIRE(reply->zones.size() == 1);
  CHECK(reply->zones[0].name == "eu-1");

  SECTION("also when the answers come later") {
    host.expect("GET", "/a").hold();
    host.expect("GET", "/b").reply_text(200, "later");
    auto running = plugin.begin(ZonesRequest{});
    CHECK_FALSE(running.is_done());
    host.release();
    const auto later = running.result();
    REQUIRE(later);
    CHECK(later->zones[0].name == "later");
  }
  SECTION("a cancel ends what it waits for") {
    host.expect("GET", "/a").hold();
    auto running = plugin.begin(ZonesRequest{});
    running.cancel();
    REQUIRE(running.is_done());
    CHECK(running.result().error().code == Code::cancelled);
  }
  SECTION("the end of the instance ends what it waits for") {
    host.expect("GET", "/a").hold();
    const auto running = plugin.begin(ZonesRequest{});
    CHECK_FALSE(running.is_done());
  }
  CHECK(host.problems().empty());
}

TEST_CASE("a completion may come from any thread, and exactly once", "[sdk]") {
  FakeHost host;
  testing::Plugin plugin(host, json::object(), kPlainEntry);
  REQUIRE(plugin.call(TypesRequest{}));
  const auto image = plugin.call(ImageRequest{});
  REQUIRE(image);
  CHECK(image->image_id == "first");
  REQUIRE(host.logs().size() == 1);
  CHECK(host.logs()[0].text == "a call was completed twice");
  CHECK(host.logs()[0].fields.at("method") == "images.resolve/1");
  CHECK(host.problems().empty());
}

TEST_CASE("what a plugin forgets or throws becomes internal with the method's name", "[sdk]") {
  FakeHost host;
  using Entry = detail::Glue<Styles, &Styles::images, &Styles::subnets, &Styles::quota>;
  testing::Plugin plugin(host, json::object(), &Entry::entry);
  const auto dropped = plugin.call(ImagesRequest{});
  REQUIRE_FALSE(dropped);
  CHECK(dropped.error().code == Code::internal);
  CHECK(dropped.error().message == "method images.list/1 dropped its completion");
  CHECK(dropped.error().outcome == Outcome::unknown);
  const auto thrown = plugin.call(SubnetsRequest{});
  CHECK(thrown.error().code == Code::internal);
  CHECK(thrown.error().message == "method subnets.list/1 threw an exception: thrown by subnets");
  CHECK(plugin.call(QuotaRequest{}).error().message ==
        "method account.quota/1 threw something that is no std::exception");
}

TEST_CASE("cancel reaches a method, before it begins, in it, and while it waits", "[sdk]") {
  FakeHost host;
  SECTION("an asynchronous one, by on_cancel") {
    testing::Plugin plugin(host, json::object(), &detail::Glue<Styles, &Styles::probe>::entry);
    auto running = plugin.begin(ProbeRequest{});
    CHECK_FALSE(running.is_done());
    running.cancel();
    CHECK(running.result().error().message == "given up as asked");
    const auto late = plugin.call(ProbeRequest{}, {.cancel_after = 0ms});
    CHECK(late.error().code == Code::cancelled);
  }
  SECTION("a blocking one, by cancelled() and by what it waits for") {
    testing::in_method(host,
                       [&](Call& call, Host&) {
                         int cancels = 0;
                         CHECK_FALSE(call.cancelled());
                         call.on_cancel([&] { ++cancels; });
                         const Status slept = call.sleep(10s);
                         CHECK(slept.error().code == Code::cancelled);
                         CHECK(call.cancelled());
                         CHECK(cancels == 1);
                         call.on_cancel([&] { ++cancels; });  // it has happened already
                         CHECK(cancels == 2);
                       },
                       {.cancel_after = 3s});
    CHECK(host.now_ns() == 3'603'000'000'000);
  }
  CHECK(host.problems().empty());
}

TEST_CASE("deadlines are the host's and on its clock", "[sdk]") {
  FakeHost host;
  testing::in_method(host,
                     [&](Call& call, Host&) {
                       CHECK(call.remaining().value() == 5s);
                       REQUIRE(call.sleep(2s));
                       CHECK(call.remaining().value() == 3s);
                       const Status slept = call.sleep(4s);
                       CHECK(slept.error().code == Code::deadline);
                       CHECK(call.remaining().value() == 0s);
                       CHECK(call.cancelled());
                     },
                     {.deadline = 5s});
  testing::in_method(host, [](Call& call, Host&) {
    CHECK(call.deadline_ns() == 0);
    CHECK(call.remaining().value() == std::chrono::milliseconds::max());
  });
}

TEST_CASE("every service is asked on behalf of the call", "[sdk]") {
  struct Seen {
    std::vector<slipway_request> requests;
    std::vector<std::string> methods;
  } seen;
  const slipway_host host{sizeof(slipway_host),
                          SLIPWAY_ABI_VERSION,
                          &seen,
                          [](void* self, const slipway_request* request, slipway_done done, void* token) {
                            auto& all = *static_cast<Seen*>(self);
                            all.requests.push_back(*request);
                            all.methods.emplace_back(detail::as_text(request->method));
                            done(token, SLIPWAY_OK, detail::as_bytes("{}"));
                            done(token, SLIPWAY_OK, detail::as_bytes("{}"));  // a host's bug finds nothing
                          },
                          [](void*, std::uint64_t, slipway_bytes, slipway_bytes) {},
                          [](void*, std::uint64_t) { return 0; }};
  std::uint32_t want = 0;
  const slipway_plugin* table = slipway_plugin_entry(1, 1, &want);
  REQUIRE(table != nullptr);
  void* instance = nullptr;
  Ended ended;
  REQUIRE(table->create(&host, detail::as_bytes(R"({"settings":{}})"), &Ended::done, &ended, &instance) ==
          SLIPWAY_OK);
  testing::Script::body = [](Call& call, Host& services) {
    CHECK(call.sleep(1ms));
    CHECK(services.kv().put(call, "k", "v"));
    CHECK(services.call(call, ClockNowRequest{}));
    CHECK(services.kv().get(services.background(), "k"));
  };
  const std::string body = R"({"nonce":"n","name":"x","parameters":{"size_mib":1}})";
  slipway_request request{};
  request.size = sizeof request;
  request.id = 42;
  request.deadline_ns = 77;
  request.method = detail::as_bytes("volumes.create/1");
  request.body = detail::as_bytes(body);
  table->call(instance, &request, &Ended::done, &ended);
  CHECK(ended.times == 1);
  CHECK(ended.status == SLIPWAY_OK);
  CHECK(seen.methods == std::vector<std::string>{"clock.sleep/1", "kv.put/1", "clock.now/1", "kv.get/1"});
  REQUIRE(seen.requests.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(seen.requests[i].size == sizeof(slipway_request));
    CHECK(seen.requests[i].parent == (i == 3 ? 0 : 42));
    CHECK(seen.requests[i].deadline_ns == (i == 3 ? 0 : 77));
    CHECK(seen.requests[i].id != 0);
  }

  ended = {};
  request.flags = 1;
  table->call(instance, &request, &Ended::done, &ended);
  CHECK(ended.status == SLIPWAY_UNSUPPORTED);
  request.flags = 0;
  request.method = detail::as_bytes("volumes.create/2");
  table->call(instance, &request, &Ended::done, &ended);
  CHECK(ended.status == SLIPWAY_UNSUPPORTED);
  CHECK(ended.body.find("no method volumes.create/2") != std::string::npos);
  request.method = detail::as_bytes("volumes.create/1");
  request.body = detail::as_bytes(R"({"nonce":"n","name":"x","parameters":{"size_mib":true}})");
  table->call(instance, &request, &Ended::done, &ended);
  CHECK(ended.times == 3);
  CHECK(ended.status == SLIPWAY_INVALID);
  const Error error = decode_error(ended.status, ended.body);
  CHECK(error.message ==
        "volumes.create/1: parameters.size_mib: expected an unsigned integer, got a boolean");
  CHECK(error.outcome == Outcome::rejected);
  table->cancel(instance, 42);  // not open any more
  table->destroy(instance);
}

TEST_CASE("an entry speaks its own major only", "[sdk]") {
  std::uint32_t want = 0;
  CHECK(slipway_plugin_entry(2, 3, &want) == nullptr);
  CHECK(want == SLIPWAY_ABI_MAJOR);
  const slipway_plugin* table = slipway_plugin_entry(1, 9, &want);
  REQUIRE(table != nullptr);
  CHECK(table->size == sizeof(slipway_plugin));
  CHECK(table->abi == SLIPWAY_ABI_VERSION);
  CHECK(slipway_plugin_entry(1, 1, &want) == table);
}

TEST_CASE("an instance that cannot be made says why, once", "[sdk]") {
  FakeHost host;
  CHECK(testing::Plugin(host, {{"fails", true}}, kPlainEntry).error()->message == "refused by create");
  const testing::Plugin thrown(host, {{"throws", "true"}}, kPlainEntry);
  REQUIRE(thrown.error());
  CHECK(thrown.error()->code == Code::internal);
  CHECK(thrown.error()->message == "create threw an exception: thrown by create");
  testing::Plugin mistyped(host, {{"fial", true}}, kPlainEntry);
  REQUIRE(mistyped.error());
  CHECK(mistyped.error()->code == Code::invalid);
  CHECK(mistyped.error()->message == "fial: unknown setting");
  CHECK(mistyped.call(QuotaRequest{}).error().message == "fial: unknown setting");
  CHECK(testing::Plugin(host, 7, kPlainEntry).error()->message ==
        "settings: expected an object, got an integer");
}

TEST_CASE("an instance whose constructor fails leaves no request behind", "[sdk]") {
  struct Impatient {
    struct Config {};
    static PluginInfo info() { return {}; }
    static Schema<Config> schema() { return {}; }
    Impatient(const Host& host, const Config&) {
      host.http({.base_url = "https://x"}).get("early").send(host.background(), [](Result<HttpReply> reply) {
        if (!reply) end() = reply.error().message;
      });
      throw std::runtime_error("too early");
    }
    static std::string& end() {
      static std::string text;
      return text;
    }
  };
  FakeHost host;
  host.expect("GET", "/early").hold();
  const testing::Plugin plugin(host, json::object(), &detail::Glue<Impatient>::entry);
  REQUIRE(plugin.error());
  CHECK(plugin.error()->message == "create threw an exception: too early");
  CHECK(Impatient::end() == "the plugin's instance ends");
  host.release();  // comes late and finds nothing
  CHECK(Impatient::end() == "the plugin's instance ends");
}

TEST_CASE("a callback that would wait for its own thread is told so", "[sdk]") {
  FakeHost host;
  testing::in_method(host, [](Call& call, Host& services) {
    bool was_called = false;
    services.call(call, ClockNowRequest{}, [&](Result<ClockNowReply> now) {
      was_called = now.has_value();
      const Status slept = call.sleep(1ms);
      CHECK(slept.error().code == Code::internal);
      CHECK(slept.error().message.find("clock.sleep/1: would block inside a callback") == 0);
      throw std::runtime_error("and an exception in it is logged");
    });
    CHECK(was_called);
    CHECK(call.sleep(1ms));
  });
  REQUIRE(host.logs().size() == 1);
  CHECK(host.logs()[0].fields.at("error") == "and an exception in it is logged");
}

TEST_CASE("many calls from many threads end once each while instances come and go", "[sdk]") {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  FakeHost host;
  host.expect("GET", "/slow").reply_text(200, "x").times(kThreads * kCalls);
  const auto entry = &detail::Glue<Styles, &Styles::url, &Styles::probe, &Styles::types>::entry;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      testing::Plugin plugin(host, json::object(), entry);
      for (int i = 0; i < kCalls; ++i) {
        ObjectUrlRequest request;
        request.key = "y";
        const auto reply = plugin.call(request);
        if (reply && reply->url == "xy") ++good;
        auto running = plugin.begin(ProbeRequest{});
        running.cancel();
        if (!running.is_done()) --good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == kThreads * kCalls);
  CHECK(host.problems().empty());
}

TEST_CASE("facts, notes, secrets and keys come from the host", "[sdk]") {
  FakeHost host;
  host.set_secret("key", "s3cret");
  host.put("seen/1", "one");
  host.put("seen/2", "two");
  testing::in_method(host, [&](Call& call, Host& services) {
    CHECK(services.environment().name == "test");
    CHECK(services.controller().size() == 36);
    CHECK(services.state_dir().empty());
    CHECK(services.secret(call, {"key"}).value() == "s3cret");
    CHECK(services.secret(call, {"other"}).error().code == Code::not_found);

    const auto one = services.kv().get(call, "seen/1").value();
    REQUIRE(one);
    CHECK(one->value.data == "one");
    CHECK_FALSE(services.kv().get(call, "seen/3").value().has_value());
    const std::int64_t revision = services.kv().put(call, "seen/3", std::string("\0\xff", 2), 0).value();
    CHECK(services.kv().put(call, "seen/3", "again", 0).error().code == Code::conflict);
    CHECK(services.kv().put(call, "seen/3", "again", revision).value() > revision);
    CHECK(services.kv().remove(call, "seen/1"));
    CHECK(services.kv().remove(call, "seen/1"));
    const auto keys = services.kv().list(call, "seen/").value();
    REQUIRE(keys.size() == 2);
    CHECK(keys[1].key == "seen/3");
    CHECK(host.get("seen/3") == "again");

    call.progress("copying", 40);
    call.log(LogSeverity::warn, "slow cloud", {{"ms", "900"}});
    services.count("retries");
    services.count("retries", 2);
  });
  REQUIRE(host.progress().size() == 1);
  CHECK(host.progress()[0].percent == 40);
  REQUIRE(host.logs().size() == 1);
  CHECK(host.logs()[0].level == LogSeverity::warn);
  CHECK(host.counters().at("retries") == 3);
  CHECK(host.problems().empty());
}

TEST_CASE("each() gives every id its own end and begins nothing after a cancel", "[sdk]") {
  FakeHost host;
  testing::in_method(host, [&](Call& call, Host&) {
    int begun = 0;
    const auto work = [&](const std::string& id) -> Result<Unit> {
      ++begun;
      if (id == "b") return fail(Code::denied, "not yours");
      if (id == "c") host.cancel_call(call.id());
      return Unit{};
    };
    const auto reply = each<StopReply>(call, {"a", "", "b", "c", "d"}, work);
    REQUIRE(reply.results.size() == 5);
    CHECK(begun == 3);
    CHECK_FALSE(reply.results[0].error);
    CHECK(reply.results[1].error->message == "ids[1]: is empty");
    CHECK(reply.results[2].error->message == "not yours");
    CHECK_FALSE(reply.results[3].error);
    CHECK(reply.results[4].id == "d");
    CHECK(reply.results[4].error->code == Code::cancelled);
    CHECK(reply.results[4].error->outcome == Outcome::rejected);
  });
}
