#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutants_test - scripts/mutants tells a caught mutant from one that survives, does not apply or does not compile, and
# scripts/check_example from an example whose tests fail or are missing. On a toy tree of one C function.
set -euo pipefail
scripts=$(cd "$(dirname "$0")/../../.." && pwd)/scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

toy_tree() {
  mkdir -p "$work"/{scripts,core/toy/example,tests/mutants/toy}
  cp "$scripts"/{lib.sh,scratch.sh,mutants,check_example} "$work/scripts"
  cat >"$work/CMakeLists.txt" <<'EOT'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES C)
add_executable(slipway_toy_tests core/toy/toy.c tests/toy_test.c)
EOT
  printf 'int twice(int x) {\n  return 2 * x;\n}\n' >"$work/core/toy/toy.c"
  # As Catch2 behaves: --reporter xml names each case, the spec [example] selects, no case is an error.
  cat >"$work/tests/toy_test.c" <<'EOT'
#include <stdio.h>
#include <string.h>
int twice(int x);
#ifndef EXAMPLE
#define EXAMPLE -1
#endif
int main(int argc, char** argv) {
  if (strcmp(argv[argc - 1], "[example]") == 0) return EXAMPLE != twice(21);
  printf("  <TestCase name=\"zero &amp; nothing\" tags=\"\">\n");
  if (twice(0) != 0) return 1;
  printf("  <TestCase name=\"three doubled\" tags=\"\">\n");
  fflush(stdout);
  return twice(3) != 6;
}
EOT
}

# mutant NAME LINE: a patch that puts LINE in the place of the function's body.
mutant() {
  printf '%s\n' '# a toy' '--- a/core/toy/toy.c' '+++ b/core/toy/toy.c' '@@ -1,3 +1,3 @@' ' int twice(int x) {' \
    '-  return 2 * x;' "+  $2" ' }' >"$work/tests/mutants/toy/$1.patch"
}

expect() {
  if [[ $output != *"$2"* ]]; then
    printf 'FAILED: %s: wanted "%s" in\n%s\n' "$1" "$2" "$output"
    failed=1
  fi
}

toy_tree
mutant 1_caught 'return 2 * x + 1;'
mutant 2_later 'return x * x;'
mutant 3_crash 'return x == 3 ? __builtin_trap(), 0 : 0;'
output=$("$work/scripts/mutants" toy 2>&1) || failed=1
expect 'the first case' 'caught by: zero & nothing'
expect 'a later case' 'caught by: three doubled'
expect 'all caught' $'\n3 mutants, 3 caught'

mutant 4_survivor 'return x + x;'
mutant 5_no_code 'return 2 * ;'
sed 's/-  return 2/-  return 7/' "$work/tests/mutants/toy/1_caught.patch" >"$work/tests/mutants/toy/6_stale.patch"
if output=$("$work/scripts/mutants" toy 2>&1); then
  echo 'FAILED: a survivor must fail the run'
  failed=1
fi
expect 'a survivor' 'SURVIVED'
expect 'a mutant that is no code' 'ERROR: does not compile'
expect 'a stale patch' 'ERROR: does not apply'
expect 'the count' $'\n6 mutants, 3 caught'

output=$("$work/scripts/mutants" toy --filter later 2>&1) || failed=1
expect 'a filter' $'\n1 mutants, 1 caught'

example=$work/core/toy/example/forty_two.patch
printf '%s\n' '--- a/CMakeLists.txt' '+++ b/CMakeLists.txt' '@@ -3,1 +3,2 @@' \
  ' add_executable(slipway_toy_tests core/toy/toy.c tests/toy_test.c)' '+target_compile_definitions(slipway_toy_tests PRIVATE EXAMPLE=42)' \
  >"$example"
output=$("$work/scripts/check_example" "$example" 2>&1) || failed=1
expect 'a good example' 'its tests and the suite of toy pass'
sed -i 's/42/43/' "$example"
if output=$("$work/scripts/check_example" "$example" 2>&1); then
  echo 'FAILED: an example whose tests fail must fail'
  failed=1
fi
expect 'a wrong example' 'fail, or it brings none'

((failed == 0)) && echo 'mutants and check_example tell good from bad'
exit "$failed"
