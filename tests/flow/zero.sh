#!/usr/bin/env bash
# --zero: moments and master copies, and with stage 2 gradients, are divided among processes. With --same-bits the bytes
# are those of one process (zero_all.sh tests every optimizer, stage and number of processes); checkpoints do not depend
# on it; the keys of zero_optimization.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
many=("${train[@]}" --steps 6 --micro-batch 1)
last=checkpoints/step-00000006
same=("${many[@]}" --same-bits)

declare -A stages=([adam]="1:2 2:3" [lans]="1:3 2:5") # stage:processes; without norms of whole tensors, and with them
for optimizer in adam lans; do
    case_begin "$optimizer"
    expect_exit 0 "${same[@]}" --optimizer $optimizer --out $optimizer
    for stage in ${stages[$optimizer]}; do
        zero=${stage%:*} n=${stage#*:}
        expect_exit 0 "${same[@]}" --optimizer $optimizer --out $optimizer-$zero --processes $n --zero $zero
        expect_same_checkpoint "$optimizer, --zero $zero, $n processes" $optimizer $optimizer-$zero
    done
done

for precision in bf16 fp16; do
    case_begin "$precision"
    expect_exit 0 "${same[@]}" --precision $precision --optimizer lamb --out $precision
    for stage in 1:1 2:3; do
        zero=${stage%:*} n=${stage#*:}
        expect_exit 0 "${same[@]}" --precision $precision --optimizer lamb --out $precision-$zero-$n --processes $n \
            --zero $zero
        expect_same_checkpoint "$precision, --zero $zero, $n processes" $precision $precision-$zero-$n
    done
done

# With norms before the branches, a layer's first norm is written with the layer before it; zeros of dropped layers are
# sent too.
case_begin "--zero 2: norms that lead, dropped layers, buckets smaller than a layer, no overlap"
python3 -c 'import json
m = json.load(open("model.json"))
json.dump({**m, "num_hidden_layers": 6, "pre_layer_norm": True}, open("leads.json", "w"))'
drops=(progressive_layer_drop.enabled=true progressive_layer_drop.theta=0.3 progressive_layer_drop.gamma=1)
leads=("${same[@]}" --model leads.json --set "${drops[@]}")
expect_exit 0 "${leads[@]}" --out leads
expect_exit 0 "${leads[@]}" --out leads-3 --processes 3 --zero 2
expect_same_checkpoint "3 processes" leads leads-3
expect_exit 0 "${leads[@]}" zero_optimization.overlap_comm=false zero_optimization.reduce_bucket_size=2000 \
    --out leads-2 --processes 2 --zero 2
expect_same_checkpoint "2 processes" leads leads-2

case_begin "--zero 2: layers larger than a bucket, with norms in every place"
last=checkpoints/step-00000004
for order in post_layer_norm pre_layer_norm layer_norm_large_model; do
    python3 -c 'import json, sys
m = {**json.load(open("model.json")), "hidden_size": 64, "num_hidden_layers": 3}
json.dump({**m, **({} if sys.argv[1] == "post_layer_norm" else {sys.argv[1]: True})}, open("parts.json", "w"))' $order
    parts=("${same[@]}" --model parts.json --steps 4 --set zero_optimization.reduce_bucket_size=2000)
    expect_exit 0 "${parts[@]}" --out $order
    expect_exit 0 "${parts[@]}" --out $order-3 --processes 3 --zero 2
    expect_same_checkpoint "$order, 3 processes" $order $order-3
    expect_exit 0 "${parts[@]}" zero_optimization.overlap_comm=false --out $order-2 --processes 2 --zero 2
    expect_same_checkpoint "$order, 2 processes without overlap" $order $order-2
done
last=checkpoints/step-00000006

# The table is divided into three blocks; rows, chunks and blocks end at different places. A process without a pass
# sends zeros.
case_begin "--zero 2: a vocabulary of several blocks"
mkdir large
(cat vocab.txt && seq -f "word%.0f" 1000) >large/vocab.txt
"$dsdata" build -q --text text.txt --vocab large/vocab.txt --seq 32 --valid 0.2 --out large/data
python3 -c 'import json
json.dump({**json.load(open("model.json")), "hidden_size": 20}, open("large/model.json", "w"))'
words=("$dstrain" --shards large/data --model large/model.json --steps 4 --batch 7 --micro-batch 1 --threads 1 \
    --same-bits)
last=checkpoints/step-00000004
expect_exit 0 "${words[@]}" --out words
expect_exit 0 "${words[@]}" --out words-3 --processes 3 --zero 2
expect_same_checkpoint "3 processes" words words-3
expect_exit 0 "${words[@]}" --set zero_optimization.overlap_comm=false zero_optimization.reduce_bucket_size=2000 \
    --out words-2 --processes 2 --zero 2
expect_same_checkpoint "2 processes, small buckets" words words-2
expect_exit 0 "${words[@]}" --precision bf16 --out words-bf16
expect_exit 0 "${words[@]}" --precision bf16 --out words-bf16-2 --processes 2 --zero 2
expect_same_checkpoint "2 processes, bf16" words-bf16 words-bf16-2
last=checkpoints/step-00000006

case_begin "another number and another stage at every start"
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 3 --zero 1 \
    --stop-after 3
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --stop-after 1
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 2 --zero 2 \
    --stop-after 1
expect_exit 0 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 4 --zero 1
expect_exit 0 "${same[@]}" --optimizer lans --precision bf16 --out whole
expect_same_checkpoint "in parts" whole parts
expect_equal "stages" "$(json parts/run.json '[start["zero"] for start in o["starts"]]')" "[1, 0, 2, 1]"
expect_exit 0 "$dstrain" verify parts --replay --processes 2
expect_exit 0 "$dstrain" verify parts --replay --processes 3 --zero 2

case_begin "sums of floats: up to rounding; what travels"
expect_exit 0 "${many[@]}" --precision fp32 --out plain
expect_exit 0 "${many[@]}" --precision fp32 --out floats --processes 3 --zero 1
compared "three processes" 1e-6 plain floats
expect_exit 0 "${many[@]}" --precision bf16 --out halves --processes 2 --zero 1
expect_exit 0 "${many[@]}" --precision fp32 --wire bf16 --out wire --processes 2 --zero 1
compared "--wire bf16" 1e-2 plain wire
expect_exit 0 "${many[@]}" --precision fp32 --out floats-2 --processes 3 --zero 2
compared "--zero 2" 1e-6 plain floats-2
expect_exit 0 "${many[@]}" --precision fp32 --wire bf16 --out wire-2 --processes 2 --zero 2
compared "--zero 2 --wire bf16" 1e-2 plain wire-2
# Half of 4 bytes per gradient and of 4 or 2 per parameter, including gaps of flat memory.
head -1 floats/metrics.jsonl >line
expect_equal "bytes of fp32" "$(json line '0 <= o["wire_bytes"] - 22397 * 8 * 2 / 3 < 22397 * 0.6')" True
head -1 halves/metrics.jsonl >line
expect_equal "bytes of bf16" "$(json line '0 <= o["wire_bytes"] - 22397 * 6 / 2 < 22397 * 0.6')" True
# Gradients are sent for each micro-batch: of eight, a process has two or three, at most three.
head -1 floats-2/metrics.jsonl >line
expect_equal "bytes of --zero 2" "$(json line '0 <= o["wire_bytes"] - 22397 * (3 * 4 + 4) * 2 / 3 < 22397 * 1.6')" True

case_begin "a process with an empty share"
"${many[@]}" --precision fp32 --zero 1 --rank 1 --world-size 2 --rendezvous "$scratch/meeting" \
    --share 0.001 >other 2>&1 </dev/null &
expect_exit 0 "${many[@]}" --precision fp32 --zero 1 --rank 0 --world-size 2 --rendezvous "$scratch/meeting" \
    --share 1 --out empty
wait $! || complain "rank 1 ended with $?: $(cat other)"
expect_same_checkpoint "one of two has an empty share" plain empty
"${many[@]}" --precision fp32 --zero 2 --rank 1 --world-size 2 --rendezvous "$scratch/meeting-2" \
    --share 0.001 >other 2>&1 </dev/null &
expect_exit 0 "${many[@]}" --precision fp32 --zero 2 --rank 0 --world-size 2 --rendezvous "$scratch/meeting-2" \
    --share 1 --out empty-2
wait $! || complain "rank 1 ended with $?: $(cat other)"
compared "the same with --zero 2" 1e-6 plain empty-2

case_begin "a step that is not finite"
wild=("$dstrain" --shards "$data" --model "$model" --steps 30 --batch 8 --micro-batch 1 --threads 1 --precision fp32
    --processes 2 --set scheduler.type=LRRangeTest scheduler.params.lr_range_test_min_lr=1e3
    scheduler.params.lr_range_test_step_size=4 scheduler.params.lr_range_test_step_rate=1e6
    scheduler.params.lr_range_test_staircase=true)
for zero in 0 2; do
    expect_exit 8 "${wild[@]}" --zero $zero --out burst-$zero
done
expect_equal "what is to blame" "$(python3 -c 'import json
zero, two = (json.load(open(f"burst-{stage}/not-finite.json")) for stage in (0, 2))
print(len(two["gradients"]) > 0, two["gradients"][:1] == zero["gradients"][:1], two["weights"])')" "True True []"

case_begin "keys"
two=("${same[@]}" --processes 2)
expect_exit 0 "${two[@]}" --set zero_optimization.stage=1 zero_optimization.reduce_bucket_size=20000 \
    zero_optimization.overlap_comm=false zero_optimization.contiguous_gradients=true --out keys
expect_words "no effect here: zero_optimization.contiguous_gradients"
expect_same_checkpoint "by its keys" adam keys
expect_equal "stage" "$(json keys/run.json 'o["starts"][0]["zero"]')" 1
expect_exit 0 "${two[@]}" --set zero_optimization.stage=2 --out keys-2
expect_same_checkpoint "stage 2 by its key" adam keys-2
expect_equal "stage" "$(json keys-2/run.json 'o["starts"][0]["zero"]')" 2
expect_exit 2 "${two[@]}" --set zero_optimization.stage=3 --out no
expect_words "zero_optimization.stage" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.offload_optimizer.device=cpu --out no
expect_words "offload_optimizer" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.cpu_offload=true --out no
expect_words "cpu_offload" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.overlap_com=true --out no
expect_words "nearest key is zero_optimization.overlap_comm"
for zero in 1 2; do
    expect_exit 2 "${two[@]}" --zero $zero --dump-gradients file --out no
    expect_words "--dump-gradients" "--zero"
    expect_exit 2 "${two[@]}" --zero $zero --norms-every 2 --out no
    expect_words "--norms-every" "--zero"
done
expect_exit 2 "${two[@]}" --zero 3 --out no
expect_words "--zero"
expect_exit 2 "${many[@]}" --optimizer muon --processes 2 --zero 1 --out no
expect_words "--zero" "muon"

case_begin "plan"
plan=("$dstrain" plan --shards "$data" --batch 2 --micro-batch 1 --steps 3 --json --precision fp32)
expect_exit 0 "${plan[@]}" --model mini
cp "$scratch/stdout" alone.json
expect_exit 0 "${plan[@]}" --model mini --processes 4 --zero 1
expect_words "4 with --zero 1"
# A quarter of the moments; parts are unequal because of chunks.
expect_equal "a part of the moments" "$(json <(cat alone.json) 'o["memory"]["moments"]')" \
    "$(json <(cat alone.json) '2 * o["memory"]["weights"]')"
expect_equal "of four processes" "$(python3 -c 'import json, sys
alone, four = (json.load(open(path)) for path in sys.argv[1:])
print(abs(4 * four["memory"]["moments"] / alone["memory"]["moments"] - 1) < 0.02, four["processes"], four["zero"])' \
    alone.json "$scratch/stdout")" "True 4 1"
expect_exit 0 "${plan[@]}" --model mini --batch 16 --processes 4 --zero 2
expect_words "4 with --zero 2" "after every micro-batch"
cp "$scratch/stdout" four.json
expect_exit 0 "${plan[@]}" --model mini --batch 16 --processes 4 --zero 2 --set zero_optimization.reduce_bucket_size=5e5
# A quarter of the gradients, the embeddings and two layers or, if those exceed a bucket, two parts of a layer; the
# gradients of four passes, and parameters once.
expect_equal "of four processes" "$(python3 -c 'import json, sys
alone, *fours = (json.load(open(path)) for path in sys.argv[1:])
n, embeddings = alone["memory"]["weights"], 4 * (64 + 512 + 2 + 2) * 256
for four, slot in zip(fours, (12 * 256 * 256 + 13 * 256, 4 * 256 * 256 + 6 * 256)):
    share = n / 4 + embeddings + 2 * 4 * slot
    print(abs(four["memory"]["gradients"] / share - 1) < 0.03, abs(four["wire_bytes"] / (0.75 * 5 * n) - 1) < 0.01)' \
    alone.json four.json "$scratch/stdout")" "True True
True True"
expect_equal "nothing was started" "$(ls -d runs 2>/dev/null)" ""

flow_end
