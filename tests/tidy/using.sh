#!/usr/bin/env bash
# The options in docs/USING.md match --help.
set -euo pipefail
for program in dsdata dstrain; do
    [ -x "$1/$program" ] || { echo "$program is not built: skipped"; exit 77; }
done
exec python3 "$(dirname "$0")/../../scripts/using_options.py" "$1" --check
