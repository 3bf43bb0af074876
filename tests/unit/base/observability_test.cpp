// SPDX-License-Identifier: Apache-2.0
// Log and metrics: what an operator sees of a process.
#include "base/fs.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/random.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "support/log_capture.hpp"
#include "support/temp_dir.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace slipway {
namespace {

using namespace std::string_literals;
using testing::LogCapture;
using testing::TempDir;

constexpr Logger kLog("provisioner");

// What was set up before is back when the test ends.
class LogSetUp {
 public:
  explicit LogSetUp(const LogSettings& settings) { REQUIRE(set_up_logging(settings)); }
  LogSetUp(const LogSetUp&) = delete;
  LogSetUp& operator=(const LogSetUp&) = delete;
  ~LogSetUp() { CHECK(set_up_logging({})); }
};

LogSettings file_settings(const TempDir& dir, std::uint64_t max_bytes = 1U << 20U) {
  LogSettings settings;
  settings.destination = LogDestination::file;
  settings.path = dir.path("slipwayd.log");
  settings.max_bytes = max_bytes;
  return settings;
}

std::string content_of(const std::string& path) { return fs::read_file(path, 1U << 24U).value(); }

std::string unpacked(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string content(1U << 20U, '\0');
  const int size = gzread(file, content.data(), static_cast<unsigned>(content.size()));
  CHECK(gzdirect(file) == 0);  // it was gzip
  REQUIRE(gzclose(file) == Z_OK);
  REQUIRE(size >= 0);
  content.resize(static_cast<std::size_t>(size));
  return content;
}

struct Id {
  std::string value;
};

TEST_CASE("a line has time, level, component, text and fields") {
  const LogCapture capture;
  kLog.info("machine started", {{"machine", Id{"prod:3"}}, {"ms", 12}, {"ratio", 0.5}, {"first", true}});
  const auto lines = capture.lines();
  REQUIRE(lines.size() == 1);
  std::string time = lines[0].substr(0, 24);
  for (char& c : time) c = c >= '0' && c <= '9' ? '0' : c;
  CHECK(time == "0000-00-00T00:00:00.000Z");
  CHECK(lines[0].substr(24) ==
        " info provisioner: machine started machine=prod:3 ms=12 ratio=0.5 first=true");
}

TEST_CASE("a value is quoted when its end could be mistaken") {
  const LogCapture capture;
  kLog.warn("x",
            {{"a", "two words"}, {"b", ""}, {"c", R"(say "no\yes")"}, {"d", "k=v"}, {"e", R"(back\slash)"}});
  CHECK(
      capture.contains(R"(warn provisioner: x a="two words" b="" c="say \"no\\yes\"" d="k=v" e=back\slash)"));
}

TEST_CASE("one event is one line whatever is in it") {
  const LogCapture capture;
  kLog.error("text\nwith a break",
             {{"a", "b\r\nfake line"}, {"c", "\x1b[2J"}, {"d", "\u202e"}, {"e", "\xff"}});
  const auto lines = capture.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with(
      R"(error provisioner: text\x0awith a break a="b\\x0d\\x0afake line" c=\x1b[2J d=\u{202e} e=\xff)"));
  CHECK(text::is_plain(lines[0]));
}

TEST_CASE("a secret in a field prints as three stars") {
  const LogCapture capture;
  const Secret secret(std::string("canary-5f1d"));
  kLog.error("call failed", {{"password", secret}});
  CHECK(capture.contains("password=***"));
  CHECK_FALSE(capture.contains("canary"));
}

TEST_CASE("lines below the level are not written, and the level changes at once") {
  const LogCapture capture(LogLevel::warn);
  kLog.info("no");
  kLog.warn("yes");
  set_log_level(LogLevel::debug);
  kLog.debug("now");
  const auto lines = capture.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].ends_with("warn provisioner: yes"));
  CHECK(lines[1].ends_with("debug provisioner: now"));
}

