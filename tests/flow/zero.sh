#!/usr/bin/env bash
# --zero: moments and master copies divided among processes. The same bytes as one process with --same-bits, for every
# number of processes and every optimizer; checkpoints hold nothing of it; the keys of zero_optimization.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
many=("${train[@]}" --micro-batch 1)
same=("${many[@]}" --same-bits)

declare -A processes=([adam]=2 [lamb]="3 5" [nvlamb]=4 [lans]=3)
for optimizer in adam lamb nvlamb lans; do
    case_begin "$optimizer"
    expect_exit 0 "${same[@]}" --optimizer $optimizer --out $optimizer
    for n in ${processes[$optimizer]}; do
        expect_exit 0 "${same[@]}" --optimizer $optimizer --out $optimizer-$n --processes $n --zero 1
        expect_same_checkpoint "$optimizer, $n processes" $optimizer $optimizer-$n
    done
done

for precision in bf16 fp16; do
    case_begin "$precision"
    expect_exit 0 "${same[@]}" --precision $precision --optimizer lamb --out $precision
    for n in 1 3; do
        expect_exit 0 "${same[@]}" --precision $precision --optimizer lamb --out $precision-$n --processes $n --zero 1
        expect_same_checkpoint "$precision, $n processes" $precision $precision-$n
    done
done

case_begin "another number and another stage at every start"
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 3 --zero 1 --stop-after 5
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --stop-after 2
expect_exit 75 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 2 --stop-after 2
expect_exit 0 "${same[@]}" --optimizer lans --precision bf16 --out parts --save-every 2 --processes 4 --zero 1
expect_exit 0 "${same[@]}" --optimizer lans --precision bf16 --out whole
expect_same_checkpoint "in parts" whole parts
expect_equal "stages" "$(json parts/run.json '[start["zero"] for start in o["starts"]]')" "[1, 0, 0, 1]"
expect_exit 0 "$dstrain" verify parts --replay --processes 2
expect_exit 0 "$dstrain" verify parts --replay --processes 3 --zero 1

case_begin "sums of floats: up to rounding; what travels"
expect_exit 0 "${many[@]}" --precision fp32 --out plain
expect_exit 0 "${many[@]}" --precision fp32 --out floats --processes 3 --zero 1
compared "three processes" 1e-6 plain floats
expect_exit 0 "${many[@]}" --precision bf16 --out halves --processes 2 --zero 1
expect_exit 0 "${many[@]}" --precision fp32 --wire bf16 --out wire --processes 2 --zero 1
compared "--wire bf16" 1e-2 plain wire
# Half of 4 bytes of a gradient and 4 or 2 of a parameter, and gaps of flat memory with them.
head -1 floats/metrics.jsonl >line
expect_equal "bytes of fp32" "$(json line '0 <= o["wire_bytes"] - 22397 * 8 * 2 / 3 < 22397 * 0.6')" True
head -1 halves/metrics.jsonl >line
expect_equal "bytes of bf16" "$(json line '0 <= o["wire_bytes"] - 22397 * 6 / 2 < 22397 * 0.6')" True

case_begin "a process with an empty share"
"${many[@]}" --precision fp32 --zero 1 --rank 1 --world-size 2 --rendezvous "$scratch/meeting" --share 0.001 >other 2>&1 </dev/null &
expect_exit 0 "${many[@]}" --precision fp32 --zero 1 --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --share 1 --out empty
wait $! || complain "rank 1 ended with $?: $(cat other)"
expect_same_checkpoint "one of two has an empty share" plain empty

case_begin "keys"
two=("${same[@]}" --processes 2)
expect_exit 0 "${two[@]}" --set zero_optimization.stage=1 zero_optimization.reduce_bucket_size=20000 \
    zero_optimization.overlap_comm=false zero_optimization.contiguous_gradients=true --out keys
expect_words "without meaning here: zero_optimization.contiguous_gradients"
expect_same_checkpoint "by its keys" adam keys
expect_equal "stage" "$(json keys/run.json 'o["starts"][0]["zero"]')" 1
expect_exit 2 "${two[@]}" --set zero_optimization.stage=3 --out no
expect_words "zero_optimization.stage" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.offload_optimizer.device=cpu --out no
expect_words "offload_optimizer" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.cpu_offload=true --out no
expect_words "cpu_offload" "not built"
expect_exit 2 "${two[@]}" --set zero_optimization.overlap_com=true --out no
expect_words "nearest key is zero_optimization.overlap_comm"
expect_exit 2 "${two[@]}" --zero 1 --dump-gradients file --out no
expect_words "--dump-gradients" "--zero"
expect_exit 2 "${many[@]}" --optimizer muon --processes 2 --zero 1 --out no
expect_words "--zero" "muon"

case_begin "plan"
plan=("$dstrain" plan --shards "$data" --batch 2 --micro-batch 1 --steps 3 --json --precision fp32)
expect_exit 0 "${plan[@]}" --model mini
cp "$scratch/stdout" alone.json
expect_exit 0 "${plan[@]}" --model mini --processes 4 --zero 1
expect_words "4 with --zero 1"
# Moments of a fourth, and what chunks leave unequal.
expect_equal "a part of the moments" "$(json <(cat alone.json) 'o["memory"]["moments"]')" \
    "$(json <(cat alone.json) '2 * o["memory"]["weights"]')"
expect_equal "of four processes" "$(python3 -c 'import json, sys
alone, four = (json.load(open(path)) for path in sys.argv[1:])
print(abs(4 * four["memory"]["moments"] / alone["memory"]["moments"] - 1) < 0.02, four["processes"], four["zero"])' \
    alone.json "$scratch/stdout")" "True 4 1"
expect_equal "nothing was started" "$(ls -d runs 2>/dev/null)" ""

flow_end
