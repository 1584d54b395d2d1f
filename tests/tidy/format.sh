#!/usr/bin/env bash
# labels: long
# Every C and CUDA file is formatted by clang-format 14.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v clang-format-14 >/dev/null || { echo "no clang-format-14: skipped"; exit 77; }
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout: skipped"; exit 77; }
git ls-files -z '*.c' '*.h' '*.cc' '*.cu' '*.cuh' | xargs -0 clang-format-14 --dry-run --Werror
