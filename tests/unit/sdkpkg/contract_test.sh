#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# contract_test.sh - slipway-contract on copies of the record. Editing the record instead of the structs looks the same
# from the other side: what the copy has more, the structs have lost; what it lacks, they have gained.
#
#   contract_test.sh SLIPWAY_CONTRACT SCHEMA_DIRECTORY
set -euo pipefail
contract=$1 schema=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect STATUS TEXT MODE: the tool's exit code on the copy, and what it says.
expect() {
  local status=0 output
  output=$("$contract" "$3" "$work/schema" 2>&1) || status=$?
  if [[ $status != "$1" || $output != *"$2"* ]]; then
    printf 'expected exit code %s and "%s", got %s and:\n%s\n' "$1" "$2" "$status" "$output"
    exit 1
  fi
}
fresh() {
  rm -rf "$work/schema"
  cp -r "$schema" "$work/schema"
}
# edit FILE SED_SCRIPT: in a fresh copy; it must change something.
edit() {
  fresh
  sed -i "$2" "$work/schema/$1"
  ! cmp -s "$schema/$1" "$work/schema/$1" || { echo "$1: nothing was edited by $2" && exit 1; }
}

fresh
expect 0 'files of the contract are as recorded' --check

edit kv.list.1.request.json '/"prefix": {/i "suffix": {"type": "string"},'
expect 1 'incompatible: kv.list.1.request.json: suffix: it is gone; compatible: keep it' --check
expect 1 '1 incompatible edits of the frozen contract' --write
edit kv.list.1.request.json 's/"default": 1000/"default": 100/'
expect 1 'limit: its default was 100 and is 1000: peers take its absence for different values; compatible: leave it' --check
edit kv.list.1.request.json 's/4294967295/255/'
expect 1 'limit: its maximum was 255 and is 4294967295' --check
edit instances.get.1.request.json '/"required"/d; s/^      },$/      }/'
expect 1 'ids: it is required now; compatible: a default that means what its absence meant' --check
edit error.json 's/"rejected"/"rejected","refused"/'
expect 1 'the enumerator refused is gone; compatible: keep it' --check
edit abi.layout 's/slipway_request.parent 16 uint64_t/slipway_request.parent 16 uint32_t/'
expect 1 'incompatible: abi.layout: slipway_request.parent: was 16 uint32_t, is 16 uint64_t; put it back' --check
edit abi.layout '/slipway_plugin.destroy/d; s/struct slipway_plugin 48/struct slipway_plugin 40/'
expect 1 'slipway_plugin.destroy: was appended without a higher SLIPWAY_ABI_MINOR; raise it' --check
fresh
cp "$work/schema/kv.list.1.request.json" "$work/schema/kv.watch.1.request.json"
expect 1 'kv.watch.1.request.json: the message is gone or renamed' --check
edit kv.list.1.request.json '1s/{/[/'
expect 1 'kv.list.1.request.json: is no JSON object' --check

# Growth: not broken, not recorded; once it is, all is well.
edit kv.list.1.request.json '/"after": {/,/},/d'
rm "$work/schema/instances.log.1.reply.json"
expect 1 'kv.list.1.request.json: only grew, which is compatible, and is not recorded; run scripts/contract --record' --check
expect 1 'instances.log.1.reply.json: only grew' --check
expect 0 'kv.list.1.request.json: recorded' --write
expect 0 'as recorded' --check
diff -r "$schema" "$work/schema"
