// SPDX-License-Identifier: Apache-2.0
// standalone.hpp - one plugin without a daemon: with settings from a file, notes in memory, and everything
// else as the daemon has it. For `slipway plugin call`: what is called here is the
// author's own file, at the author's own risk.
#pragma once

#include "plugin/client.hpp"
#include "plugin/http_service.hpp"
#include "plugin/sandbox.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace slipway::plugin {

// What an author's config file says, by the manifest's settings.
struct PluginConfig {
  json::object settings;  // snake_case; a secret one holds its own name
  std::map<std::string, std::string> secrets;
  HttpScopeSettings http;
};

// Lines "name = value", "#" starts a comment line, names in kebab-case or snake_case. A value begins with @
// to be read from a file (a secret), and is JSON for lists and maps. endpoint-http, endpoint-networks,
// endpoint-ca, endpoint-proxy are the environment's settings of those names. Settings that hold URLs are
// endpoints. Environment variables of the manifest's settings (`env`) stand in for what the text does not
// say. invalid: the line, the setting, what was expected.
[[nodiscard]] Result<PluginConfig> read_plugin_config(
    std::string_view text, const Manifest& manifest,
    const std::function<std::optional<std::string>(const std::string& name)>& variable);

// One HTTP request of the plugin, for --trace. Secrets are shown as they were written: by name.
struct HttpTrace {
  HttpCallRequest request;
  std::optional<HttpCallReply> reply;
  std::optional<Error> error;
};

struct StandaloneSpec {
  std::string library;
  Manifest manifest;
  PluginConfig config;
  bool in_process = false;
  SandboxMode sandbox = SandboxMode::best_effort;
  std::string host_program;  // slipway-plugin-host; not needed in_process
  // Both on any thread.
  std::function<void(const HttpTrace&)> trace;
  std::function<void(const LogNote&)> log;
};

// Thread-safe. Waits; so never from an executor of its own.
class Standalone {
 public:
  // The instance is open, or why not: invalid is a setting of the HTTP service, internal what the plugin did.
  [[nodiscard]] static Result<std::unique_ptr<Standalone>> open(StandaloneSpec spec);
  ~Standalone();

  [[nodiscard]] Result<std::string> call(std::string_view method, std::string body,
                                         std::chrono::nanoseconds timeout);
  template <Request R>
  [[nodiscard]] Result<typename R::Reply> call(const R& request, std::chrono::nanoseconds timeout) {
    SLIPWAY_TRY(const std::string body, call(R::method, encode(request), timeout));
    return read_reply<R>(SLIPWAY_OK, body);
  }
  // "process 4711 (user namespace, ...)".
  [[nodiscard]] std::string place() const;
  // HTTP requests so far.
  [[nodiscard]] unsigned requests() const;

 private:
  struct Impl;
  explicit Standalone(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Beside the executable, or in ../lib/slipway of it. not_found: both paths that were looked at.
[[nodiscard]] Result<std::string> find_plugin_host();

}  // namespace slipway::plugin
