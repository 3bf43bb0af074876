#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plugin_author.sh - an author's first half hour and an operator's part of it, with what is installed and none of our
# sources: a project is made, built, tested, called against its fake cloud, packed, refused, trusted, installed, removed.
# Before that, what slipway_add_plugin() says to mistakes.
#
#   plugin_author.sh BUILD_DIRECTORY SOURCE_DIRECTORY
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
build=$(cd "$1" && pwd -P)
sources=$(cd "$2" && pwd -P)
prefix=$WORK/prefix

# The installation: programs and SDK, as two packages would have them.
for component in slipway sdk; do quiet cmake --install "$build" --component $component --prefix "$prefix"; done
for file in bin/slipway lib/slipway/slipway-plugin-host lib/slipway/slipway-describe; do
  [[ -x $prefix/$file ]] || fail "$file is not installed"
done
[[ -z $(grep -rIl "$sources" "$prefix" || true) ]] || fail 'what is installed names our source tree'
export PATH=$prefix/bin:$PATH CMAKE_PREFIX_PATH=$prefix
export SLIPWAY_DATA_DIR=$WORK/data SLIPWAY_TRUST_DIR=$WORK/trust.d
unset HELLO_TOKEN SLIPWAY_PLUGIN_PATH
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$WORK CCACHE_NOHASHDIR=1
fi

# Mistakes are told by the function that they were made in. No compiler is looked for, so this is quick.
# mistake CODE TEXT: a project with this line fails, and says so.
mistake() {
  mkdir -p "$WORK/mistake"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(p LANGUAGES NONE)' 'add_library(Slipway::sdk INTERFACE IMPORTED)' \
    "include($prefix/lib/cmake/Slipway/SlipwayPlugin.cmake)" "$1" >"$WORK/mistake/CMakeLists.txt"
  ends_with 1 cmake -S "$WORK/mistake" -B "$WORK/mistake/build"
  tr -s ' \n' ' ' <"$LOG" | grep -qF "$2" || fail "of $1 it was not said: $2"
}
mistake 'slipway_add_plugin(My_Cloud SOURCES a.cpp)' "a plugin's name is [a-z][a-z0-9-]*"
mistake 'slipway_add_plugin(a)' 'expected SOURCES'
mistake 'slipway_add_plugin(a SOURCES a.cpp)' 'expected a version x.y.z, got ""'
mistake 'slipway_add_plugin_test(a SOURCES a.cpp)' 'there is no plugin of this name'
mistake 'find_package(Slipway 9.0 REQUIRED)' 'version: 0.1.0'

step 'a project'
cd "$WORK"
ends_with 0 slipway plugin new hello --kind provider
says '^created hello/: .*\.github/workflows/ci\.yml.*dev\.conf, src/hello\.cpp, .*tests/fake_hello\.py, tests/hello_test\.cpp$'
[[ -x hello/tests/fake_hello.py ]] || fail 'the fake cloud cannot be run'
! grep -rn '@[Nn][Aa][Mm][Ee]@' hello || fail 'a mark of the template is left'
ends_with 1 slipway plugin new hello
says '^error: hello exists; nothing was written$'
cd hello

