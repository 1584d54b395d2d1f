#!/usr/bin/env bash
# Settings that change during a run: growing batches (--batch A:B --batch-warmup P) and the share of masked pieces
# (--mask-prob P:Q). They resume byte for byte after any stop, take every sample once, are part of the run's identity,
# and can be given in a file.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
base=("$dstrain" --shards "$data" --model "$model" --steps 12 --lr 1e-3 --log-every 1 --threads 1 --precision fp32)
grows=("${base[@]}" --batch 4:16 --batch-warmup 8)

case_begin "a batch that grows"
expect_exit 0 "${grows[@]}" --out grown
expect_words "grow from 4 to 16 samples over the first 8 steps"
python3 - <<'PYTHON' || complain "the samples of the steps are not those of the plan"
import json

lines = [json.loads(line) for line in open("grown/metrics.jsonl") if "split" not in line]
plan = [4 * n + 12 * n * n // 16 if n <= 8 else 80 + 16 * (n - 8) for n in range(1, 13)]
assert [line["samples"] for line in lines] == plan, lines
sizes = [b - a for a, b in zip([0] + plan, plan)]
assert sizes[0] == 4 and sizes[-1] == 16 and all(a <= b + 1 for a, b in zip(sizes, sizes[1:]))
epoch = lines[-1]["epoch"] / lines[-1]["samples"]
assert all(abs(line["epoch"] - line["samples"] * epoch) < 1e-5 for line in lines)
rates = [line["learning_rate"] for line in lines]  # by steps, not by samples
assert all(abs(rate - 1e-3 * (1 - (i + 1) / 12) / 0.99) < 1e-9 for i, rate in enumerate(rates)), rates
PYTHON
for n in 1 3 7 9; do
    expect_exit 75 "${grows[@]}" --out grown-$n --stop-after $n
    expect_exit 0 "${grows[@]}" --out grown-$n
    expect_same_checkpoint "stopped after $n steps" grown grown-$n
done
expect_equal "it is part of the run" "$(json grown/run.json \
    '[o["identity"][k] for k in ("batch", "batch_begin", "batch_warmup")], o["settings"]["batch"]')" \
    "([16, 4, 8], '4:16')"
expect_exit 5 "${base[@]}" --batch 4:16 --batch-warmup 6 --out grown
expect_words "batch_warmup"
expect_exit 5 "${base[@]}" --batch 16 --out grown
expect_exit 0 "${base[@]}" --batch 16 --out grown-set --set batch_warmup.from=4 batch_warmup.steps=8 # the option rules
expect_equal "a plain batch" "$(json grown-set/run.json 'o["identity"].get("batch_warmup")')" None
expect_exit 0 "${base[@]}" --out by-key --set train_batch_size=16 batch_warmup.from=4 batch_warmup.steps=8
expect_same_checkpoint "by keys" grown by-key
if "$dstrain" train --help | grep -q -- --processes && [ -e "$build/dstrain_gloo.so" ]; then
    expect_exit 0 "${grows[@]}" --out grown-two --processes 2
    compared "two processes" 1e-6 grown grown-two
    expect_exit 2 "${grows[@]}" --out grown-five --processes 5
    expect_words "share" "batch of 4"
fi

case_begin "a run that goes on with another batch: the samples read so far count as they were"
for verb in train plan; do
    expect_exit 0 "$dstrain" $verb --shards "$data" --resume grown --steps 14 --batch 32 --threads 1 --out further
    expect_words "14 steps = 208 samples" # 144 of the first 12 steps
done

samples=$(json <("$dsdata" show "$data" --json) \
    '[l["samples"] for l in o["lengths"] if l["seq"] == 32 and l["split"] == "train"][0]')
expect_exit 0 "$dstrain" plan --shards "$data" --resume grown --epochs 2 --batch 32 --threads 1 --json
expect_equal "two epochs" "$(json stdout 'o["steps"]')" $((12 + (2 * samples - 144 + 16) / 32))

case_begin "epochs of growing batches"
for warmup in 0.5 3 1000; do
    expect_exit 0 "${base[@]:0:5}" --dry-run --json --epochs 2 --batch 4:16 --batch-warmup $warmup --threads 1
    expect_equal "two epochs" "$(json stdout "(lambda s, w: abs((4 * s + 12 * s * s // (2 * w) if s <= w else
        10 * w + 16 * (s - w)) - 2 * $samples) <= 16)(o['steps'], o['run']['batch_warmup'])")" True
done

case_begin "growing batches that are none"
refused() { # WORD… -- OPTION…
    local words=()
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    expect_exit 2 "${base[@]}" --out never "$@"
    expect_words "${words[@]}"
    expect_absent never .
}
refused "over how many" "--batch-warmup" -- --batch 4:16
refused "--batch-warmup" "--batch 64:256" -- --batch-warmup 0.1
refused grow -- --batch 16:15 --batch-warmup 2
refused "--same-bits" -- --batch 4:16 --batch-warmup 2 --same-bits
refused batch_warmup -- --set batch_warmup.from=4
refused count -- --set batch_warmup.from=4.5 batch_warmup.steps=2
refused "not a whole number" -- --batch 4:x --batch-warmup 2

case_begin "a share of masks that falls"
masks=("${base[@]}" --batch 16 --mask-prob 0.6:0.15)
expect_exit 0 "${masks[@]}" --out masked
expect_exit 75 "${masks[@]}" --out masked-2 --stop-after 5
expect_exit 0 "${masks[@]}" --out masked-2
expect_same_checkpoint "stopped" masked masked-2
expect_equal "it is part of the run" "$(json masked/run.json \
    '[o["identity"][k] for k in ("masks", "mask_prob", "mask_prob_end")]')" "['fresh', 0.6, 0.15]"
expect_exit 5 "${base[@]}" --batch 16 --mask-prob 0.6 --out masked
expect_words mask_prob
expect_exit 0 "${base[@]}" --batch 16 --out masked-set --set mask_prob='[0.6,0.15]'
expect_same_checkpoint "by a key" masked masked-set
expect_exit 0 "${base[@]}" --batch 16 --masks fresh --out fresh
expect_exit 0 "${base[@]}" --batch 16 --mask-prob 0.15 --out same
cmp -s fresh/$last/model.safetensors same/$last/model.safetensors || complain "0.15 is not what the dataset has"
cmp -s fresh/$last/model.safetensors masked/$last/model.safetensors && complain "the share changes nothing"
expect_equal "held out, the same masks" "$("$dstrain" eval masked -q --json --threads 1 | python3 -c '
import json, sys
print(json.load(sys.stdin)["tokens"])')" "$("$dstrain" eval fresh -q --json --threads 1 | python3 -c '
import json, sys
print(json.load(sys.stdin)["tokens"])')"
expect_exit 0 "$dstrain" verify masked --replay
refused "--mask-prob" "--masks fresh" -- --mask-prob 0.3 --masks stored
refused "--masks fresh" -- --mask-prob 0.3 --no-shuffle
refused "nothing to learn" -- --mask-prob 0
refused "from 0 to 1" -- --mask-prob 0.3:1.5
refused mask_prob -- --set mask_prob=0
refused '"fresh"' -- --set masks=new

case_begin "masks by phases, and how they are shown"
phases=("${base[@]}" --batch 16 --mask-phases "0.6@0,0.3@0.5,0.05@0.9" --mask-split 100:0:0)
expect_exit 0 "${phases[@]}" --out phases
expect_exit 75 "${phases[@]}" --out phases-2 --stop-after 5
expect_exit 0 "${phases[@]}" --out phases-2
expect_same_checkpoint "stopped" phases phases-2
expect_equal "they are part of the run" "$(json phases/run.json \
    '[o["identity"][k] for k in ("masks", "mask_phases", "mask_prob", "mask_prob_end", "mask_split_mask")]')" \
    "['fresh', '0.6@0,0.3@0.5,0.05@0.9', 0.6, 0.05, 1.0]"
expect_exit 5 "${base[@]}" --batch 16 --mask-phases 0.6@0,0.3@0.5,0.05@0.9 --out phases
expect_words mask_split_mask
expect_exit 0 "${base[@]}" --batch 16 --out phases-set --set mask_phases=0.6@0,0.3@0.5,0.05@0.9 mask_split=100:0:0
expect_same_checkpoint "by keys" phases phases-set
expect_exit 0 "$dstrain" verify phases --replay
expect_exit 0 "${base[@]}" --batch 16 --mask-phases 0.6@0 --mask-split 80:10:10 --out phase
expect_exit 0 "${base[@]}" --batch 16 --mask-prob 0.6 --out share
cmp phase/$last/model.safetensors share/$last/model.safetensors || complain "one phase is not a share"

case_begin "masks and dropout by keys"
expect_exit 0 "${base[@]}" --batch 16 --masks fresh --dropout 0 --out plain-a
expect_exit 0 "${base[@]}" --batch 16 --set masks=fresh dropout=0 --out plain-b
expect_same_checkpoint "keys" plain-a plain-b
flow_end
