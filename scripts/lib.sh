# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the scripts share: where the tree is, help out of a script's own head, times as people read them.
# Sourced by every script, never run.
set -euo pipefail
export LC_ALL=C.UTF-8

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
JOBS=$(nproc)
export ROOT JOBS

# Prints the comment at the head of the running script (all but the first two lines) as its help.
usage() { awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

# A wrong call: exit 2 as everywhere in the project.
usage_error() {
  printf '%s: %s; see %s --help\n' "$(basename "$0")" "$1" "$0" >&2
  exit 2
}

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit 1
}

now_ms() { echo "$((${EPOCHREALTIME/[.,]/} / 1000))"; }

# took SINCE_MS: the time since then, as "6.1 s" or "4 m 02 s".
took() {
  local ms=$(($(now_ms) - $1))
  if ((ms < 60000)); then
    printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
  else
    printf '%d m %02d s' $((ms / 60000)) $((ms / 1000 % 60))
  fi
}

# The C and C++ files of the tree ROOT/ (tracked or new, not ignored), one a line, relative to it. Without sdk/template,
# which is text with marks like @name@ until it is a project; its test looks at it then.
source_files() {
  git -C "$ROOT" ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.h' '*.c' ':!sdk/template' | sort -u |
    while read -r file; do [[ ! -e $ROOT/$file ]] || echo "$file"; done
}

# The project's shell scripts, one a line, relative to ROOT.
script_files() {
  git -C "$ROOT" ls-files --cached --others --exclude-standard -- scripts .ci ':(glob)sdk/*' 'tests/**.sh' | sort -u |
    while read -r file; do
      if [[ $file == *.sh ]] || { [[ -f $ROOT/$file ]] && head -n 1 "$ROOT/$file" | grep -q '^#!.*bash'; }; then
        echo "$file"
      fi
    done
}
