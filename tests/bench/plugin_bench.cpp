// SPDX-License-Identifier: Apache-2.0
// plugin_bench.cpp - what a call to a plugin costs: in this process and in a child, beside a bare function
// call and a bare socket pair that carries as many bytes (BENCHMARKS P9). Times are of one call that is
// waited for; the rate is of 64 at once. Each answer is compared. Five rounds in turn, median and spread.
//   slipway_plugin_bench [--markdown] [SECONDS]    SECONDS: of a bystander's calls beside each kind of sin,
//   default 1
#include "base/crash.hpp"
#include "support/channel_fixture.hpp"
#include "support/plugins/probe.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace slipway;
using Steady = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr unsigned kInFlight = 64;

double us_since(Steady::time_point start) {
  return std::chrono::duration<double, std::micro>(Steady::now() - start).count();
}

double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

struct Latency {
  std::vector<double> p50;
  std::vector<double> p99;
};

// One round: `count` calls one after the other.
void measure(Latency& into, int count, const std::function<void()>& call) {
  for (int i = 0; i < count / 10; ++i) call();
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto start = Steady::now();
    call();
    times.push_back(us_since(start));
  }
  into.p50.push_back(at(times, 0.5));
  into.p99.push_back(at(times, 0.99));
}

// A child that sends back what it gets: the limit of everything that goes over a socket.
class BareSocket {
 public:
  explicit BareSocket(std::size_t bytes) : text_(bytes, 'x'), back_(bytes, '\0') {
    int pair[2];
    SLIPWAY_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    ours_ = pair[0];
    child_ = ::fork();
    if (child_ == 0) {
      ::close(pair[0]);
      std::string buffer(bytes, '\0');
      while (receive(pair[1], buffer)) send(pair[1], buffer);
      ::_exit(0);
    }
    ::close(pair[1]);
  }
  ~BareSocket() {
    ::close(ours_);
    ::waitpid(child_, nullptr, 0);
  }
  BareSocket(const BareSocket&) = delete;
  BareSocket& operator=(const BareSocket&) = delete;

  void round_trip() {
    send(ours_, text_);
    SLIPWAY_ASSERT(receive(ours_, back_) && back_ == text_);
  }

