/* SPDX-License-Identifier: Apache-2.0
 * bad_constructor.c - kills its process as soon as it is loaded. */
#include <slipway/abi.h>

#include <stdlib.h>

__attribute__((constructor)) static void at_load(void) { abort(); }
