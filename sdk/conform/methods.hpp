// SPDX-License-Identifier: Apache-2.0
// methods.hpp - the methods of messages.hpp as data: what their requests hold and require, whether they
// change anything, how a reply is held against its type. Values.
#pragma once

#include "conform/bench.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::conform {

struct MethodFacts {
  std::string name;                   // "instances.start/1"
  json::object members;               // of the request, with their defaults
  std::vector<std::string> required;  // members
  bool has_effect = false;            // makes, changes or removes something
  std::function<Status(std::string_view body)> check_reply;
};

// All of messages.hpp.
[[nodiscard]] const std::vector<MethodFacts>& known_methods();
// nullptr: a method of the plugin's own.
[[nodiscard]] const MethodFacts* facts_of(std::string_view method);
// Methods of the plugin that may be called with {} and change nothing. Those of its own are among them where
// nothing outside of its process could be changed.
[[nodiscard]] std::vector<std::string> harmless_methods(const Bench& bench);

// That a call ended as a call may: a known status, a reply that is an object of its type, an error that can
// be read, and no bug.
[[nodiscard]] Status check_end(std::string_view method, std::string_view body, const CallEnd& end);

}  // namespace slipway::conform
