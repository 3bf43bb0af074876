/* SPDX-License-Identifier: Apache-2.0
 * bad_table.c - a table of functions that ends too early, beside a symbol that nobody asked for. */
#include <slipway/abi.h>

__attribute__((visibility("default"))) int bad_extra_symbol = 1;

static const slipway_plugin table = {24, SLIPWAY_ABI_VERSION, NULL, NULL, NULL, NULL, NULL};

__attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major,
                                                                                  uint32_t host_max_major,
                                                                                  uint32_t* want);
const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want) {
  (void)host_min_major;
  (void)host_max_major;
  *want = SLIPWAY_ABI_MAJOR;
  return &table;
}
