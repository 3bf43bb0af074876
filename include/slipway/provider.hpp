// SPDX-License-Identifier: Apache-2.0
// provider.hpp - all that a plugin includes: write a class, list its methods in SLIPWAY_PLUGIN. Thread rule:
// the host calls methods concurrently, up to max_concurrency of info(); the class keeps itself in order.
//
//   class Nimbus {
//    public:
//     struct Config {...};                              what an operator sets, with its defaults
//     static PluginInfo info();                         static facts; they become plugin.json
//     static Schema<Config> schema();                   the list of the settings
//     Nimbus(Host&, Config);                            no network; may throw. Or, where it can fail:
//     static Result<std::unique_ptr<Nimbus>> create(Host&, Config);
//     Result<StopReply> stop(Call&, const StopRequest&);               blocks as long as it takes, or
//     void list(Call, ListRequest, Completion<ListReply>);             answers later, from any thread
//   };
//   SLIPWAY_PLUGIN(Nimbus, &Nimbus::stop, &Nimbus::list, ...)          at global scope, once in a plugin
//
// The request's type names the method. When the instance ends, services that are still open answer
// `cancelled`, then the destructor runs.
#pragma once

#include <slipway/abi.h>
#include <slipway/base64.hpp>
#include <slipway/call.hpp>
#include <slipway/codec.hpp>
#include <slipway/detail/glue.hpp>
#include <slipway/host.hpp>
#include <slipway/http.hpp>
#include <slipway/messages.hpp>
#include <slipway/result.hpp>
#include <slipway/settings.hpp>
#include <slipway/version.hpp>

// The one symbol that a plugin exports, and its ELF note.
#define SLIPWAY_PLUGIN(Class, ...)                                                                          \
  extern "C" __attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(             \
      uint32_t host_min_major, uint32_t host_max_major, uint32_t* want);                                    \
  extern "C" const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major,   \
                                                        uint32_t* want) {                                   \
    return ::slipway::detail::Glue<Class __VA_OPT__(, ) __VA_ARGS__>::entry(host_min_major, host_max_major, \
                                                                            want);                          \
  }                                                                                                         \
  __attribute__((section(SLIPWAY_NOTE_SECTION), used,                                                       \
                 aligned(4))) static const slipway_note_record slipway_plugin_note = {                      \
      SLIPWAY_NOTE_NAME_BYTES,                                                                              \
      sizeof(slipway_note),                                                                                 \
      SLIPWAY_NOTE_TYPE,                                                                                    \
      SLIPWAY_NOTE_NAME,                                                                                    \
      {SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MINOR, SLIPWAY_SDK_VERSION_NUMBER}};
