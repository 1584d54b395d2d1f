#!/usr/bin/env bash
# labels: once
# The compiled-in Unicode tables are up to date with their script.
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }
scripts=$(dirname "$0")/../../scripts
python3 "$scripts/unicode_tables.py" --check && exec python3 "$scripts/bpe_tables.py" --check
