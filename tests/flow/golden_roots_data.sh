#!/usr/bin/env bash
# The rows of tests/golden/root-hashes.txt that need real dumps: DS_DATA_DIR.
exec bash "$(dirname "$0")/golden_roots.sh" "$1" --data