TEST_CASE("a JSON line is one object that gives every value back") {
  LogSettings settings;
  settings.is_json = true;
  const LogSetUp set_up(settings);
  const LogCapture capture;
  kLog.info("a \"quoted\"\ntext", {{"message", "tab\there"},
                                   {"bytes", "\xff"},
                                   {"most", std::numeric_limits<std::uint64_t>::max()},
                                   {"least", std::numeric_limits<std::int64_t>::min()},
                                   {"ratio", 0.25},
                                   {"none", std::numeric_limits<double>::quiet_NaN()},
                                   {"is_first", false}});
  const auto lines = capture.lines();
  REQUIRE(lines.size() == 1);
  const auto object = boost::json::parse(lines[0]).as_object();
  CHECK(object.size() == 11);
  CHECK(object.at("time").as_string().size() == 24);
  CHECK(object.at("level") == "info");
  CHECK(object.at("component") == "provisioner");
  CHECK(object.at("text") == R"(a "quoted"\x0atext)");
  CHECK(object.at("message") == R"(tab\x09here)");
  CHECK(object.at("bytes") == R"(\xff)");
  CHECK(object.at("most").as_uint64() == std::numeric_limits<std::uint64_t>::max());
  CHECK(object.at("least").as_int64() == std::numeric_limits<std::int64_t>::min());
  CHECK(object.at("ratio").as_double() == 0.25);
  CHECK(object.at("none").is_null());
  CHECK_FALSE(object.at("is_first").as_bool());
}

TEST_CASE("a line for the journal has its priority and no time") {
  LogSettings settings;
  settings.destination = LogDestination::journal;
  const LogSetUp set_up(settings);
  const LogCapture capture;
  kLog.debug("d");
  kLog.info("i");
  kLog.warn("w");
  kLog.error("e");
  CHECK(capture.lines() == std::vector{"<7>debug provisioner: d"s, "<6>info provisioner: i"s,
                                       "<4>warn provisioner: w"s, "<3>error provisioner: e"s});
}

TEST_CASE("a log file is appended to across restarts and is not for everybody") {
  const TempDir dir;
  for (const char* text : {"first", "second"}) {
    const LogSetUp set_up(file_settings(dir));
    kLog.info(text);
  }
  const std::string content = content_of(dir.path("slipwayd.log"));
  CHECK(content.find("first\n") < content.find("second\n"));
  CHECK(content.ends_with("second\n"));
  struct stat info {};
  REQUIRE(stat(dir.path("slipwayd.log").c_str(), &info) == 0);
  CHECK((info.st_mode & 0007U) == 0);
}

TEST_CASE("a full log file is rotated, old ones are compressed, and the oldest goes") {
  const TempDir dir;
  LogSettings settings = file_settings(dir, 1000);
  settings.keep = 3;
  constexpr int kLines = 200;
  {
    const LogSetUp set_up(settings);
    for (int i = 0; i < kLines; ++i) kLog.info("line", {{"number", i}, {"end", "."}});
  }  // the last compression has ended
  const std::string path = settings.path;
  const std::string all =
      unpacked(path + ".3.gz") + unpacked(path + ".2.gz") + unpacked(path + ".1.gz") + content_of(path);
  for (const char* other : {".1", ".2", ".3", ".4", ".4.gz", ".1.gz.part"}) {
    CHECK_FALSE(std::filesystem::exists(path + other));
  }
  CHECK(std::filesystem::file_size(path) <= 1000);
  CHECK(unpacked(path + ".1.gz").size() <= 1000);
  // What is kept is the newest, without a gap or a doubled line.
  const auto lines = text::split(all, '\n');
  const int kept = static_cast<int>(lines.size()) - 1;
  REQUIRE(kept > 20);
  for (int i = 0; i < kept; ++i) {
    INFO(lines[static_cast<std::size_t>(i)]);
    CHECK(lines[static_cast<std::size_t>(i)].find(" number=" + std::to_string(kLines - kept + i) + " ") !=
          std::string::npos);
  }
}

