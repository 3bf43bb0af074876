/* SPDX-License-Identifier: Apache-2.0
 * bad_version.c - says in its note that this host's ABI is its own, and refuses every host when it is loaded.
 */
#include <slipway/abi.h>

__attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major,
                                                                                  uint32_t host_max_major,
                                                                                  uint32_t* want);
const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want) {
  (void)host_min_major;
  (void)host_max_major;
  *want = 7;
  return NULL;
}
