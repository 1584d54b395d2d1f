#!/usr/bin/env bash
# dstrain over several emulated GPUs and the emulated NCCL: ranks.sh DSTRAIN MODULE MAKE_SHARDS. Checkpoints have the
# same bytes for every number of processes and over gloo; a non-finite step and a lost process are reported; impossible
# settings are refused.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$1" "$(dirname "$2")"/*.so "$scratch"
gloo=$(dirname "$1")/dstrain_gloo.so
[ -e "$gloo" ] && cp "$gloo" "$scratch"
make_shards=$3
cd "$scratch" || exit 1
export TMPDIR=$scratch EMULATED_GPUS=3
"$make_shards" data 32 60 20 50 >log 2>&1 || { cat log; exit 1; }
cat >model.json <<'JSON'
{"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 128,
 "max_position_embeddings": 32, "hidden_act": "gelu_new"}
JSON
command=(./dstrain --shards data --model model.json --batch 6 --micro-batch 2 --log-every 1 --threads 1)
last=checkpoints/step-00000004
failed=0

complain() {
    echo "$1"
    tail -5 stderr | sed 's/^/    /'
    failed=1
}

# train CODE NAME OPTION…
train() {
    local expected=$1 out=$2 code=0
    shift 2
    timeout 60 "${command[@]}" --device "${device:-cuda}" --steps 4 --out "$out" "$@" >stdout 2>stderr || code=$?
    [ "$code" = "$expected" ] || complain "$out: exit code $code, not $expected"
}

said() {
    grep -q -- "$1" stderr || complain "no line says '$1'"
}

train 0 one --same-bits
for n in 2 3; do
    train 0 nccl-$n --same-bits --gpus $n
    said "^processes  $n, over NCCL"
    diff -r one/$last nccl-$n/$last >diff.log || complain "$n GPUs: other bytes than with one"
    [ "$(grep -c '"wire_bytes":[1-9]' nccl-$n/metrics.jsonl)" = 4 ] || complain "wire_bytes are missing"
done
train 0 floats --precision fp16 --gpus 2 --share 1
train 0 bf16-1 --precision fp32 --wire bf16
for n in 2 3; do
    train 0 bf16-$n --precision fp32 --wire bf16 --gpus $n
    said "^processes  $n, over NCCL"
    cmp -s bf16-1/$last/model.safetensors bf16-$n/$last/model.safetensors && complain "$n GPUs: nothing was rounded"
done

if [ -e dstrain_gloo.so ]; then
    train 0 gloo-2 --same-bits --gpus 2 --comm gloo
    said "over gloo .*, through the host's memory"
    diff -r one/$last gloo-2/$last >diff.log || complain "gloo: other bytes"
    for n in 2 3; do
        train 0 bf16-gloo-$n --precision fp32 --wire bf16 --gpus $n --comm gloo
        diff -r bf16-$n/$last bf16-gloo-$n/$last >diff.log ||
            complain "--wire bf16 over gloo: other bytes than over NCCL"
    done
    for zero in 1 2; do
        train 0 zero-$zero --same-bits --gpus 2 --comm gloo --zero $zero --set zero_optimization.reduce_bucket_size=2000
        diff -r one/$last zero-$zero/$last >diff.log || complain "--zero $zero: other bytes"
    done
    # 1-bit Adam exchanges bits through the host's memory: the losses of the CPU but for rounding, the same bytes
    # twice.
    bits=(--optimizer onebit_adam --set optimizer.params.freeze_step=2)
    for precision in fp32 bf16 fp16; do
        train 0 onebit-$precision --precision $precision --gpus 2 --comm gloo "${bits[@]}"
        device=cpu train 0 onebit-cpu-$precision --precision $precision --processes 2 "${bits[@]}"
        python3 - onebit-$precision onebit-cpu-$precision <<'PYTHON' || complain "1-bit Adam, $precision: not the CPU's"
import json, sys
there, here = ([json.loads(line)["loss"] for line in open(f"{out}/metrics.jsonl")] for out in sys.argv[1:])
sys.exit(len(there) != len(here) or any(abs(a - b) > 0.01 * b for a, b in zip(there, here)))
PYTHON
    done
    train 0 onebit-again --precision fp32 --gpus 2 --comm gloo "${bits[@]}"
    diff -r onebit-fp32/$last onebit-again/$last >diff.log || complain "onebit_adam: other bytes in a second run"
    train 75 onebit-parts --precision fp32 --gpus 2 --comm gloo "${bits[@]}" --stop-after 3
    train 0 onebit-parts --precision fp32 --gpus 2 --comm gloo "${bits[@]}"
    diff -r onebit-fp32/$last onebit-parts/$last >diff.log || complain "onebit_adam: other bytes stopped and resumed"
    train 2 onebit-group "${bits[@]}" optimizer.params.scale=group
    said 'scale "group" is available only on the CPU'
    EMULATED_GPUS=1 train 0 shared --same-bits --processes 2
    said "through the host's memory: ranks 0 and 1 have the same GPU"
    diff -r one/$last shared/$last >diff.log || complain "one GPU for two: other bytes"
fi
EMULATED_GPUS=1 train 2 refused --processes 2 --comm nccl
said "ranks 0 and 1 have the same GPU, and NCCL .* wants one for each"
EMULATED_GPUS=1 EMULATED_NCCL=23004 NCCL_MULTI_RANK_GPU_ENABLE=1 train 0 sharing --same-bits --processes 2
said "over NCCL 2.30.4"
diff -r one/$last sharing/$last >diff.log || complain "NCCL 2.30, one GPU for two: other bytes"

train 8 wild --gpus 2 --precision fp32 --set scheduler.type=LRRangeTest scheduler.params.lr_range_test_min_lr=1e3 \
    scheduler.params.lr_range_test_step_size=1 scheduler.params.lr_range_test_step_rate=1e6 \
    scheduler.params.lr_range_test_staircase=true
said "step [0-9]*: the "
EMULATED_NCCL_FAIL=20 train 9 broken --gpus 2
said "NCCL: a peer is gone, in a"

train 7 many --gpus 4
said "gpus 4, and CUDA shows 3 here"
device=cpu train 2 cpu --gpus 2
device=cpu train 2 cpu --processes 2 --comm nccl
said "for --device cuda"
EMULATED_NCCL=21701 train 2 old --gpus 2 --comm nccl
said "2.18 is the minimum"

# One of two processes is killed while both train.
timeout 60 "${command[@]}" --device cuda --steps 100000 --gpus 2 --out killed >stdout 2>stderr &
parent=$!
for _ in $(seq 300); do grep -qs '"step":3' killed/metrics.jsonl && break; sleep 0.1; done
for child in $(cat /proc/"$(pgrep -P $parent)"/task/*/children); do
    grep -qz '^DS_CHILD=1 ' "/proc/$child/environ" && kill -KILL "$child"
done
code=0
wait $parent || code=$?
[ $code = 9 ] || complain "killed: exit code $code, not 9"
said "rank 1 .* was lost at step"
[ $failed = 0 ] && echo "all right"
exit $failed
