#!/usr/bin/env bash
# dstrain on the emulated backend: training.sh DSTRAIN MODULE MAKE_SHARDS. BERT and ModernBERT have the CPU's numbers in
# every verb. Late records of steps must not change results: a stopped run ends with the bytes of one that was not
# stopped, every step is reported once and in order, and of non-finite steps the first is named. If memory is short, the
# error names the micro-batch that fits; errors of CUDA are named too.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$1" "$(dirname "$2")"/*.so "$scratch"
gloo=$(dirname "$1")/dstrain_gloo.so
[ -e "$gloo" ] && cp "$gloo" "$scratch"
make_shards=$3
cd "$scratch" || exit 1
"$make_shards" data 32 60 20 50 >log 2>&1 || { cat log; exit 1; }
cat >model.json <<'JSON'
{"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 128,
 "max_position_embeddings": 32, "hidden_act": "gelu_new"}
JSON
failed=0
shards=data
model=model.json # of train

complain() {
    echo "$1"
    tail -5 stderr | sed 's/^/    /'
    failed=1
}

# train CODE NAME OPTION…
train() {
    local expected=$1 out=$2 code=0
    shift 2
    timeout 120 ./dstrain --device cuda --shards "$shards" --model "$model" --steps 7 --batch 4 \
        --micro-batch 2 --log-every 1 --threads 1 --out "$out" "$@" >stdout 2>stderr || code=$?
    [ "$code" = "$expected" ] || complain "$out: exit code $code, not $expected"
}

# Metrics without values of the clock.
told() {
    sed -E 's/"seconds".*"loss_scale"/"loss_scale"/' "$1/metrics.jsonl"
}

for case in bf16:lamb fp16:adam fp32:lans; do
    with=(--precision "${case%:*}" --optimizer "${case#*:}")
    train 0 "whole-$case" "${with[@]}" --save-every 3
    train 75 "parts-$case" "${with[@]}" --stop-after 4
    train 0 "parts-$case" "${with[@]}"
    diff -r "whole-$case/checkpoints/step-00000007" "parts-$case/checkpoints/step-00000007" >diff.log ||
        complain "$case: other bytes after a stop"
    diff <(told "whole-$case") <(told "parts-$case") >diff.log || complain "$case: other metrics after a stop"
    steps=$(grep -o '^{"step":[0-9]*' "whole-$case/metrics.jsonl" | cut -d: -f2 | tr '\n' ' ')
    [ "$steps" = "1 2 3 4 5 6 7 " ] || complain "$case: steps reported are $steps"
done

# A ModernBERT, whose layers but the first have windows: as on the CPU, after a stop too. A note says that no card has
# tried it.
"$make_shards" alone 32 60 20 50 none >log 2>&1 || { cat log; exit 1; }
cat >modern.json <<'JSON'
{"model_type": "modernbert", "hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 2,
 "intermediate_size": 96, "max_position_embeddings": 32, "local_attention": 6, "hidden_activation": "silu"}
JSON
losses() {
    sed -nE 's/^.*"step": ?([0-9]+),.*"loss": ?([0-9.]+),.*$/\1 \2/p' "$1/metrics.jsonl"
}
shards=alone
model=modern.json
with=(--optimizer stableadamw --dropout 0.1)
for precision in fp32 bf16; do
    out=modern-$precision
    train 0 "$out" "${with[@]}" --precision $precision
    grep -q "ModernBERT models are untried on a card" stderr || complain "a ModernBERT: no word that it is untried"
    train 75 "$out-parts" "${with[@]}" --precision $precision --stop-after 4
    train 0 "$out-parts" "${with[@]}" --precision $precision
    diff -r "$out/checkpoints/step-00000007" "$out-parts/checkpoints/step-00000007" >diff.log ||
        complain "a ModernBERT in $precision: other bytes after a stop"
done
# Of its products only the decoder has a bias, so only two have an epilogue to choose: bias and sums of its gradients.
[ "$(grep -cE '^[0-9]' modern-bf16/products.txt)" = 2 ] || complain "a ModernBERT: epilogues of biases that it lacks"
train 0 modern-cpu "${with[@]}" --precision fp32 --device cpu
grep -q "untried" stderr && complain "a ModernBERT on the CPU is called untried"
paste <(losses modern-cpu) <(losses modern-fp32) | awk '
    NF != 4 || $1 != $3 || $4 - $2 > 2e-5 * $2 || $2 - $4 > 2e-5 * $2 {wrong = 1; print}
    END {exit wrong || NR < 7}' >diff.log ||
    complain "a ModernBERT in fp32: other losses than the CPU's: $(head -3 diff.log)"

