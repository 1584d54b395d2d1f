#!/usr/bin/env bash
# labels: long
# Every shell script passes shellcheck without a warning.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v shellcheck >/dev/null || { echo "no shellcheck: skipped"; exit 77; }
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout: skipped"; exit 77; }
git ls-files -z '*.sh' '.ci/run' | xargs -0 shellcheck -x -S warning
