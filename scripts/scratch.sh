# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# scratch.sh - a copy of the tree with a quick build of its own, on which patches are tried: what mutants and
# check_example share. Sourced after lib.sh. A copy is kept between runs (build/scratch/NAME), so that only what
# differs is compiled; ccache shares objects between copies.

# scratch_open NAME: makes build/scratch/NAME the scratch copy of this process, brings it up to date, configures it.
# Waits while another process has it.
scratch_open() {
  scratch=$ROOT/build/scratch/$1
  mkdir -p "$scratch/tree"
  exec 9>"$scratch/lock"
  flock 9
  export CCACHE_BASEDIR=$scratch # paths in the copy become relative: another copy's objects fit
  export TMPDIR=$scratch/tmp     # what a killed test leaves behind goes with the next run
  scratch_sync
  # Warnings are no errors here: a mutant may leave a variable unused.
  cmake -S "$scratch/tree" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DSLIPWAY_WERROR=OFF >"$scratch/log" 2>&1 || scratch_die 'cannot configure the copy'
}

# Prints the log's end and fails.
scratch_die() {
  tail -n 40 "$scratch/log" >&2
  die "$1 (log above)"
}

# Makes the copy equal to the tree. Compares contents, so that a file that a patch changed is compiled again.
scratch_sync() {
  local file
  list_files() {
    (cd "$1" && find CMakeLists.txt core include plugins sdk tests -type f 2>/dev/null | sort) || true
  }
  comm -13 <(list_files "$ROOT") <(list_files "$scratch/tree") | while read -r file; do
    rm "$scratch/tree/$file"
  done
  list_files "$ROOT" | while read -r file; do
    cmp -s "$ROOT/$file" "$scratch/tree/$file" && continue
    mkdir -p "$(dirname "$scratch/tree/$file")"
    cp "$ROOT/$file" "$scratch/tree/$file"
  done
}

# scratch_patch FILE: applies it; fails, and leaves the copy for scratch_sync, when it does not fit exactly.
scratch_patch() { patch --directory="$scratch/tree" --strip=1 --fuzz=0 --batch --forward <"$1" >"$scratch/log" 2>&1; }

scratch_build() { cmake --build "$scratch/build" -j "$JOBS" --target "$1" >"$scratch/log" 2>&1; }

# scratch_run SECONDS TARGET ARGUMENT...: runs a test program of the copy, its output in $scratch/log.
scratch_run() {
  local limit=$1 program
  program=$(find "$scratch/build" -type f -name "$2" -perm -u+x -print -quit)
  shift 2
  rm -rf "$TMPDIR"
  mkdir -p "$TMPDIR"
  (cd "$scratch/build" && exec timeout --kill-after=5 "$limit" "$program" "$@") >"$scratch/log" 2>&1
}
