# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# lib.sh - for the transcripts of this folder: a directory $WORK that is removed at the end, commands that must end with
# a code, texts that they must say. Output is kept in $LOG and printed when something is not as it should be.
set -euo pipefail
WORK=$(mktemp -d)
LOG=$WORK/log
SERVER_PID=
DOING=
finish() {
  [[ -z $SERVER_PID ]] || kill "$SERVER_PID" 2>/dev/null || true
  chmod -R u+w "$WORK" # installed plugins are read-only
  rm -rf "$WORK"
}
trap finish EXIT

# step TEXT: what the commands after it are about.
step() { DOING=$1; }

fail() {
  echo "failed: ${DOING:+$DOING: }$1"
  [[ ! -s $LOG ]] || sed 's/^/  | /' "$LOG"
  exit 1
}

# ends_with CODE COMMAND...: what it prints is in $LOG.
ends_with() {
  local wanted=$1 code=0
  shift
  "$@" >"$LOG" 2>&1 </dev/null || code=$?
  [[ $code == "$wanted" ]] || fail "$* ended with $code, not $wanted"
}

# quiet COMMAND...: it must end with 0.
quiet() { ends_with 0 "$@"; }

# says PATTERN: a line that the last command printed matches (grep's basic regular expressions).
says() { grep -q -- "$1" "$LOG" || fail "it was not said: $1"; }

# start_server COMMAND...: runs it until the end; it prints its address first, which is then in $SERVER.
start_server() {
  "$@" >"$WORK/address" 2>"$WORK/server.log" &
  SERVER_PID=$!
  for _ in $(seq 200); do
    [[ ! -s $WORK/address ]] || break
    sleep 0.05
  done
  SERVER=$(head -1 "$WORK/address")
  [[ -n $SERVER ]] || fail "$* does not say where it listens: $(cat "$WORK/server.log")"
}
