#!/usr/bin/env bash
# Runs every benchmark in tests/bench on the release build. Arguments go to each of them.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
for bench in tests/bench/bench_*.sh; do
    printf '== %s ==\n' "$(basename "$bench" .sh)"
    bash "$bench" "$@"
done
