// SPDX-License-Identifier: Apache-2.0
// bench_main.cpp - the main of every benchmark. Plain it is Google Benchmark with all its options; with
// --markdown it writes the section that scripts/bench records: 5 runs of each benchmark in random order, so
// that ours and its peers alternate. A benchmark is named "what/who", with who = slipway for ours. Thread
// rule: one thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Collects the runs of each benchmark and prints one row for each.
class MarkdownReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate) continue;
      failed_ = failed_ || run.error_occurred;
      if (run.error_occurred) std::cerr << run.benchmark_name() << ": " << run.error_message << "\n";
      // Arguments and options follow the two parts of the name.
      const std::string full = run.run_name.function_name;
      const std::size_t slash = full.find('/');
      Figures& figures =
          rows_[full.substr(0, slash)][slash == std::string::npos ? "" : full.substr(slash + 1)];
      figures.push_back(run.GetAdjustedRealTime());
      unit_ = benchmark::GetTimeUnitString(run.time_unit);
    }
  }

  void Finalize() override {
    std::cout << "| what | who | median, " << unit_
              << " | least to most | to slipway |\n|---|---|---|---|---|\n";
    for (auto& [what, peers] : rows_) {
      const auto ours = peers.find("slipway");
      for (auto& [who, figures] : peers) {
        std::sort(figures.begin(), figures.end());
        std::cout << "| " << what << " | " << who << " | " << rounded(median(figures)) << " | "
                  << rounded(figures.front()) << " to " << rounded(figures.back()) << " | "
                  << (ours == peers.end() ? "" : rounded(median(figures) / median(ours->second))) << " |\n";
      }
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  using Figures = std::vector<double>;

  static double median(Figures figures) {
    std::sort(figures.begin(), figures.end());
    return figures[figures.size() / 2];
  }

  static std::string rounded(double x) {
    std::string text = std::to_string(x);
    return text.substr(0, text.find('.') + (x < 100 ? 3 : 0));
  }

  std::map<std::string, std::map<std::string, Figures>> rows_;  // what, who
  std::string unit_ = "ns";
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const auto flag = std::find(arguments.begin(), arguments.end(), std::string_view("--markdown"));
  const bool is_markdown = flag != arguments.end();
  std::string repetitions = "--benchmark_repetitions=5";
  std::string interleaving = "--benchmark_enable_random_interleaving=true";
  if (is_markdown) {
    arguments.erase(flag);
    arguments.insert(arguments.end(), {repetitions.data(), interleaving.data()});
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  if (!is_markdown) return benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
  MarkdownReporter reporter;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&reporter);
  return ran == 0 || reporter.failed() ? 1 : 0;
}
