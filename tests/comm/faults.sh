#!/usr/bin/env bash
# The errors that processes over gloo get when one is killed, is stopped, leaves or never comes.
set -euo pipefail
for fault in killed killed-inside killed-root leaves leaves-inside aborted; do
    for size in 2 4; do
        echo "== $fault, $size processes"
        "$1" gloo $size $fault
    done
done
for size in 2 3; do
    echo "== stopped, $size processes"
    "$1" gloo $size stopped
done
echo "== absent"
"$1" gloo 2 absent
