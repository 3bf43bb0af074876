// SPDX-License-Identifier: Apache-2.0
// trial.hpp - one test and what it is given: the run's bench, fresh instances, nonces and markers of its own,
// and a place for what must be cleaned up whatever its end. One thread.
#pragma once

#include "conform/bench.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace slipway::conform {

class Trial {
 public:
  Trial(Bench& bench, std::string name);
  // Cleans up, and closes the instances.
  ~Trial();

  [[nodiscard]] Bench& bench() const { return bench_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Random& random() { return random_; }

  // An instance whose requests nobody answers, but for what faults say. Lives as long as the trial.
  [[nodiscard]] Result<Subject*> subject(std::vector<plugin::Fault> faults = {}, unsigned threads = 0);
  // The one whose requests the run's cloud answers; once a trial. Skips where there is none.
  [[nodiscard]] Result<Subject*> cloud_subject();
  // That one, or where there is no cloud one without.
  [[nodiscard]] Result<Subject*> any_subject(std::vector<plugin::Fault> faults);

  // The same in a replay as in the run that was recorded.
  [[nodiscard]] std::string nonce(unsigned number) const;
  [[nodiscard]] std::string owner() const { return owner_; }

  void at_end(std::function<void()> clean_up) { clean_ups_.push_back(std::move(clean_up)); }
  // A resource of this group was made; whoever cleans up says how many of them are gone.
  void count_made(const std::string& group) { ++made_[group]; }
  [[nodiscard]] std::uint64_t made(const std::string& group) const {
    const auto found = made_.find(group);
    return found == made_.end() ? 0 : found->second;
  }
  void count_bodies(std::uint64_t count) { bodies_ = count; }
  [[nodiscard]] std::uint64_t bodies() const { return bodies_; }

  // Cleans up, then says what the instances did that they must not.
  [[nodiscard]] Status finish();
  // What the cloud's instance asked; empty without a real cloud.
  [[nodiscard]] std::vector<plugin::Exchange> recording() const;

 private:
  Bench& bench_;
  const std::string name_;
  SeededRandom random_;
  std::string owner_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  Subject* cloud_subject_ = nullptr;
  std::vector<std::function<void()>> clean_ups_;
  std::map<std::string, std::uint64_t> made_;
  std::uint64_t bodies_ = 1;
};

struct Test {
  std::string name;
  std::function<Status(Trial&)> body;
};
using Tests = std::vector<Test>;

// Each adds the tests of its group, as far as the plugin's manifest has the methods.
void add_binary_tests(const Bench& bench, Tests& tests);
void add_manifest_tests(const Bench& bench, Tests& tests);
void add_message_tests(const Bench& bench, Tests& tests);
void add_lifecycle_tests(const Bench& bench, Tests& tests);
void add_concurrency_tests(const Bench& bench, Tests& tests);
void add_deadline_tests(const Bench& bench, Tests& tests);
void add_semantics_tests(const Bench& bench, Tests& tests);
void add_fuzz_tests(const Bench& bench, Tests& tests);

}  // namespace slipway::conform
