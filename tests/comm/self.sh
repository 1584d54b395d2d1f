#!/usr/bin/env bash
# One process, which needs no library.
set -euo pipefail
"$1" self 1
