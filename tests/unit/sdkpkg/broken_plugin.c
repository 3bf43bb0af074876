/* SPDX-License-Identifier: Apache-2.0
 * broken_plugin.c - a plugin by hand, wrong in the way that describe_test.sh defines. One thread. */
#include <slipway/abi.h>

#include <string.h>

#ifndef MANIFEST
#define MANIFEST                                                                                        \
  "{\"name\":\"broken\",\"version\":\"1.0.0\",\"summary\":\"s\",\"licence\":\"Apache-2.0\",\"kinds\":[" \
  "\"network\"],"                                                                                       \
  "\"methods\":[],\"abi_major\":1}"
#endif

static void describe(slipway_done done, void* token) {
  const slipway_bytes body = {MANIFEST, strlen(MANIFEST)};
#ifndef SAYS_NOTHING
  done(token, SLIPWAY_OK, body);
#else
  (void)done;
  (void)token;
  (void)body;
#endif
}

#ifdef SURPLUS
int surplus(void);
int surplus(void) { return 1; }
#endif

#ifdef NEEDS
int deflateInit_(void);
int needs(void) __attribute__((visibility("hidden")));
int needs(void) { return deflateInit_(); }
#endif

#ifndef NO_ENTRY
__attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(uint32_t, uint32_t,
                                                                                  uint32_t*);
const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want) {
  static const slipway_plugin table = {sizeof(slipway_plugin), SLIPWAY_ABI_VERSION, describe, 0, 0, 0, 0};
  (void)host_min_major;
  (void)host_max_major;
#ifdef OTHER_ABI
  *want = 9;
  return 0;
#endif
  *want = SLIPWAY_ABI_MAJOR;
  return &table;
}
#else
const void* const keep = (const void*)&describe;
#endif

#ifndef NO_NOTE
__attribute__((section(SLIPWAY_NOTE_SECTION), used, aligned(4))) static const slipway_note_record note = {
    SLIPWAY_NOTE_NAME_BYTES,
    sizeof(slipway_note),
    SLIPWAY_NOTE_TYPE,
    SLIPWAY_NOTE_NAME,
    {SLIPWAY_ABI_MAJOR, 0, 0}};
#endif
