// SPDX-License-Identifier: Apache-2.0
// bad_test.cpp - every sin of plugins/bad in a child: this process lives, the call ends, the reason is named,
// and an instance beside it answers meanwhile.
#include "support/channel_fixture.hpp"

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

using namespace slipway;
using namespace std::chrono_literals;

namespace {

struct BadRequest {
  static constexpr std::string_view method = "bad.sin/1";
  using Reply = json::value;
};
BOOST_DESCRIBE_STRUCT(BadRequest, (), ())

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;
#else
constexpr bool kHasSanitizer = false;
#endif

struct Sinner : ChannelFixture {
  explicit Sinner(const std::string& sin) {
    const Status opened = open(Where::isolated, SLIPWAY_BAD_PLUGIN, {{"sin", sin}});
    INFO((opened ? std::string() : opened.error().message));
    REQUIRE(opened);
  }
  bool behaves() { return call(ListRequest{}).has_value(); }
};

Error error_of(const Status& status) {
  REQUIRE_FALSE(status);
  return status.error();
}

}  // namespace

TEST_CASE("a sin that ends the process ends the calls with its reason, and nothing else", "[plugin][bad]") {
  struct Row {
    const char* sin;
    const char* words;
    bool sees_sanitizer;  // which then reports in its own way
  };
  const Row row =
      GENERATE(Row{"trap", "was killed by SIGILL", false}, Row{"abort", "was killed by SIGABRT", false},
               Row{"exit", "exited with code 0", false}, Row{"throw", "was killed by SIGABRT", false},
               Row{"stack-overflow", "was killed by SIGSEGV", true},
               Row{"close-descriptors", "the plugin process", false});
  CAPTURE(row.sin);
  ChannelFixture bystander;
  REQUIRE(bystander.open(Where::isolated, SLIPWAY_BAD_PLUGIN, {}));
  Sinner sinner(row.sin);
  CHECK(sinner.behaves());
  const auto end = sinner.call(BadRequest{});
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
  CHECK(end.error().outcome == Outcome::unknown);
  INFO(end.error().message);
  if (!row.sees_sanitizer || !kHasSanitizer) CHECK(end.error().message.find(row.words) != std::string::npos);
  static_cast<void>(sinner.ended.wait(Deadline::never()));
  CHECK(sinner.end_reason == end.error().message);
  CHECK(bystander.call(ListRequest{}));
}

TEST_CASE("an answer that is none is an error of the plugin, and the next call works", "[plugin][bad]") {
  const std::string sin =
      GENERATE(as<std::string>{}, "garbage", "garbage-utf8", "unknown-status", "huge-reply");
  CAPTURE(sin);
  Sinner sinner(sin);
  Event ended(sinner.clock);
  Code code = Code::invalid;
  sinner.channel->call({"bad.sin/1", "{}"}, [&](slipway_status status, const std::string& body) {
    const auto reply = plugin::read_reply<ListRequest>(status, body);
    if (!reply) code = reply.error().code;
    ended.set();
  });
  static_cast<void>(ended.wait(Deadline::never()));
  CHECK(code == Code::internal);
  CHECK(sinner.behaves());
}

TEST_CASE("a completion too many is counted and changes nothing", "[plugin][bad]") {
  const std::string sin = GENERATE(as<std::string>{}, "double-completion", "late-completion");
  CAPTURE(sin);
  Sinner sinner(sin);
  CHECK(sinner.call(BadRequest{}));
  for (int i = 0; i < 2000 && sinner.sins == 0; ++i) std::this_thread::sleep_for(1ms);
  CHECK(sinner.sins == 1);
  CHECK(sinner.behaves());
}

TEST_CASE("a completion of what was never asked finds nothing", "[plugin][bad]") {
  Sinner sinner("foreign-completion");
  CHECK(sinner.call(BadRequest{}));
  CHECK(sinner.behaves());
}

TEST_CASE("a broken service call is refused and counted, one for nobody is refused", "[plugin][bad]") {
  Sinner broken("bad-service-request");
  CHECK(broken.call(BadRequest{}));
  for (int i = 0; i < 2000 && broken.sins == 0; ++i) std::this_thread::sleep_for(1ms);
  CHECK(broken.sins == 1);
  Sinner orphan("orphan-service-call");
  CHECK(orphan.call(BadRequest{}));
  CHECK(orphan.behaves());
  const std::lock_guard lock(orphan.services.mutex);
  CHECK(orphan.services.deadlines.empty());  // it reached no service
}

TEST_CASE("what a plugin takes without being given it, the sandbox refuses or the process's end gives back",
          "[plugin][bad]") {
  const std::string sin =
      GENERATE(as<std::string>{}, "leak", "fork-bomb", "thread-left", "print", "kill-parent");
  CAPTURE(sin);
  Sinner sinner(sin);
  static_cast<void>(sinner.call(BadRequest{}).has_value());  // a refusal of the sandbox may also kill it
  Sinner again("");
  CHECK(again.behaves());
  CHECK(again.close());
}

TEST_CASE("a plugin that hangs is killed when it is closed, whatever it holds", "[plugin][bad]") {
  const std::string sin = GENERATE(as<std::string>{}, "hang", "no-completion");
  CAPTURE(sin);
  Sinner sinner(sin);
  const auto call = sinner.start(BadRequest{});
  std::this_thread::sleep_for(10ms);
  CHECK(sinner.behaves());
  sinner.channel->cancel(call->id);
  CHECK_FALSE(sinner.close(50ms));
  const auto end = call->wait();
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::unavailable);
}

TEST_CASE("a sin in create is no instance, with its reason", "[plugin][bad]") {
  struct Row {
    const char* sin;
    const char* words;
  };
  const Row row = GENERATE(Row{"create-trap", "was killed by SIGILL"}, Row{"create-null", "gave no instance"},
                           Row{"create-silent", "no reason was given"}, Row{"create-refuse", "sin: refused"});
  CAPTURE(row.sin);
  ChannelFixture on;
  const Error error = error_of(on.open(Where::isolated, SLIPWAY_BAD_PLUGIN, {{"sin", row.sin}}));
  CHECK(error.message.find(row.words) != std::string::npos);
}

TEST_CASE("a sin in destroy is seen when the instance is closed", "[plugin][bad]") {
  const std::string sin = GENERATE(as<std::string>{}, "destroy-trap", "destroy-hang");
  CAPTURE(sin);
  Sinner sinner(sin);
  CHECK_FALSE(sinner.close(100ms));
}

TEST_CASE("a library that no host can use is refused with what is wrong", "[plugin][bad]") {
  struct Row {
    const char* library;
    Code code;
    const char* words;
  };
  const Row row =
      GENERATE(Row{SLIPWAY_BAD_VERSION, Code::unsupported, "was built for plugin ABI 7, this host speaks 1"},
               Row{SLIPWAY_BAD_TABLE, Code::invalid, "its table of functions has 24 bytes"},
               Row{SLIPWAY_BAD_CONSTRUCTOR, Code::unavailable, "was killed by SIGABRT"});
  CAPTURE(row.library);
  ChannelFixture on;
  const Error error = error_of(on.open(Where::isolated, row.library));
  CHECK(error.code == row.code);
  CHECK(error.message.find(row.words) != std::string::npos);
}