step 'build and test'
ends_with 0 cmake --preset dev
ends_with 0 cmake --build --preset dev
says '^hello\.so: one exported symbol; plugin\.json written from info() and schema()$'
ends_with 0 ctest --preset dev
says '^100% tests passed, 0 tests failed out of 7$'
if command -v clang-format >/dev/null; then quiet clang-format --dry-run --Werror src/*.cpp tests/*.cpp; fi
for file in plugin.json LICENSE README.md; do [[ -s build/$file ]] || fail "build/$file is missing"; done

step 'what was built is what a host takes'
[[ $(nm -D --defined-only build/hello.so | awk '{print $3}') == slipway_plugin_entry ]] || fail 'hello.so exports more than its entry'
for library in $(readelf -d build/hello.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
  [[ $library =~ ^(libstdc\+\+|libgcc_s|libm|libc|ld-linux-[a-z0-9-]*)\.so ]] || fail "hello.so needs $library"
done
! readelf -d build/hello.so | grep -E '\((RPATH|RUNPATH|TEXTREL)\)' || fail 'hello.so has a run path or text relocations'
readelf -d build/hello.so | grep -q BIND_NOW || fail 'hello.so is bound lazily'
readelf -lW build/hello.so | grep -q GNU_RELRO || fail 'hello.so has no relro'
! readelf -lW build/hello.so | grep GNU_STACK | grep -q E || fail 'hello.so has an executable stack'
readelf -nW build/hello.so 2>/dev/null | grep -q Slipway || fail 'hello.so has no note'
ends_with 0 slipway plugin abi build/hello.so
says '^  built for   plugin ABI 1\.0 by SDK 0\.1\.0; this host speaks 1$'
says '^  exports     slipway_plugin_entry $'

step 'the fake cloud'
# The port of dev.conf may be in use here, so any free one, and a token of our own.
token=s3cret-of-this-test
start_server python3 tests/fake_hello.py --port 0 --token "$token"
url=$SERVER
sed -i "s|^endpoint = .*|endpoint = $url|; s|^token = .*|token = @../token|" dev.conf
echo "$token" >../token
ask() { curl -sS -m 5 -H "Authorization: Bearer $token" "$@"; }
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

step 'calls, isolated, without a daemon'
ends_with 0 slipway plugin call build/hello.so probe --config dev.conf
says '^account\.probe/1: account "dev@hello", region "eu-1"$'
says '^RESOURCE  LIMIT  USED$'
says '^servers   20     1$'
says '^note: build/hello\.so is run at your own risk: nothing about its owner or signature was checked$'
says '^  1 request, [0-9]* ms, process [0-9]'
ends_with 0 slipway plugin call build/hello.so types --config dev.conf --trace
says '^ID  NAME  ARCH   CORES  MEM_MIB  ROOT_DISK_MIB$'
says '^s2  s2    amd64  2      4096     40960$'
says "^  GET $url/plans  authorization: Bearer \*\*\* -> 200, [0-9]* bytes, [0-9]* ms$"
! grep -qF "$token" "$LOG" || fail 'the token was shown'
ends_with 0 slipway plugin call build/hello.so types --config dev.conf --in-process -o json
says '^{"types":\['
echo wrong >../token
ends_with 1 slipway plugin call build/hello.so probe --config dev.conf
says '^error: .*the token is not valid'
says '^  code unauthenticated, scope request, outcome rejected$'
ends_with 2 slipway plugin call build/hello.so prob --config dev.conf
says '^error: METHOD: hello has no method prob'

step 'a signed package'
cd "$WORK"
ends_with 0 slipway plugin key new hello-gmbh
says '^made hello-gmbh\.key (keep it to yourself) and hello-gmbh\.pub (publish it): ed25519:'
ends_with 0 slipway plugin pack hello/build/hello.so --key hello-gmbh
package=$(cut -d: -f1 "$LOG")
[[ $package == ./hello_0.1.0_linux_*.tar.gz && -s $package ]] || fail "no package: $package"
digest=$(sha256sum "$package" | cut -d' ' -f1)
says ": LICENSE, README\.md, hello\.so, plugin\.json, plugin\.sig; sha256 $digest; signed ed25519:"

step 'an operator who does not trust yet, and then does'
ends_with 1 slipway plugin install "$package"
says '^error: hello 0\.1\.0 is signed with ed25519:[^ ]*, which is not trusted here; nothing was installed and none of its code was run$'
says '^to do: compare the key with the one its author publishes, then: slipway plugin trust add KEY\.pub --only hello$'
[[ -z $(find data -name hello.so 2>/dev/null) ]] || fail 'something was installed'
ends_with 0 slipway plugin trust add hello-gmbh.pub --only hello
says '^trusted ed25519:[^ ]* (hello-gmbh) for the plugin hello only: '
ends_with 0 slipway plugin install "$package"
says '^  ok signature | ok sha256 | ok ABI 1 (host speaks 1) | ok libraries .* | ok one exported symbol$'
says '^  may: https to the host in its setting "endpoint"\. may not: files, sockets, programs, other plugins. secrets$'
says "^installed hello 0\.1\.0 in $WORK/data/plugins/hello/0\.1\.0-[0-9a-f]* (isolation process); lock file updated$"
ends_with 0 slipway plugin list
says '^hello  *0\.1\.0  *provider  *pure  *process  *enabled'
ends_with 0 slipway plugin show hello
says '^  token  API token (text, required, secret, or HELLO_TOKEN)$'
ends_with 0 slipway plugin docs hello
says '^# hello 0\.1\.0$'
ends_with 0 slipway plugin remove hello --yes
says '^removed hello$'
ends_with 0 slipway plugin list -q
[[ ! -s $LOG && -z $(find data -name hello.so) ]] || fail 'hello is still there'