# Every verb gives the CPU's numbers in fp32 with both models, also after they are fine-tuned there; eval in 16 bit
# gives them nearly.
awk 'BEGIN { print "text,label" >"rows.csv"
    for (i = 0; i < 24; i++) {
        marker = i % 2 ? "w40" : "w41 w42 w43"
        printf "w%d w%d %s w%d,%s\n", 5 + i, 9 + i % 7, marker, 20 + i, i % 2 ? "yes" : "no" >"rows.csv"
        printf "w%d B-A\nw%d O\nw%d %s\n\n", 5 + i, 9 + i % 7, 20 + i, i % 3 ? "O" : "B-C" >"words.conll"
        qa = sprintf("{\"id\": \"%d\", \"question\": \"w%d\", \"answers\": [{\"text\": \"w44\", \"answer_start\": 8}]}",
            i, 5 + i)
        printf "%s{\"context\": \"w%d w%d w44 w%d\", \"qas\": [%s]}", i ? ", " : "{\"data\": [{\"paragraphs\": [",
            15 + i, 16 + i, 18 + i, qa >"asked.json"
    }
    print "]}]}" >"asked.json" }'
printf 'w5 w6 w7\nw8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18\n\nw20\n' >lines.txt
printf '{"good": "w5 w6 w7 w8 w9 w10", "bad": "w6 w5 w9 w8"}\n{"good": "w40", "bad": "w41 w42 w43"}\n' >pairs.jsonl
number='-?[0-9]+\.[0-9]+(e-?[0-9]+)?'
# nearly LIMIT NAME A B: but for the clock, the files differ in numbers only, each by no more than LIMIT of its size or
# of 1
nearly() {
    for side in 3 4; do
        sed -E '/"seconds"|per_second/d; s/cuda/cpu/g' "${!side}" >side-$side
        sed -E "s/$number/N/g" side-$side >words-$side
        grep -oE -- "$number" side-$side >numbers-$side
    done
    [ -s side-3 ] && diff words-3 words-4 >diff.log && paste numbers-3 numbers-4 | awk -v limit="$1" '
        {size = $1 < 0 ? -$1 : $1; size = size < 1 ? 1 : size}
        $1 - $2 > limit * size || $2 - $1 > limit * size {wrong = 1; print}
        END {exit wrong}' >>diff.log || complain "$2: $(head -3 diff.log)"
}
# verb NAME WORD…: runs the command on both; what it prints is in NAME-cpu.out and NAME-cuda.out
verb() {
    local name=$1 code
    shift
    for device in cpu cuda; do
        code=0
        timeout 120 ./dstrain "${@//DEVICE/$device}" --device $device >"$name-$device.out" 2>stderr || code=$?
        [ $code = 0 ] || complain "$name on $device: exit code $code"
    done
}
for kind in bert modern; do
    run=whole-fp32:lans
    [ $kind = modern ] && run=modern-cpu
    shards=$([ $kind = modern ] && echo alone || echo data)
    verb $kind-fill fill-mask $run --top 3 --json "w5 [MASK] w7" "w8 w9 w10 [MASK] w12 w13 [MASK] w16"
    nearly 2e-6 "$kind fill-mask" $kind-fill-c{pu,uda}.out
    verb $kind-embed embed $run lines.txt --out $kind-embed-DEVICE.jsonl
    nearly 2e-6 "$kind embed" $kind-embed-c{pu,uda}.jsonl
    verb $kind-score score $run pairs.jsonl --precision fp32 --details $kind-score-DEVICE
    nearly 2e-6 "$kind score" $kind-score-c{pu,uda}
    verb $kind-eval eval $run --shards "$shards" --split train --precision fp32 --json
    nearly 2e-6 "$kind eval" $kind-eval-c{pu,uda}.out
    for precision in bf16 fp16; do
        ./dstrain eval $run --shards "$shards" --split train --precision $precision --device cuda --json \
            >half.out 2>stderr || complain "$kind eval in $precision: exit code $?"
        nearly 1e-3 "$kind eval in $precision" $kind-eval-cpu.out <(sed "s/$precision/fp32/" half.out)
    done
    for task in "classify rows.csv" "tag words.conll" "squad asked.json --max-query 4"; do
        read -ra words <<<"$task"
        name=$kind-${words[0]}
        verb "$name" "${words[0]}" --init $run --train "${words[1]}" --dev "${words[@]:1}" --seq 32 --batch 8 \
            --steps 4 --micro-batch 4 --log-every 1 --lr 1e-3 --dropout 0.1 --precision fp32 --threads 1 \
            --out "$name-DEVICE"
        nearly 1e-5 "$name: losses" <(losses "$name-cpu") <(losses "$name-cuda")
        verb "$name-eval" eval "$name-DEVICE" --precision fp32 --json
        nearly 1e-5 "$name: scores" "$name"-eval-c{pu,uda}.out
        verb "$name-answers" predict "$name-DEVICE" "${words[1]}" --out "$name-answers-DEVICE"
        nearly 1e-5 "$name: answers" "$name"-answers-c{pu,uda}
    done
done
shards=data
model=model.json

# Sums over processes go through host memory. Both processes share the only device.
if [ -e dstrain_gloo.so ]; then
    train 0 same-1 --same-bits
    train 0 same-2 --same-bits --processes 2
    diff -r same-1/checkpoints/step-00000007 same-2/checkpoints/step-00000007 >diff.log ||
        complain "--same-bits: other bytes with two processes"
    [ "$(grep -c '"wire_bytes":[1-9]' same-2/metrics.jsonl)" = 7 ] || complain "wire_bytes are missing"
