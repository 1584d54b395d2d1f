#!/usr/bin/env bash
# --timings: the table of a training's operations; timing does not change the training.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
train+=(--precision bf16) # so that the table includes conversions

case_begin "a training that is timed"
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-every 100 --eval-samples 0 --precision bf16 --out plain
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-every 100 --eval-samples 0 --precision bf16 --timings --out timed
expect_same_checkpoint "timed" plain timed
# 12 steps of one micro-batch; the estimate before them is not in the table. There are two layers. The second makes
# queries only of the rows that heads read, and gathers and scatters these.
expect_table adam=12 squares=12 factors=12 embed=12 embed_backward=12 attention=24 attention_backward=24 loss=24 \
    "linear_gelu 64x32=24" "linear 96x32=12" "linear 64x32=24" "linear_backward_input 32x64=24" \
    "linear_backward_weight 96x32=12" "linear_backward_weight 64x32=48" \
    norm=72 norm_backward=72 gather=36 scatter=48 tanh_rows=12 tanh_backward=12 gelu_backward=12 dropout=24 \
    clear convert "waiting for data" saving "the rest" all

# A micro-batch of 2,048 tokens. Operations with one row per sequence, or over all weights, are too small for so many
# tasks. So are those of the masked rows that have 64 or 192 columns, where a panel has 64 (AVX-512).
case_begin "eight threads have four tasks each, and change no bit"
sed 's/"hidden_size": 32/"hidden_size": 192/; s/"intermediate_size": 64/"intermediate_size": 768/
    s/"num_attention_heads": 2/"num_attention_heads": 4/' "$model" >wide.json
wide=("$dstrain" --shards "$data" --model wide.json --steps 1 --batch 64 --eval-samples 0 --precision fp32)
expect_exit 0 "${wide[@]}" --threads 2 --out wide-2
expect_exit 0 "${wide[@]}" --threads 8 --timings --out wide-8
diff -r wide-2/checkpoints wide-8/checkpoints >stdout || complain "threads change bits"
grep -q avx512f /proc/cpuinfo && vectors=avx512 || vectors=
python3 - "$scratch/stderr" "$vectors" <<'PYTHON' || complain "too few tasks"
import re, sys

rows = re.findall(r"^  (\S.*?) {2,}.* (\d+) tasks$", open(sys.argv[1], encoding="utf-8").read(), re.M)
few = {name: int(tasks) for name, tasks in rows if int(tasks) < 32}
assert len(rows) > 15, rows
small = ("clear", "gather", "scatter", "squares", "adam", "linear_backward_weight 192x192",
         "linear_backward_weight 64x192")
wide_panels = ("linear 192x192", "linear_backward_input 192x192", "linear 64x192") if sys.argv[2] == "avx512" else ()
assert all(name in small + wide_panels or name.endswith(" 2x192") for name in few), few
PYTHON

case_begin "every optimizer's operations"
for optimizer in lamb nvlamb lans stableadamw; do
    expect_exit 0 "${train[@]}" --micro-batch 8 --eval-samples 0 --optimizer $optimizer --timings --out timed-$optimizer
    expect_table moments=12 shares=12 apply=12
done
# Six matrices per layer, with five steps each; Adam's passes are between them.
expect_exit 0 "${train[@]}" --micro-batch 8 --eval-samples 0 --optimizer muon --timings --out timed-muon
expect_table momentum=144 direction=144 combine=1440 shift=144 adam

if [ -e "$build/dstrain_gloo.so" ]; then
    case_begin "two processes: a row for each bucket"
    expect_exit 0 "${train[@]}" --micro-batch 4 --eval-samples 0 --timings --processes 2 --threads 2 --out timed-2
    expect_table "waiting for sums of gradients" adam=12
    # The heads, rows of words that are final then, two layers, the other embeddings: 22,397 numbers plus gaps of flat
    # memory.
    python3 - "$scratch/stderr" <<'PYTHON' || complain "the table of buckets is wrong"
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
rows = re.findall(r"^  bucket (\d+) +([\d.]+) (k?B) +(\d+) sums +([\d.]+) s taken +([\d.]+) s waited$", text, re.M)
assert [int(row[0]) for row in rows] == [0, 1, 2, 3, 4], rows
assert all(int(row[3]) == 12 for row in rows), rows
size = sum(float(row[1]) * (1000 if row[2] == "kB" else 1) for row in rows)
assert 4 * 22397 <= size < 4 * 25000, size
waited = float(re.search(r"^  waiting for sums of gradients +([\d.]+) s", text, re.M)[1])
assert abs(sum(float(row[5]) for row in rows) - waited) < 0.001 * (len(rows) + 1), (waited, rows)
PYTHON
fi

flow_end
