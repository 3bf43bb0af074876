#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mistakes.sh COMPILER INCLUDE_DIR - has mistakes.cpp checked, and fails unless the compiler says every text
# that stands in it behind "says:".
set -eu
source=$(dirname "$0")/mistakes.cpp
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if LC_ALL=C "$1" -std=c++20 -fsyntax-only -fmax-errors=0 -fdiagnostics-color=never -I"$2" "$source" >"$said" 2>&1; then
  echo "mistakes.cpp compiled, though it is wrong everywhere"
  exit 1
fi
failed=0
wanted=$(grep -c '^// says: ' "$source")
while IFS= read -r text; do
  grep -qF -- "$text" "$said" && continue
  echo "the compiler did not say: $text"
  failed=1
done <<EOF
$(sed -n 's|^// says: ||p' "$source")
EOF
# One mistake, one complaint: what follows from another would bury it.
errors=$(grep -c ' error: ' "$said")
others=$(grep ' error: ' "$said" | grep -vc 'static assertion failed: ' || true)
echo "$wanted texts wanted, $errors errors, $others of them no static_assert"
[ "$others" -eq 0 ] || { grep ' error: ' "$said" | grep -v 'static assertion failed: '; failed=1; }
exit $failed
