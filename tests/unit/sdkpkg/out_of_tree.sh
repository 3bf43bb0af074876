#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# out_of_tree.sh - an author's first half hour, with the installed SDK and none of our sources: the template becomes a
# project, builds, tests itself; what is built is what a host takes; its fake cloud answers. Also what
# slipway_add_plugin() says to mistakes.
#
#   out_of_tree.sh BUILD_DIRECTORY SDK_DIRECTORY
set -euo pipefail
build=$1 sdk=$2
work=$(mktemp -d)
fake=
trap '[[ -z $fake ]] || kill "$fake" 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "$1" && exit 1; }
# run COMMAND...: quiet unless it fails.
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log" && fail "failed: $*"; }; }

run cmake --install "$build" --component sdk --prefix "$work/prefix"
[[ -z $(grep -rIl "$sdk" "$work/prefix" || true) ]] || fail 'the installed SDK names our source tree'
run "$sdk/instantiate" hello "$work/hello" "$work/prefix/share/slipway/template"
cd "$work/hello"
! grep -rn '@[Nn][Aa][Mm][Ee]@' . || fail 'a mark of the template is left'
export CMAKE_PREFIX_PATH=$work/prefix
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
fi
run cmake --preset dev
run cmake --build --preset dev
grep -q '^hello.so: one exported symbol; plugin.json written from info() and schema()$' "$work/log" ||
  fail "the build does not say what it made: $(cat "$work/log")"
run ctest --preset dev
grep -q '100% tests passed, 0 tests failed out of 7' "$work/log" || fail "not 7 tests: $(cat "$work/log")"
if command -v clang-format >/dev/null; then run clang-format --dry-run --Werror src/*.cpp tests/*.cpp; fi

[[ $(nm -D --defined-only build/hello.so | awk '{print $3}') == slipway_plugin_entry ]] || fail 'hello.so exports more than its entry'
needed=$(readelf -d build/hello.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs)
for library in $needed; do
  [[ $library =~ ^(libstdc\+\+|libgcc_s|libm|libc|ld-linux-[a-z0-9-]*)\.so ]] || fail "hello.so needs $library"
done
! readelf -d build/hello.so | grep -E '\((RPATH|RUNPATH|TEXTREL)\)' || fail 'hello.so has a run path or text relocations'
readelf -d build/hello.so | grep -q BIND_NOW || fail 'hello.so is bound lazily'
readelf -lW build/hello.so | grep -q GNU_RELRO || fail 'hello.so has no relro'
! readelf -lW build/hello.so | grep GNU_STACK | grep -q E || fail 'hello.so has an executable stack'
readelf -nW build/hello.so 2>/dev/null | grep -q Slipway || fail 'hello.so has no note'
for file in plugin.json LICENSE README.md; do [[ -s build/$file ]] || fail "build/$file is missing"; done

# The fake cloud: one server for one key, found by label, gone once.
python3 tests/fake_hello.py --port 0 >"$work/address" 2>"$work/fake.log" &
fake=$!
for _ in $(seq 100); do [[ ! -s $work/address ]] || break; sleep 0.05; done
url=$(cat "$work/address")
ask() { curl -sS -m 5 -H 'Authorization: Bearer dev-token' "$@"; }
start() {
  ask -H "Idempotency-Key: $1" -d '{"name":"a","plan":"s1","image":"i","zone":"","labels":{"o":"1"}}' "$url/servers"
}
[[ $(curl -s -o /dev/null -w '%{http_code}' "$url/account") == 401 ]] || fail 'the fake takes any token'
[[ $(start k1) == *'"id": "srv-1"'* && $(start k1) == *'"id": "srv-1"'* && $(start k2) == *'"id": "srv-2"'* ]] ||
  fail 'the fake does not honour Idempotency-Key'
[[ $(ask "$url/servers?limit=1&label.o=1") == *'"id": "srv-1"'*'"next": "srv-1"'* ]] || fail 'the fake does not page'
[[ $(ask "$url/servers?label.o=2") == '{"servers": [], "next": ""}' ]] || fail 'the fake does not filter by label'
gone() { ask -o /dev/null -w '%{http_code}' -X DELETE "$url/servers/srv-1"; }
[[ $(gone) == 204 && $(gone) == 404 ]] || fail 'the fake deletes twice'

# Mistakes are told by their function. No compiler is looked for, so this is quick.
mistake() {
  mkdir -p "$work/mistake"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(p LANGUAGES NONE)' 'add_library(Slipway::sdk INTERFACE IMPORTED)' \
    "include($work/prefix/lib/cmake/Slipway/SlipwayPlugin.cmake)" "$1" >"$work/mistake/CMakeLists.txt"
  ! cmake -S "$work/mistake" -B "$work/mistake/build" >"$work/log" 2>&1 || fail "accepted: $1"
  tr -s ' \n' ' ' <"$work/log" | grep -qF "$2" || { cat "$work/log" && fail "of $1 it was not said: $2"; }
}
mistake 'slipway_add_plugin(My_Cloud SOURCES a.cpp)' "a plugin's name is [a-z][a-z0-9-]*"
mistake 'slipway_add_plugin(a)' 'expected SOURCES'
mistake 'slipway_add_plugin(a SOURCES a.cpp)' 'expected a version x.y.z, got ""'
mistake 'slipway_add_plugin_test(a SOURCES a.cpp)' 'there is no plugin of this name'
mistake 'find_package(Slipway 9.0 REQUIRED)' 'version: 0.1.0'
