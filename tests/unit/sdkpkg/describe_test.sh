#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# describe_test.sh - slipway-describe on libraries that are wrong in one way each, and on a good one.
#
#   describe_test.sh SLIPWAY_DESCRIBE C_COMPILER INCLUDE_DIRECTORY
set -euo pipefail
describe=$1 cc=$2 include=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS TEXT FLAG...: what the tool says of the library that is built with the flags.
expect() {
  local status=0 output wanted=$1 text=$2
  shift 2
  rm -f "$work/plugin.json"
  "$cc" -std=c11 -shared -fPIC -fvisibility=hidden -I"$include" "$here/broken_plugin.c" -o "$work/broken.so" "$@"
  output=$("$describe" "$work/broken.so" "$work/plugin.json" 2>&1) || status=$?
  if [[ $status != "$wanted" || $output != *"$text"* ]]; then
    printf '%s: expected exit code %s and "%s", got %s and:\n%s\n' "$*" "$wanted" "$text" "$status" "$output"
    exit 1
  fi
  [[ $status == 0 || ! -e $work/plugin.json ]] || { echo "$*: a plugin.json was written" && exit 1; }
}
manifest() { echo "-DMANIFEST=\"${1//\"/\\\"}\""; }
good='{"name":"broken","version":"1.0.0","summary":"s","licence":"Apache-2.0","kinds":["network"],"methods":[],"abi_major":1}'

expect 0 'broken.so: one exported symbol; plugin.json written from info() and schema()'
grep -q '"name": "broken"' "$work/plugin.json"
expect 1 'error: broken.so: exports no slipway_plugin_entry: SLIPWAY_PLUGIN(Class, ...) is missing' -DNO_ENTRY
expect 1 'exports surplus beside slipway_plugin_entry; build it with slipway_add_plugin()' -DSURPLUS -fvisibility=default
expect 1 'has no section .note.slipway' -DNO_NOTE
expect 1 'needs libz.so.1; a plugin of profile pure needs only' -DNEEDS -Wl,--no-as-needed -lz
expect 1 'cannot be loaded: ' -DNEEDS # what it lacks is named by the loader
expect 1 'speaks ABI 9, this SDK 1' -DOTHER_ABI
expect 1 'describe did not answer before it returned' -DSAYS_NOTHING
expect 1 'name: expected "broken", as the file is called, got "other"' "$(manifest "${good/broken/other}")"
expect 1 'version: expected MAJOR.MINOR.PATCH, got "1.0"' "$(manifest "${good/1.0.0/1.0}")"
expect 1 'info(): kinds: is empty; a provider says {Kind::provider}' "$(manifest "${good/\"network\"/}")"
expect 1 'info(): licence: is empty' "$(manifest "${good/Apache-2.0/}")"
expect 1 'info(): summary: is empty' "$(manifest "${good/\"s\"/\"\"}")"
expect 1 'is required' "$(manifest '{}')"
expect 1 'not JSON' "$(manifest 'x')"
echo text >"$work/broken.so"
output=$("$describe" "$work/broken.so" "$work/plugin.json" 2>&1) && exit 1
[[ $output == *'expected a 64-bit ELF file'* ]]