TEST_CASE("old log files stay as they are without compression, and none stays with keep 0") {
  const TempDir dir;
  LogSettings settings = file_settings(dir, 500);
  settings.has_compression = false;
  settings.keep = GENERATE(0U, 2U);
  {
    const LogSetUp set_up(settings);
    for (int i = 0; i < 50; ++i) kLog.info("line", {{"number", i}});
  }
  CHECK(std::filesystem::exists(settings.path + ".1") == (settings.keep == 2));
  CHECK(std::filesystem::exists(settings.path + ".2") == (settings.keep == 2));
  CHECK_FALSE(std::filesystem::exists(settings.path + ".3"));
  CHECK_FALSE(std::filesystem::exists(settings.path + ".1.gz"));
  CHECK(content_of(settings.path).ends_with("number=49\n"));
}

TEST_CASE("lines of many threads come whole into a log file that is rotated meanwhile") {
  const TempDir dir;
  LogSettings settings = file_settings(dir, 10'000);
  settings.keep = 50;
  settings.has_compression = false;
  {
    const LogSetUp set_up(settings);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([thread] {
        for (int i = 0; i < 250; ++i) kLog.info("line", {{"thread", thread}, {"number", i}, {"end", "."}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::size_t whole = 0;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    ++files;
    const std::string content = content_of(entry.path().string());
    for (const std::string_view line : text::split(content, '\n')) {
      if (line.empty()) continue;
      REQUIRE(line.substr(24).starts_with(" info provisioner: line thread="));
      REQUIRE(line.ends_with(" end=."));
      REQUIRE(std::count(line.begin(), line.end(), ' ') == 6);
      ++whole;
    }
  }
  CHECK(whole == 1000);
  CHECK(files > 3);
}

TEST_CASE("a log file that cannot be opened is an error, and the log stays where it was") {
  const TempDir dir;
  const LogSetUp set_up(file_settings(dir));
  LogSettings elsewhere = file_settings(dir);
  elsewhere.path = dir.path("missing/log");
  const auto status = set_up_logging(elsewhere);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == Code::not_found);
  CHECK(status.error().message == "opening log file " + elsewhere.path + ": No such file or directory");
  LogSettings endless = file_settings(dir, 0);
  CHECK(set_up_logging(endless).error().code == Code::invalid);
  kLog.info("still here");
  CHECK(content_of(dir.path("slipwayd.log")).ends_with("still here\n"));
}

TEST_CASE("a line that its file does not take goes to stderr") {
  if (access("/dev/full", W_OK) != 0) {
    WARN("SKIPPED: there is no /dev/full");
    return;
  }
  const TempDir dir;
  LogSettings full = file_settings(dir);
  full.path = "/dev/full";
  const LogSetUp set_up(full);
  // stderr of this test is a file for a moment.
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  REQUIRE(std::freopen(dir.path("stderr").c_str(), "w", stderr) != nullptr);
  kLog.error("must not be lost", {{"n", 1}});
  std::fflush(stderr);
  REQUIRE(dup2(before, STDERR_FILENO) == STDERR_FILENO);
  close(before);
  const std::string said = content_of(dir.path("stderr"));
  CHECK(said.find("No space left on device") != std::string::npos);
  CHECK(said.find("error provisioner: must not be lost n=1\n") != std::string::npos);
}

TEST_CASE("metrics are written in the Prometheus text format") {
  Metrics metrics;
  const auto calls =
      metrics.counters("slipway_plugin_calls_total", "Calls of plugins.", {"method", "code"}).value();
  calls.with({"start", "ok"}).Increment();
  calls.with({"start", "ok"}).Increment(2);
  calls.with({"list", "\"\n\\"}).Increment();
  metrics.gauges("slipway_queue_depth", "Waiting tasks.").value().with().Set(7);
  metrics.histograms("slipway_commit_seconds", "Commits.", {}, {0.01, 0.1}).value().with().Observe(0.05);
  const std::string text = metrics.text();
  for (const char* line :
       {"# HELP slipway_plugin_calls_total Calls of plugins.\n",
        "# TYPE slipway_plugin_calls_total counter\n",
        "slipway_plugin_calls_total{code=\"ok\",method=\"start\"} 3\n",
        "slipway_plugin_calls_total{code=\"\\\"\\n\\\\\",method=\"list\"} 1\n", "slipway_queue_depth 7\n",
        "slipway_commit_seconds_bucket{le=\"0.01\"} 0\n", "slipway_commit_seconds_bucket{le=\"0.1\"} 1\n",
        "slipway_commit_seconds_bucket{le=\"+Inf\"} 1\n", "slipway_commit_seconds_sum 0.05\n"}) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("a metric that is registered twice is the same one, or an error that says what differs", "[M8]") {
  Metrics metrics;
  const auto first = metrics.counters("slipway_calls_total", "Calls.", {"method"}).value();
  const auto again = metrics.counters("slipway_calls_total", "Calls.", {"method"}).value();
  CHECK(&first.with({"a"}) == &again.with({"a"}));

  REQUIRE(metrics.gauges("slipway_depth", "Depth."));
  REQUIRE(metrics.histograms("slipway_wait_seconds", "Waits."));
  const auto message_of = [](const auto& result) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Code::conflict);
    return result.error().message;
  };
  CHECK(message_of(metrics.counters("slipway_calls_total", "Other.", {"method"})) ==
        R"(duplicate metric slipway_calls_total: its help is "Calls.", asked for with "Other.")");
  CHECK(message_of(metrics.counters("slipway_calls_total", "Calls.", {"code"})) ==
        "duplicate metric slipway_calls_total: it has labels method, asked for with labels code");
  CHECK(message_of(metrics.counters("slipway_calls_total", "Calls.")) ==
        "duplicate metric slipway_calls_total: it has labels method, asked for with no labels");
  CHECK(message_of(metrics.gauges("slipway_wait_seconds", "Waits.")) ==
        "duplicate metric slipway_wait_seconds: it is a histogram, asked for as a gauge");
  CHECK(message_of(metrics.histograms("slipway_wait_seconds", "Waits.", {}, {1})) ==
        "duplicate metric slipway_wait_seconds: it has other buckets");
}

TEST_CASE("metric names, labels and buckets that break the rules are refused") {
  Metrics metrics;
  for (const char* name :
       {"calls_total", "slipway_Calls_total", "slipway_calls", "slipway__calls_total", "slipway_",
        "slipway_wait_ms_total", "", "slipway_calls-total", "slipway_calls_total_"}) {
    INFO(name);
    const auto counters = metrics.counters(name, "x");
    CHECK((!counters && counters.error().code == Code::invalid));
  }
  CHECK_FALSE(metrics.gauges("slipway_depth_total", "x"));
  CHECK_FALSE(metrics.gauges("slipway_memory_mib", "x"));
  CHECK_FALSE(metrics.histograms("slipway_wait", "x"));
  CHECK_FALSE(metrics.histograms("slipway_wait_seconds", "x", {}, {2, 1}));
  CHECK_FALSE(metrics.histograms("slipway_wait_seconds", "x", {}, {1, 1}));
  CHECK_FALSE(metrics.histograms("slipway_wait_seconds", "x", {}, {}));
  CHECK_FALSE(metrics.histograms("slipway_wait_seconds", "x", {"le"}));
  CHECK_FALSE(metrics.counters("slipway_calls_total", "x", {"Bad-Label"}));
  CHECK_FALSE(metrics.counters("slipway_calls_total", "x", {"a", "a"}));
  CHECK(metrics.text().empty());
}

TEST_CASE("a metric that is taken out is not written any more") {
  Metrics metrics;
  const auto machines = metrics.gauges("slipway_machines", "Machines.", {"environment"}).value();
  Gauge& gone = machines.with({"test"});
  machines.with({"prod"}).Set(3);
  machines.remove(gone);
  CHECK(metrics.text().find("environment=\"test\"") == std::string::npos);
  CHECK(metrics.text().find("environment=\"prod\"") != std::string::npos);
}

}  // namespace
}  // namespace slipway
