#!/usr/bin/env bash
# Rewrites the files of tests/golden with the reference programs: runs every scripts/golden_*.py. Needs Python 3.11 with
# their packages (pip install tokenizers …); PYTHON names it. Read the diff before you commit it.
set -euo pipefail
cd "$(dirname "$0")/.."
for script in scripts/golden_*.py; do
    echo "$script"
    "${PYTHON:-python3}" "$script"
done
git --no-pager diff --stat -- tests/golden
