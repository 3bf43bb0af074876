#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_test - scripts/test counts every case and step, names what failed and why something was skipped, goes on after
# a failed step, and closes with one plain line and the right exit code. On a toy tree with stub steps.
set -euo pipefail
scripts=$(cd "$(dirname "$0")/../../.." && pwd)/scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

stub() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/scripts/$1" && chmod +x "$work/scripts/$1"; }

toy_tree() {
  mkdir -p "$work/scripts"
  cp "$scripts"/{lib.sh,build,test} "$work/scripts"
  stub setup 'echo all there'
  stub check 'echo clean'
  cat >"$work/CMakePresets.json" <<'EOT'
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
EOT
  cat >"$work/CMakeLists.txt" <<'EOT'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES NONE)
enable_testing()
add_test(NAME "toy.passes, with <odd> & \"quoted\" words" COMMAND sh -c "echo fine")
add_test(NAME "toy.needs root" COMMAND sh -c "echo; echo 'SKIPPED: needs <root> & a disk'; echo")
set_tests_properties("toy.needs root" PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: ")
include(${CMAKE_SOURCE_DIR}/more.cmake OPTIONAL)
EOT
}

# run WANTED_EXIT ARGUMENT...: output of scripts/test in $output.
run() {
  local wanted=$1 status=0
  shift
  output=$("$work/scripts/test" "$@" 2>&1) || status=$?
  if ((status != wanted)); then
    printf 'FAILED: wanted exit %s, got %s:\n%s\n' "$wanted" "$status" "$output"
    failed=1
  fi
}

expect() {
  if [[ $output != *"$1"* ]]; then
    printf 'FAILED: wanted "%s" in\n%s\n' "$1" "$output"
    failed=1
  fi
}

expect_last() {
  if [[ ${output##*$'\n'} != "$1" ]]; then
    printf 'FAILED: wanted the last line "%s", got:\n%s\n' "$1" "$output"
    failed=1
  fi
}

toy_tree
run 0 --quick
expect 'skipped  release: toy.needs root: needs <root> & a disk'
expect_last '5 passed, 0 failed, 1 skipped' # setup, build, checks, tidy, and one of two cases

stub check 'echo "found something"; echo "SKIPPED: no time for it"; exit 77'
run 0 --quick
expect 'skipped  clang-tidy: no time for it'
expect_last '3 passed, 0 failed, 3 skipped'

stub check 'echo "x.cpp:1: is wrong"; exit 1'
cat >"$work/more.cmake" <<'EOT'
add_test(NAME "toy.fails" COMMAND sh -c "echo wanted 1 got 2; exit 1")
add_test(NAME "toy.is not built" COMMAND toy_that_is_missing)
EOT
run 1 --quick
expect 'x.cpp:1: is wrong'
expect 'wanted 1 got 2'
expect 'FAILED   release: toy.fails'
expect 'FAILED   release: toy.is not built'
expect 'FAILED   checks (build/test/checks.log)'
expect_last '3 passed, 4 failed, 1 skipped'

echo 'message(FATAL_ERROR "no such thing")' >"$work/more.cmake"
run 1 --quick
expect 'FAILED   release build'
expect_last '1 passed, 1 failed, 0 skipped'

run 2 --quick --long
run 2 --quik
expect 'unknown argument --quik'

((failed == 0)) && echo 'scripts/test counts what ran'
exit "$failed"