 private:
  static bool receive(int fd, std::string& into) {
    for (std::size_t have = 0; have < into.size();) {
      const ssize_t count = ::recv(fd, into.data() + have, into.size() - have, 0);
      if (count <= 0) return false;
      have += static_cast<std::size_t>(count);
    }
    return true;
  }
  static void send(int fd, const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  std::string text_;
  std::string back_;
  int ours_ = -1;
  pid_t child_ = -1;
};

// Calls a second with 64 in flight: each answer sends the next call.
double rate(plugin::Channel& channel, const Steady::duration span) {
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> is_over{false};
  std::atomic<unsigned> open{0};
  const std::string body = R"({"text":"x"})";
  std::function<void()> next = [&] {
    ++open;
    channel.call({"test.echo/1", body}, [&](slipway_status status, const std::string& reply) {
      SLIPWAY_ASSERT(status == SLIPWAY_OK && reply == body);
      ++done;
      if (!is_over) next();
      --open;
    });
  };
  const auto start = Steady::now();
  for (unsigned i = 0; i < kInFlight; ++i) next();
  std::this_thread::sleep_for(span);
  const double seconds = us_since(start) / 1e6;
  const auto count = static_cast<double>(done.load());
  is_over = true;
  while (open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return count / seconds;
}

struct BadRequest {
  static constexpr std::string_view method = "bad.sin/1";
  using Reply = json::value;
};
BOOST_DESCRIBE_STRUCT(BadRequest, (), ())

// A bystander's calls for a while, one after the other: their p99 in us.
double bystander_p99(ChannelFixture& bystander, std::chrono::nanoseconds span) {
  std::vector<double> times;
  for (const auto start = Steady::now(); Steady::now() - start < span;) {
    const auto begin = Steady::now();
    SLIPWAY_ASSERT(bystander.call(EchoRequest{"x"}));
    times.push_back(us_since(begin));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return at(times, 0.99);
}

// The same while another instance sins, is ended, and comes again.
double bystander_p99_beside(const std::string& sin, ChannelFixture& bystander,
                            std::chrono::nanoseconds span) {
  std::atomic<bool> is_over{false};
  std::thread sinner([&] {
    while (!is_over) {
      ChannelFixture on;
      const auto opened = on.open(Where::isolated, SLIPWAY_BAD_PLUGIN, {{"sin", sin}});
      if (!opened) continue;
      const auto call = on.start(BadRequest{});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      static_cast<void>(on.close(std::chrono::milliseconds(50)));
      static_cast<void>(call->wait().has_value());
    }
  });
  const double p99 = bystander_p99(bystander, span);
  is_over = true;
  sinner.join();
  return p99;
}

void row(const std::string& what, const Latency& latency, const std::string& note) {
  std::printf("| %s | %.2f us | %.2f to %.2f | %.2f us | %s |\n", what.c_str(), at(latency.p50, 0.5),
              at(latency.p50, 0), at(latency.p50, 1), at(latency.p99, 0.5), note.c_str());
}

std::string ratio(const Latency& ours, const Latency& limit, const char* of) {
  return message("{} of {}", std::to_string(at(ours.p50, 0.5) / at(limit.p50, 0.5)).substr(0, 4), of);
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = std::max(argc > 1 ? std::atoi(argv[argc - 1]) : 0, 1);
  const std::vector<std::pair<std::string, std::size_t>> sizes{
      {"1 B", 1}, {"4 KiB", 4096}, {"1 MiB", 1U << 20U}};
  ChannelFixture in_process;
  ChannelFixture isolated;
  const auto opened_here = in_process.open(Where::in_process, SLIPWAY_PROBE_PLUGIN, {}, 4);
  const auto opened_there = isolated.open(Where::isolated, SLIPWAY_PROBE_PLUGIN, {}, 4);
  SLIPWAY_ASSERT(opened_here && opened_there);

  std::printf("| one typed call, waited for | p50 | least to most | p99 | |\n|---|---|---|---|---|\n");
  for (const auto& [name, bytes] : sizes) {
    const EchoRequest request{std::string(bytes, 'x')};
    const int count = bytes > 100'000 ? 100 : 5'000;
    Latency function;
    Latency socket;
    Latency here;
    Latency there;
    BareSocket bare(encode(request).size());
    const auto echo = [](const std::string& body) {
      const auto read = decode<EchoRequest>(body);
      return encode(Text{read->text});
    };
    const auto check = [&](const Result<Text>& reply) {
      SLIPWAY_ASSERT(reply && reply->text == request.text);
    };
    for (int round = 0; round < kRounds; ++round) {
      measure(function, count, [&] { check(decode<Text>(echo(encode(request)))); });
      measure(socket, count, [&] { bare.round_trip(); });
      measure(here, count, [&] { check(in_process.call(request)); });
      measure(there, count, [&] { check(isolated.call(request)); });
    }
    row(name + ", a function with the same codec", function, "");
    row(name + ", a bare socket pair and process", socket, "");
    row(name + ", in process", here, ratio(here, function, "the function"));
    row(name + ", isolated", there, ratio(there, socket, "the socket pair"));
  }

  std::vector<double> here;
  std::vector<double> there;
  for (int round = 0; round < kRounds; ++round) {
    here.push_back(rate(*in_process.channel, std::chrono::milliseconds(400)));
    there.push_back(rate(*isolated.channel, std::chrono::milliseconds(400)));
  }
  std::printf("\n| 64 calls in flight | calls a second | least to most |\n|---|---|---|\n");
  std::printf("| in process | %.0f | %.0f to %.0f |\n", at(here, 0.5), at(here, 0), at(here, 1));
  std::printf("| isolated | %.0f | %.0f to %.0f |\n", at(there, 0.5), at(there, 0), at(there, 1));

  std::vector<double> starts;
  for (int round = 0; round < 20; ++round) {
    ChannelFixture fresh;
    const auto start = Steady::now();
    const auto opened = fresh.open(Where::isolated, SLIPWAY_PROBE_PLUGIN);
    SLIPWAY_ASSERT(opened);
    starts.push_back(us_since(start) / 1000);
  }
  std::printf("\n| start of an isolated instance | median | least to most |\n|---|---|---|\n");
  std::printf("| to its first possible call | %.1f ms | %.1f to %.1f |\n", at(starts, 0.5), at(starts, 0),
              at(starts, 1));

  const auto span = std::chrono::seconds(seconds);
  const double alone = bystander_p99(isolated, span);
  std::printf(
      "\n| a bystander's calls beside an instance that sins, %d s each | p99 | to alone (goal 2) "
      "|\n|---|---|---|\n",
      seconds);
  std::printf("| alone | %.1f us | 1.00 |\n", alone);
  for (const char* sin :
       {"trap", "hang", "no-completion", "leak", "garbage", "huge-reply", "double-completion", "fork-bomb",
        "close-descriptors", "thread-left", "stack-overflow"}) {
    const double beside = bystander_p99_beside(sin, isolated, span);
    std::printf("| %s | %.1f us | %.2f |\n", sin, beside, beside / alone);
    std::fflush(stdout);
  }
  return 0;
}
