/* SPDX-License-Identifier: Apache-2.0
 * abi_check.c - abi.h as a C11 program sees it: that this compiles is the test. */
#include <slipway/abi.h>

const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want);
const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want) {
  static const slipway_plugin table = {
      sizeof(slipway_plugin), SLIPWAY_ABI_VERSION, NULL, NULL, NULL, NULL, NULL};
  *want = SLIPWAY_ABI_MAJOR;
  return host_min_major <= SLIPWAY_ABI_MAJOR && SLIPWAY_ABI_MAJOR <= host_max_major ? &table : NULL;
}
