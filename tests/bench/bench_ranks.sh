#!/usr/bin/env bash
# Cost of several processes on one machine: bench_ranks.sh DSTRAIN SHARDS [MODEL [BATCH [STEPS [ROUNDS]]]]
#
# Trains with one process on all cores, with two that share them, and with one and --same-bits, alternating, and prints
# the fastest step of each in sequences/s, and its ratio to one process.
set -euo pipefail
dstrain=$1 shards=$2 model=${3:-mini} batch=${4:-256} steps=${5:-4} rounds=${6:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

train() { # NAME OPTION…
    local name=$1
    shift
    rm -rf "$work/run"
    "$dstrain" -q --shards "$shards" --model "$model" --batch "$batch" --steps "$steps" --device cpu --eval-samples 0 \
        --log-every 1 --save-every 1000000 --out "$work/run" --threads "$(nproc)" "$@"
    cat "$work/run/metrics.jsonl" >>"$work/$name"
}

for ((round = 0; round < rounds; round++)); do
    train one
    train two --processes 2
    train same-bits --same-bits
done
python3 - "$work" <<'PYTHON'
import json, sys

fastest = {name: max(json.loads(line)["sequences_per_second"] for line in open(f"{sys.argv[1]}/{name}"))
           for name in ("one", "two", "same-bits")}
for name, speed in fastest.items():
    print(f"{name:10} {speed:8.1f} sequences/s   {speed / fastest['one']:.3f} x")
PYTHON
