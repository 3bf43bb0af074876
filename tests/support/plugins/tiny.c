/* SPDX-License-Identifier: Apache-2.0
 * tiny.c - the smallest file that passes as a plugin, for tests of install and trust, which spoil copies of
 * it. Its constructor leaves a mark: so a test sees whether anything of a refused file was run. */
#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC */
#include <slipway/abi.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((section(SLIPWAY_NOTE_SECTION), used, aligned(4))) static const slipway_note_record note = {
    SLIPWAY_NOTE_NAME_BYTES,
    sizeof(slipway_note),
    SLIPWAY_NOTE_TYPE,
    SLIPWAY_NOTE_NAME,
    {SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MINOR, 0x000100}};

__attribute__((constructor)) static void leave_mark(void) {
  const char* path = getenv("SLIPWAY_TINY_MARK");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
}

__attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(uint32_t host_min_major,
                                                                                  uint32_t host_max_major,
                                                                                  uint32_t* want) {
  (void)host_min_major;
  (void)host_max_major;
  *want = SLIPWAY_ABI_MAJOR;
  return NULL;
}

#ifdef TINY_IS_LOUD
__attribute__((visibility("default"))) int one_symbol_too_many(void) { return 0; }
#endif
