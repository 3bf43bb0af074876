// SPDX-License-Identifier: Apache-2.0
// service.hpp - a simulated cloud as HTTP requests and answers, without sockets:
//   POST /v1/METHOD            a call, its request as the body; 200 with the reply, or {"error": ...}
//   GET  /objects/KEY?until=T  what objects.url/1 names
//   GET  /control/audit        the cloud's own truth (sim/cloud/audit.hpp)
//   GET  /control/requests     {"requests": [...]}, the last calls
//   POST /control/script       another script
// Control needs no token: who reaches loopback may judge. Thread rule: one thread.
#pragma once

#include "sim/cloud/cloud.hpp"
#include "support/sim_cloud/journal.hpp"

#include <memory>

namespace slipway::sim {

struct ServiceOptions {
  std::string script = "{}";
  std::uint64_t seed = 1;
  std::string token;  // that calls must bear; empty: none
  std::string state;  // file of the journal; empty: none. What is in it beats script and seed
};

struct HttpAsk {
  std::string verb;
  std::string target;
  std::string authorization;
  std::string body;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::optional<std::int64_t> retry_after_s;
  std::int64_t due_ms = 0;  // UTC; not to be sent before
  bool is_dropped = false;  // nothing is sent: the connection ends when it is due
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> open(const ServiceOptions& options, std::int64_t now_ms);

  HttpAnswer serve(const HttpAsk& ask, std::int64_t now_ms);

  // "http://127.0.0.1:8080": where objects are read.
  void set_base_url(const std::string& url) { cloud_->set_object_url(url + "/objects/"); }

 private:
  explicit Service(std::string token) : token_(std::move(token)) {}

  Status replay(const std::vector<JournalEntry>& entries);
  HttpAnswer call(const std::string& method, const HttpAsk& ask, std::int64_t now_ms);
  HttpAnswer control(const std::string& path, const HttpAsk& ask, std::int64_t now_ms);
  HttpAnswer object(const std::string& target, std::int64_t now_ms);

  const std::string token_;
  std::unique_ptr<Cloud> cloud_;
  Journal journal_;
};

}  // namespace slipway::sim
