/* SPDX-License-Identifier: Apache-2.0
 * abi_check.c - a plugin and its note in plain C11, by abi.h alone: that this compiles is the test. */
#include <slipway/abi.h>

static void describe(slipway_done done, void* token) {
  const slipway_bytes manifest = {"{}", 2};
  done(token, SLIPWAY_OK, manifest);
}

static slipway_status create(const slipway_host* host, slipway_bytes message, slipway_done error, void* token,
                             void** instance) {
  static int made;
  (void)host, (void)message, (void)error, (void)token;
  *instance = &made;
  return SLIPWAY_OK;
}

static void call(void* instance, const slipway_request* request, slipway_done done, void* token) {
  const slipway_bytes nothing = {NULL, 0};
  (void)instance;
  done(token, request->flags == 0 ? SLIPWAY_OK : SLIPWAY_UNSUPPORTED, nothing);
}

static void cancel(void* instance, uint64_t call_id) { (void)instance, (void)call_id; }

static void destroy(void* instance) { (void)instance; }

const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want);
const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major, uint32_t host_max_major, uint32_t* want) {
  static const slipway_plugin table = {
      sizeof(slipway_plugin), SLIPWAY_ABI_VERSION, describe, create, call, cancel, destroy};
  *want = SLIPWAY_ABI_MAJOR;
  return host_min_major <= SLIPWAY_ABI_MAJOR && SLIPWAY_ABI_MAJOR <= host_max_major ? &table : NULL;
}

extern const slipway_note_record slipway_abi_check_note;
const slipway_note_record slipway_abi_check_note = {SLIPWAY_NOTE_NAME_BYTES,
                                                    sizeof(slipway_note),
                                                    SLIPWAY_NOTE_TYPE,
                                                    SLIPWAY_NOTE_NAME,
                                                    {SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MINOR, 0}};
_Static_assert(sizeof(SLIPWAY_NOTE_NAME) == SLIPWAY_NOTE_NAME_BYTES, "ELF counts the name with its NUL");
_Static_assert(SLIPWAY_MESSAGE_MAX_BYTES == 16u * 1024u * 1024u, "a message is at most 16 MiB");