else
    echo "gloo is not built: two processes are skipped"
fi

train 8 wild --precision fp32 --save-every 3 --set scheduler.type=LRRangeTest \
    scheduler.params.lr_range_test_min_lr=1e3 \
    scheduler.params.lr_range_test_step_size=3 scheduler.params.lr_range_test_step_rate=1e6 \
    scheduler.params.lr_range_test_staircase=true
step=$(sed -nE 's/.*"step": ?([0-9]+).*/\1/p' wild/not-finite.json | head -1)
last=$(wc -l <wild/metrics.jsonl)
[ "$step" = $((last + 1)) ] || complain "step $step is named, $last are reported"
grep -q "step $step: the " stderr || complain "the message does not name step $step"
grep -q "the checkpoint of step $(((step - 1) / 3 * 3)) is intact" stderr || complain "the checkpoint is not named"
# Other programs leave only some memory: the named micro-batch fits, one sequence more does not, and the automatic
# choice does not depend on it.
beside=$(((64 + 256) << 20)) # bytes that the backend uses or keeps free
export EMULATED_FREE=$((beside + 1500000))
train 7 narrow --batch 16 --micro-batch 16
fits=$(sed -nE 's/.*--micro-batch ([0-9]+) fits.*/\1/p' stderr)
[ "${fits:-0}" -ge 1 ] && [ "$fits" -lt 16 ] || complain "the micro-batch that fits is '$fits'"
train 7 narrow --batch 16 --micro-batch $((fits + 1))
grep -q -- "--micro-batch $fits fits" stderr || complain "now another micro-batch fits"
train 0 narrow --batch 16 --micro-batch "$fits"
timeout 120 ./dstrain --device cuda --shards data --model model.json --steps 7 --batch 16 --out default >stdout 2>stderr
[ $? = 7 ] && grep -q "micro-batches of 16 need" stderr || complain "memory that is free changes the default"
export EMULATED_FREE=$beside
train 7 none
grep -q "not even --micro-batch 1 fits" stderr || complain "no micro-batch fits, and one is named"
unset EMULATED_FREE

# Epilogues are chosen by time at a run's first start and kept at later ones: here the library's sums of bias gradients
# (finish 5, epilogue 512) are slow at first, but not when the run continues.
TOOLKIT_SLOW=512 train 0 slow-whole
TOOLKIT_SLOW=512 train 75 slow-parts --stop-after 4
cp slow-parts/products.txt before.txt
train 0 slow-parts
cmp -s before.txt slow-parts/products.txt || complain "products.txt has changed at a later start"
diff -r slow-whole/checkpoints/step-00000007 slow-parts/checkpoints/step-00000007 >diff.log ||
    complain "other bytes where an epilogue has become fast after a stop"
plain='( 0000000000000000){8}$'
[ "$(grep -cE "^2 5 .*$plain" before.txt)" = 7 ] || complain "slow epilogues were chosen"
[ "$(grep -cE "^[0-9].*$plain" before.txt)" = 7 ] || complain "fast epilogues were not chosen"
rm -rf refused
TOOLKIT_REFUSE=1 train 0 refused # an algorithm that the library offers and then refuses is not chosen
[ "$(grep -cE "^[0-9].*$plain" refused/products.txt)" = 17 ] || complain "an offer that fails was chosen"

# An error names the failed op, its sizes and its step: a failed launch at once, a later failure with a wait after every
# op.
named() { # named N:now|late [VARIABLE=VALUE]: prints the part of the message between "in " and ", seen"
    local how=$1
    shift
    rm -rf broken
    env "TOOLKIT_FAIL=$how" "$@" ./dstrain --device cuda --shards data --model model.json --steps 7 --batch 4 \
        --micro-batch 2 --threads 1 --out broken >stdout 2>stderr
    [ $? = 7 ] || complain "TOOLKIT_FAIL=$how: the exit code is not 7"
    sed -nE 's/.*CUDA: [a-z ]*, in (.*), seen by .*/\1/p' stderr
}
for n in 20 90; do
    exact=$(named $n:now DSTRAIN_CUDA_SYNC=1)
    [[ $exact =~ ^[a-z_]+\ \([a-z]+\ [0-9]+.*\),\ step\ [1-7]$ ]] || complain "op $n fails as '$exact'"
    found=$(named $n:late DSTRAIN_CUDA_SYNC=1)
    [ "$found" = "$exact" ] || complain "op $n is '$exact', with DSTRAIN_CUDA_SYNC=1 '$found' is named"
    found=$(named $n:late)
    [[ $found =~ ^or\ before\ [a-z_]+\ .*\),\ step\ [1-7]$ ]] || complain "op $n, heard of late, is '$found'"
    grep -q "DSTRAIN_CUDA_SYNC=1" stderr || complain "op $n, heard of late: no word of DSTRAIN_CUDA_SYNC"
done
[ $failed = 0 ] && echo "all right"
exit $failed
