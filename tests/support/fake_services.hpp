// SPDX-License-Identifier: Apache-2.0
// fake_services.hpp - host services for tests of channels: a request over HTTP is answered by another thread,
// with its path; one to "hang" only when it is given up; to "huge" with more than a message may hold.
// Thread-safe.
#pragma once

#include "base/executor.hpp"
#include "plugin/services.hpp"

#include <slipway/codec.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace slipway {

class FakeServices final : public plugin::HostServices {
 public:
  explicit FakeServices(Executor& executor) : executor_(executor) {}

  void call(plugin::ServiceCall call, plugin::RawDone done) override {
    {
      const std::lock_guard lock(mutex);
      deadlines.push_back(call.deadline);
    }
    const auto request = decode<HttpCallRequest>(call.body);
    if (call.method != HttpCallRequest::method || !request) {
      const Error error = fail(Code::unsupported, "only http.request/1 here");
      return done(SLIPWAY_UNSUPPORTED, encode_error(error));
    }
    if (request->url.ends_with("hang")) {
      const std::lock_guard lock(mutex);
      hanging_.emplace(call.id, std::move(done));
      ++hanging;
      return;
    }
    executor_.post([done = std::move(done), url = request->url] {
      HttpCallReply reply;
      reply.status = 200;
      reply.body = url.ends_with("huge") ? std::string(SLIPWAY_MESSAGE_MAX_BYTES + 1, 'x') : url;
      done(SLIPWAY_OK, encode(reply));
    });
  }

  void cancel(std::uint64_t id) override {
    plugin::RawDone done;
    {
      const std::lock_guard lock(mutex);
      const auto found = hanging_.find(id);
      if (found == hanging_.end()) return;
      done = std::move(found->second);
      hanging_.erase(found);
      --hanging;
    }
    done(SLIPWAY_CANCELLED, encode_error(fail(Code::cancelled, "the request was given up")));
  }

  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override {
    const std::lock_guard lock(mutex);
    notes.push_back({call, std::string(topic) + " " + std::string(body)});
  }

  struct Note {
    std::uint64_t call;
    std::string text;
  };

  std::mutex mutex;  // guards what follows, but for `hanging`
  std::vector<Note> notes;
  std::vector<Deadline> deadlines;
  std::atomic<std::size_t> hanging{0};

 private:
  Executor& executor_;
  std::map<std::uint64_t, plugin::RawDone> hanging_;
};

}  // namespace slipway
