#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_layers_test - scripts/check_layers finds each kind of violation, names its file and line, and passes a clean
# tree. Every case starts from the same small clean tree and breaks one thing in it.
set -euo pipefail
check=$(cd "$(dirname "$0")/../../.." && pwd)/scripts/check_layers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# write FILE LINE...: the file with the licence line first (and #pragma once in a header), then the lines from line 3.
write() {
  local file=$work/tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  local second='// what it is'
  [[ $file != *.hpp ]] || second='#pragma once'
  printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' "$second" "$@" >"$file"
}

clean_tree() {
  rm -rf "$work/tree"
  write include/slipway/result.hpp '#include <slipway/abi.h>' '#include <string>'
  write core/base/clock.hpp '#include <slipway/result.hpp>'
  write core/base/log.cpp '#include "base/clock.hpp"' '#include <spdlog/spdlog.h>'
  write core/base/random.cpp '#include <openssl/rand.h>'
  write core/model/machine.hpp '#include "base/clock.hpp"' '#include <vector>'
  write core/store/sqlite.cpp '#include "model/machine.hpp"' '#include "sqlite.hpp"' '#include <sqlite3.h>' \
    'auto q = "SELECT id FROM machine";'
  write core/cli/main.cpp '#include "cli/options.hpp"' 'auto help = "SELECT one of these";' '// see "SELECT id FROM x"'
  write plugins/sim/sim.cpp '#include "cloud.hpp"' '#include <slipway/result.hpp>'
  write tests/unit/x_test.cpp '#include "store/sqlite.hpp"' '#include <sqlite3.h>' 'using namespace slipway;'
  printf '/* SPDX-License-Identifier: Apache-2.0 */\n#ifndef A\n#define A\n#endif\n' >"$work/tree/include/slipway/abi.h"
  mkdir -p "$work/tree/scripts"
  printf '#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n' >"$work/tree/scripts/build"
}

fail() {
  printf 'FAILED: %s\n%s\n' "$1" "$2"
  failed=1
}

# catches WHAT FILE:LINE TEXT: the tree as it stands has exactly this one violation.
catches() {
  local output
  if output=$("$check" "$work/tree" 2>&1); then
    fail "$1 was not found" "$output"
  elif [[ $output != *"$2: "*"$3"* ]]; then
    fail "$1: wanted $2 and \"$3\"" "$output"
  elif [[ $output != *$'\n1 violations' ]]; then
    fail "$1: wanted one violation and no other" "$output"
  fi
  clean_tree
}

clean_tree
output=$("$check" "$work/tree" 2>&1) || fail 'a clean tree passes' "$output"

write core/base/clock.hpp '#include "model/machine.hpp"'
catches 'an arrow that points up' core/base/clock.hpp:3 'core/base must not include model/machine.hpp'
write core/model/machine.hpp '#include <string>' '  #  include "store/sqlite.hpp"'
catches 'an include with blanks' core/model/machine.hpp:4 'core/model must not include store/sqlite.hpp'
write core/plugin/library.cpp '#include "store/sqlite.hpp"'
catches 'the plugin host that knows the store' core/plugin/library.cpp:3 'core/plugin must not include'
write core/cli/main.cpp '#include "store/sqlite.hpp"'
catches 'the command that opens the store' core/cli/main.cpp:3 'core/cli must not include'
write core/api/routes.cpp '#include "engine/graph.hpp"'
catches 'the API that drives the engine' core/api/routes.cpp:3 'core/api must not include'
write include/slipway/result.hpp '#include "base/clock.hpp"'
catches 'the SDK that includes the core' include/slipway/result.hpp:3 'it may include: only itself'
write plugins/sim/sim.cpp '#include "base/clock.hpp"'
catches 'a plugin that includes the core' plugins/sim/sim.cpp:3 'plugins must not include base/clock.hpp'
write plugins/sim/sim.cpp '#include "../../core/base/clock.hpp"'
catches 'a path that climbs' plugins/sim/sim.cpp:3 'leaves its folder'

write core/base/strand.cpp '#include <spdlog/spdlog.h>'
catches 'spdlog outside the log' core/base/strand.cpp:3 '<spdlog/spdlog.h> is used only in core/base/log'
write core/base/clock.hpp '#include <openssl/evp.h>'
catches 'OpenSSL in a header' core/base/clock.hpp:3 '<openssl/evp.h> is used only in core/base/*.cpp'
write core/model/machine.hpp '#include <sqlite3.h>'
catches 'SQLite outside the store' core/model/machine.hpp:3 'core/store'
write core/cli/main.cpp '#include <boost/beast/http.hpp>'
catches 'Beast outside the HTTP files' core/cli/main.cpp:3 'core/api/http_server'
write core/base/text.cpp '#include <prometheus/registry.h>'
catches 'prometheus outside the metrics' core/base/text.cpp:3 'core/base/metrics'
write core/model/machine.hpp '#include <fstream>'
catches 'I/O in the model' core/model/machine.hpp:3 'core/model is pure'

for statement in 'SELECT id FROM machine' 'INSERT INTO machine VALUES (1)' 'UPDATE machine SET life = 1' 'PRAGMA foreign_keys'; do
  write core/cli/main.cpp "auto q = \"$statement\";"
  catches "SQL outside the store ($statement)" core/cli/main.cpp:3 'SQL outside core/store'
done

write core/base/clock.hpp 'namespace a {' 'using namespace std;' '}'
catches 'using namespace in a header' core/base/clock.hpp:4 'using namespace in a header'
printf '// SPDX-License-Identifier: Apache-2.0\nint a();\n' >"$work/tree/core/base/clock.hpp"
catches 'a header without a guard' core/base/clock.hpp:1 'no include guard'
printf '#pragma once\n' >"$work/tree/core/model/machine.hpp"
catches 'a source without a licence line' core/model/machine.hpp:1 'no SPDX-License-Identifier'
printf '#!/usr/bin/env bash\n' >"$work/tree/scripts/build"
catches 'a script without a licence line' scripts/build:1 'no SPDX-License-Identifier'

((failed == 0)) && echo 'check_layers finds each violation'
exit "$failed"
