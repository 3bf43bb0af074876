// SPDX-License-Identifier: Apache-2.0
// recorder.hpp - a plugin's HTTP requests with their answers, kept (RecordingServices) and given again
// without a cloud (ReplayServices): decorators over HostServices, so they work over any channel. Clock and
// notes are not recorded, as the host has them in a replay too; secret.get never is. Secrets are absent by
// construction, since a plugin only holds references; what a cloud itself hands out (tokens) is left out by
// the names of headers and members, and what secret.get gave by its value.
#pragma once

#include "plugin/services.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::plugin {

// One request and what came of it: exactly one of reply and error.
struct Exchange {
  HttpCallRequest request;
  std::optional<HttpCallReply> reply;
  std::optional<Error> error;
};
BOOST_DESCRIBE_STRUCT(Exchange, (), (request, reply, error))

// The requests of one test or call, in the order in which their answers came.
struct Cassette {
  std::string name;
  std::vector<Exchange> exchanges;
};
BOOST_DESCRIBE_STRUCT(Cassette, (), (name, exchanges))

// JSON, indented, for a repository. invalid: the path and what is wrong.
[[nodiscard]] Result<Cassette> read_cassette(const std::string& path);
Status write_cassette(const std::string& path, const Cassette& cassette);

// Without credentials: values of headers, query parameters and JSON members that have the name of one, and
// every text in `secrets`, become "***".
[[nodiscard]] Exchange without_credentials(Exchange exchange, const std::vector<std::string>& secrets = {});
// "POST https://api.example/servers", without query.
[[nodiscard]] std::string shown(const HttpCallRequest& request);

// Passes everything on and keeps each HTTP exchange. Thread-safe. `inner` outlives it.
class RecordingServices final : public HostServices {
 public:
  explicit RecordingServices(HostServices& inner) : inner_(inner) {}

  void call(ServiceCall call, RawDone done) override;
  void cancel(std::uint64_t id) override { inner_.cancel(id); }
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override {
    inner_.notify(call, topic, body);
  }

  // So far; without credentials.
  [[nodiscard]] std::vector<Exchange> exchanges() const;

 private:
  // Completions may come after the decorator has gone.
  struct Kept {
    std::mutex mutex;  // guards what follows
    std::vector<Exchange> exchanges;
    std::vector<std::string> secrets;  // what secret.get gave
  };

  HostServices& inner_;
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

// Answers http.request from a cassette, everything else by `inner`. A request is found by verb, URL and body:
// first as it is, then with ids and times made equal, each recorded one once; what only reads may be asked
// again and gets its last answer. One that is not there is refused, and remembered as a problem. A request
// whose not_after_ns has passed is refused as the HTTP service would. Thread-safe. References outlive it.
class ReplayServices final : public HostServices {
 public:
  ReplayServices(Cassette cassette, HostServices& inner, const Clock& clock);

  void call(ServiceCall call, RawDone done) override;
  void cancel(std::uint64_t id) override { inner_.cancel(id); }
  void notify(std::uint64_t call, std::string_view topic, std::string_view body) override {
    inner_.notify(call, topic, body);
  }

  // Requests that were not recorded, each with the nearest one that was.
  [[nodiscard]] std::vector<std::string> problems() const;

 private:
  struct Entry {
    Exchange exchange;
    std::string exact;       // what a request is found by
    std::string normalised;  // the same, ids and times made equal
    bool is_used = false;
  };

  [[nodiscard]] const Exchange* find(const HttpCallRequest& request);
  [[nodiscard]] std::string problem_of(const HttpCallRequest& request) const;

  HostServices& inner_;
  const Clock& clock_;
  mutable std::mutex entries_mutex_;  // guards what follows
  std::vector<Entry> entries_;
  std::vector<std::string> problems_;
};

}  // namespace slipway::plugin
