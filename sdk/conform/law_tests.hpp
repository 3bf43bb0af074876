// SPDX-License-Identifier: Apache-2.0
// law_tests.hpp - tests of the law of the messages, each for every group that makes something. With a cloud:
// what is made, listed, deleted; with faults: what a failure proves. One thread.
#pragma once

#include "conform/law_groups.hpp"

namespace slipway::conform {

// A test's way to one group: an instance with a cloud, what a request must name, and the steps that all
// tests share. What was made is deleted when the trial ends.
class LawRun {
 public:
  [[nodiscard]] static Result<LawRun> begin(Trial& trial, const LawGroup& group);

  // Makes the trial's nth.
  [[nodiscard]] Result<Item> make(unsigned number);
  [[nodiscard]] Result<Item> make(const MakeRequest& request);
  // Until `is_there` says so of the trial's own; at most as long as the manifest's visibility lag, and a
  // while for the cloud's own work. The last listing.
  [[nodiscard]] Result<Page> wait_for(const std::function<bool(const Page&)>& is_there,
                                      std::chrono::milliseconds work = std::chrono::milliseconds(0));
  // Deletes; each id's own answer must be success.
  [[nodiscard]] Status destroy(const std::vector<std::string>& ids, std::string_view what);

  [[nodiscard]] Trial& trial() const { return *trial_; }
  [[nodiscard]] Bench& bench() const { return trial_->bench(); }
  [[nodiscard]] Subject& subject() const { return *subject_; }
  [[nodiscard]] const LawGroup& group() const { return *group_; }
  [[nodiscard]] const Surroundings& around() const { return around_; }

 private:
  Trial* trial_ = nullptr;
  Subject* subject_ = nullptr;
  const LawGroup* group_ = nullptr;
  Surroundings around_;
};

[[nodiscard]] const Item* find_item(const Page& page, const std::string& id);
// "POST https://api/servers": the requests marked once that the instance made; for "look at".
[[nodiscard]] std::string once_requests(const Subject& subject);

void add_law_tests(const LawGroup& group, Tests& tests);
void add_failure_tests(const LawGroup& group, Tests& tests);
void add_instance_tests(const Bench& bench, Tests& tests);

}  // namespace slipway::conform
