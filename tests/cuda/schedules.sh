#!/usr/bin/env bash
# dstrain on the emulated backend with twenty schedules of its streams: schedules.sh DSTRAIN MODULE MAKE_SHARDS. A run
# of a few steps, with uploads of batches, records and reads of checkpoints during kernels, has the same bytes in each.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$1" "$(dirname "$2")"/*.so "$scratch"
make_shards=$3
cd "$scratch" || exit 1
"$make_shards" data 32 60 20 50 >log 2>&1 || { cat log; exit 1; }
cat >model.json <<'JSON'
{"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 64,
 "max_position_embeddings": 32, "hidden_act": "gelu_new"}
JSON
# With micro-batches of one sequence, a slot for batches is reused within a step.
for schedule in $(seq 1 20); do
    EMULATED_SCHEDULE=$schedule timeout 120 ./dstrain --device cuda --shards data --model model.json --steps 3 \
        --batch 4 \
        --micro-batch 1 --precision bf16 --threads 1 --out "run-$schedule" >log 2>&1 ||
        { echo "schedule $schedule:"; tail -3 log; exit 1; }
    diff -r run-1/checkpoints/step-00000003 "run-$schedule/checkpoints/step-00000003" >log || {
        echo "other bytes in schedule $schedule than in schedule 1"
        exit 1
    }
done
echo "all right"
