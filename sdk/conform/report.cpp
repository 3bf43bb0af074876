// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "conform/conform.hpp"

#include <slipway/codec.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

namespace slipway::conform {
namespace {

std::string seconds(std::chrono::milliseconds time) {
  const auto ms = static_cast<double>(time.count());
  if (ms >= 60'000) {
    return message("{} m {} s", time.count() / 60'000, time.count() / 1000 % 60);
  }
  std::array<char, 32> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.1f s", ms / 1000);
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

std::string hex(std::uint64_t number) {
  std::array<char, 32> buffer{};
  const int size =
      std::snprintf(buffer.data(), buffer.size(), "0x%llx", static_cast<unsigned long long>(number));
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

// Names of groups in the order in which they came.
std::vector<std::string> groups_of(const Report& report) {
  std::vector<std::string> groups;
  for (const TestResult& result : report.results) {
    if (groups.empty() || groups.back() != result.group()) groups.emplace_back(result.group());
  }
  return groups;
}

// "semantics 21 ok, 1 FAILED, 4 not applicable (the plugin has no such methods: volumes)"
std::string line_of(const Report& report, std::string_view group) {
  std::uint64_t passed = 0;
  std::map<Verdict, std::uint64_t> counts;
  std::map<Verdict, std::set<std::string>> reasons;
  for (const TestResult& result : report.results) {
    if (result.group() != group) continue;
    ++counts[result.verdict];
    if (result.verdict == Verdict::passed) passed += result.count;
    if (!result.reason.empty()) reasons[result.verdict].insert(result.reason);
  }
  std::string line = std::string(group);
  const auto add = [&](std::uint64_t count, std::string_view word, const std::set<std::string>& why) {
    if (count == 0) return;
    line += message("{} {} {}", line.size() == group.size() ? "" : ",", count, word);
    if (why.empty()) return;
    const std::vector<std::string> list(why.begin(), why.end());
    line += " (" + text::join(list, "; ") + ")";
  };
  add(passed, "ok", {});
  add(counts[Verdict::failed], "FAILED", {});
  add(counts[Verdict::not_applicable], "not applicable", reasons[Verdict::not_applicable]);
  add(counts[Verdict::skipped], "skipped", reasons[Verdict::skipped]);
  return line;
}

class TextSink final : public Sink {
 public:
  explicit TextSink(std::ostream& out) : out_(out) {}

  void began(const Heading& heading) override {
    out_ << heading.plugin << ", " << (heading.in_process ? "in process" : "isolated") << ", seed "
         << hex(heading.seed) << ", " << heading.cloud << '\n'
         << std::flush;
  }
  void ended(const TestResult&) override {}
  void finished(const Report& report) override {
    // Groups in which all went well share lines.
    constexpr std::size_t kWidth = 110;
    std::string line;
    const auto flush = [&] {
      if (!line.empty()) out_ << "  " << line << '\n';
      line.clear();
    };
    for (const std::string& group : groups_of(report)) {
      const std::string text = line_of(report, group);
      if (!line.empty() && (line.size() + text.size() > kWidth || text.find(',') != std::string::npos))
        flush();
      line += (line.empty() ? "" : " | ") + text;
      if (text.find(',') != std::string::npos) flush();
    }
    flush();
    for (const TestResult& result : report.results) {
      if (result.failure) out_ << text_of(result);
    }
    out_ << report.count(Verdict::passed) << " passed, " << report.count(Verdict::failed) << " failed, "
         << report.count(Verdict::not_applicable) << " not applicable, " << report.count(Verdict::skipped)
         << " skipped in " << seconds(report.took);
    if (report.made > 0) out_ << "; " << report.made << " resources made, " << report.gone << " gone";
    if (report.requests_recorded > 0) out_ << "; " << report.requests_recorded << " requests recorded";
    out_ << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
};

class JsonSink final : public Sink {
 public:
  explicit JsonSink(std::ostream& out) : out_(out) {}

  void began(const Heading&) override {}
  void ended(const TestResult&) override {}
  void finished(const Report& report) override {
    json::array tests;
    for (const TestResult& result : report.results) {
      json::object test{{"name", result.name},
                        {"verdict", boost::describe::enum_to_string(result.verdict, "?")},
                        {"took_ms", result.took.count()}};
      if (!result.reason.empty()) test["reason"] = result.reason;
      if (result.failure) {
        test["failure"] = {{"what", result.failure->what},
                           {"why", result.failure->why},
                           {"look_at", result.failure->look_at},
                           {"to_do", result.failure->to_do},
                           {"again", result.failure->again}};
      }
      tests.push_back(std::move(test));
    }
    const json::object whole{{"plugin", report.heading.plugin},
                             {"in_process", report.heading.in_process},
                             {"seed", hex(report.heading.seed)},
                             {"cloud", report.heading.cloud},
                             {"passed", report.count(Verdict::passed)},
                             {"failed", report.count(Verdict::failed)},
                             {"not_applicable", report.count(Verdict::not_applicable)},
                             {"skipped", report.count(Verdict::skipped)},
                             {"took_ms", report.took.count()},
                             {"made", report.made},
                             {"gone", report.gone},
                             {"tests", std::move(tests)}};
    out_ << json::serialize(whole) << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
};

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // XML 1.0 has no word for other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

// The form that CI servers read: one suite, a class for each group.
class JunitSink final : public Sink {
 public:
  explicit JunitSink(std::ostream& out) : out_(out) {}

  void began(const Heading&) override {}
  void ended(const TestResult&) override {}
  void finished(const Report& report) override {
    out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" << xml(report.heading.plugin)
         << "\" tests=\"" << report.results.size() << "\" failures=\"" << report.count(Verdict::failed)
         << "\" skipped=\"" << report.count(Verdict::not_applicable) + report.count(Verdict::skipped)
         << "\" time=\"" << static_cast<double>(report.took.count()) / 1000 << "\">\n";
    for (const TestResult& result : report.results) {
      out_ << "  <testcase classname=\"" << xml(result.group()) << "\" name=\""
           << xml(std::string_view(result.name).substr(result.group().size() + 1)) << "\" time=\""
           << static_cast<double>(result.took.count()) / 1000 << "\"";
      if (result.failure) {
        out_ << "><failure message=\"" << xml(result.failure->what) << "\">" << xml(text_of(result))
             << "</failure></testcase>\n";
      } else if (result.verdict != Verdict::passed) {
        out_ << "><skipped message=\""
             << xml(message("{}: {}", result.verdict == Verdict::skipped ? "skipped" : "not applicable",
                            result.reason))
             << "\"/></testcase>\n";
      } else {
        out_ << "/>\n";
      }
    }
    out_ << "</testsuite>\n" << std::flush;
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(
      results.begin(), results.end(), [&](const TestResult& result) { return result.verdict == verdict; }));
}

// What a plugin said may stand in it, so nothing that moves a terminal's cursor gets out.
std::string text_of(const TestResult& failed) {
  std::string out = "FAILED " + failed.name + "\n";
  const auto add = [&](std::string_view title, const std::string& said) {
    if (!said.empty()) out += "  " + std::string(title) + text::escaped(said) + "\n";
  };
  if (!failed.failure) return out;
  add("", failed.failure->what);
  add("why it matters: ", failed.failure->why);
  add("look at: ", failed.failure->look_at);
  add("do: ", failed.failure->to_do);
  add("again: ", failed.failure->again);
  return out;
}

std::unique_ptr<Sink> make_sink(Format format, std::ostream& out) {
  switch (format) {
    case Format::json:
      return std::make_unique<JsonSink>(out);
    case Format::junit:
      return std::make_unique<JunitSink>(out);
    case Format::text:
      break;
  }
  return std::make_unique<TextSink>(out);
}

Report run(Suite& suite, Sink& sink) {
  const auto began = std::chrono::steady_clock::now();
  Report report;
  report.heading = suite.heading();
  sink.began(report.heading);
  for (const std::string& name : suite.names()) {
    report.results.push_back(suite.run(name));
    sink.ended(report.results.back());
  }
  report.took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  suite.account_for(report);
  sink.finished(report);
  return report;
}

Result<Report> run(const Options& options, Sink& sink) {
  SLIPWAY_TRY(const auto suite, Suite::open(options));
  if (suite->names().empty()) {
    return fail(Code::invalid, "filter: no test has a name like \"{}\"", options.filter);
  }
  return run(*suite, sink);
}

}  // namespace slipway::conform
