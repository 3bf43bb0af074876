// SPDX-License-Identifier: Apache-2.0
// strand.hpp - runs tasks of one owner one after the other on an executor, so that decisions need no locks.
#pragma once

#include "base/executor.hpp"

#include <memory>

namespace slipway {

// Thread-safe. Itself an Executor: what takes an Executor can be put on a strand. After close() queued and
// later tasks and timers are dropped unrun, and a task that runs now is waited for (unless close() is called
// from it). The executor must outlive the strand. The destructor closes.
class Strand final : public Executor {
 public:
  explicit Strand(Executor& executor);
  ~Strand() override;

  void post(Task task) override;
  TimerId post_at(Deadline when, Task task) override;
  bool cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;

  // True when called from a task of this strand.
  [[nodiscard]] bool is_current() const;
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with tasks on the executor, which may outlive the strand
};

}  // namespace slipway
