#!/usr/bin/env bash
# shellcheck disable=SC2016  # commands for bash -c get their own arguments
# Runs all checks that need a GPU, the most important first, in 480 seconds at most:
#
#     dstrain doctor --gpu OUTDIR          the same as the next line, where a wheel or a pack is installed
#     scripts/gpu_check.sh OUTDIR          tables of speed, parity with the CPU in bf16, training from shards
#     scripts/gpu_check.sh OUTDIR more     all algorithms of products, fp32 and fp16, compute-sanitizer; 480 s again
#     scripts/gpu_check.sh OUTDIR torch    the same step in PyTorch (tests/bench/bench_torch.py); compiles for minutes
#
# After every part, OUTDIR gets summary.txt (what is printed) and an archive of all logs, results.tar.zst (or .tar.gz);
# also if the script is stopped by TERM, INT or HUP. PREBUILT=DIR runs programs packed by scripts/gpu_pack.sh; without
# it they are built first (preset cuda, in build/cuda), which does not count as time. GPU_CHECK_SECONDS sets another
# limit. cuBLASLt and NCCL are also found in the Python packages nvidia-cublas and nvidia-nccl.
#
# A part that fails is repeated with DSTRAIN_CUDA_SYNC=1, which names the operation, and does not stop the others. Exit
# code: 0 all passed, 1 something failed, 77 there is no NVIDIA driver or GPU, 143 stopped.
set -uo pipefail

usage() {
    sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"
    exit 2
}
[ $# = 1 ] || { [ $# = 2 ] && [[ $2 =~ ^(more|torch)$ ]]; } || usage
self=$(realpath "$0")
mkdir -p "$1"
out=$(realpath "$1")
what=${2:-first}
summary=$out/summary.txt
work=$(mktemp -d)
logs=$work/logs
mkdir "$logs"
: >"$summary"
failed=""
child=""

say() {
    echo "$*" | tee -a "$summary"
}

# Archives all results in one file, which is replaced atomically.
save() {
    local name=results.tar.gz how=-z
    command -v zstd >/dev/null && name=results.tar.zst how=--zstd
    cp "$summary" "$logs"
    tar -c $how -f "$work/$name" -C "$work" logs && cp "$work/$name" "$out/.$name" && mv "$out/.$name" "$out/$name"
}

stop() {
    trap '' TERM INT HUP
    [ -n "$child" ] && kill "$child" && wait "$child"
    say "stopped after $SECONDS s"
    save
    exit 143
}
trap stop TERM INT HUP
trap 'rm -rf "$work"' EXIT

# Seconds that a part may take; the last ones are reserved for killing it and for the archive.
left() {
    echo $((${GPU_CHECK_SECONDS:-480} - 15 - SECONDS))
}

# run NAME SECONDS COMMAND…: runs with a log and a time limit. Output of parts whose name begins with "bench" is shown
# live.
run() {
    local name=$1 most=$2 from=$SECONDS code=0 shown=""
    shift 2
    [ "$most" -le "$(left)" ] || most=$(left)
    if [ "$most" -lt 1 ]; then
        failed="$failed $name"
        say "NOT RUN $name: the time is over"
        return 124
    fi
    timeout -k 5 "$most" "$@" >"$logs/$name.log" 2>&1 &
    child=$!
    if [[ $name = bench* ]]; then
        say "== $name"
        tail -n +1 -s 0.2 -f --pid="$child" "$logs/$name.log" | tee -a "$summary" &
        shown=$!
    fi
    wait "$child" || code=$?
    child=""
    [ -z "$shown" ] || wait "$shown"
    if [ "$code" = 0 ]; then
        say "ok      $name, $((SECONDS - from)) s"
    else
        failed="$failed $name"
        say "FAILED  $name, exit $code, $((SECONDS - from)) s:"
        say "$(tail -6 "$logs/$name.log" | sed 's/^/        /')"
    fi
    save
    return "$code"
}

# gpu NAME SECONDS COMMAND…: the same; a part that fails (but not for lack of time) is repeated with a wait after every
# operation. A part that skips (77) counts as failed, because there is a GPU.
gpu() {
    local code=0
    run "$@" || code=$?
    [[ " 0 2 77 124 137 " == *" $code "* ]] && return "$code"
    run "$1-sync" 60 env DSTRAIN_CUDA_SYNC=1 "${@:3}"
    return "$code"
}

# bench NAME MODEL SEQ MICRO_BATCH [OPTION…]
bench() {
    gpu "bench-$1" 55 "$bin/dstrain" bench --device cuda --model "$2" --seq "$3" --micro-batch "$4" "${@:5}"
}

# check PRECISION PART SECONDS [OPTION…]
check() {
    gpu "test-$2-$1" "$3" "$bin/dstrain_cuda_test" --precision "$1" --part "$2" --curve "$curve" "${@:4}"
}

# train NAME SHARDS OPTION…: a run in $work/run-NAME, and the speed of its last steps
train() {
    local metrics=$work/run-$1/metrics.jsonl
    gpu "train-$1" 90 "$bin/dstrain" --shards "$work/$2" --device cuda --out "$work/run-$1" "${@:3}"
    [ -f "$metrics" ] && cp "$metrics" "$logs/train-$1.jsonl" && say "        $(grep -v '"split"' "$metrics" | tail -1 |
        sed -nE -e 's/.*"sequences_per_second": ?([0-9.]+).*"data_wait_seconds": ?([0-9.]+).*/\1 \2/' \
            -e 's/^([0-9.]+) ([0-9.]+)$/\1 sequences\/s, \2 s waited for data/p')"
}

# ---- the programs ----

if [ -n "${PREBUILT:-}" ]; then
    bin=$(realpath "$PREBUILT")
    curve=$bin/curve-mini.txt
else
    root=$(realpath "$(dirname "$self")/..")
    bin=$root/build/cuda
    curve=$root/tests/golden/curve-mini.txt
    echo "building in $bin"
    if ! { cmake -S "$root" --preset cuda && cmake --build "$bin" -j "$(nproc)"; } >"$logs/build.log" 2>&1; then
        say "FAILED  build: $(grep -E -A3 'error|FAILED' "$logs/build.log" | head -30)"
        save
        exit 1
    fi
    SECONDS=0
fi

# Directories of cuBLASLt and NCCL where the loader does not search.
library_places() {
    ls -d /usr/local/cuda*/lib64 2>/dev/null
    python3 -c 'import glob, sys
for path in sys.path:
    print("\n".join(glob.glob(path + "/nvidia/*/lib")))' 2>/dev/null
}

# Does the backend open at all?
card() {
    local code=0 name place
    timeout 60 "$bin/dstrain_cuda_test" --part none >"$logs/card.log" 2>&1 || code=$?
    name=$(grep -oE -m1 'libcublasLt\.so\.[0-9]+' "$logs/card.log")
    if [ "$code" != 0 ] && [ -n "$name" ] && [ -z "${looked:-}" ]; then
        looked=yes
        for place in $(library_places); do
            [ -e "$place/$name" ] || continue
            say "$name: $place"
            export LD_LIBRARY_PATH=$place${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
            card
            return
        done
    fi
    return "$code"
}

smi=0
timeout 20 nvidia-smi >"$logs/nvidia-smi.log" 2>&1 || smi=$?
timeout 20 nvidia-smi -L >"$logs/cards.log" 2>&1
card
code=$?
say "$(tail -2 "$logs/card.log")"
if [ $code = 77 ] && [ $smi != 0 ]; then
    say "there is no NVIDIA driver or card here: nothing was tested"
    save
    exit 77
elif [ $code != 0 ]; then
    say "FAILED  the CUDA backend does not open, exit $code"
    save
    exit 1
fi

# NCCL: beside the programs, where the loader finds it, or in such a directory.
find_nccl() {
    local place
    [ -e "$bin/dstrain_nccl.so" ] || { say "NCCL: not built"; return 1; }
    for place in "$bin" "" $(library_places); do
        [ -z "$place" ] || [ -e "$place/libnccl.so.2" ] || continue
        [ -z "$place" ] || export LD_LIBRARY_PATH=$place${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        nccl=$("$bin/dstrain" --version | sed -nE 's/^NCCL ([0-9.]+)$/\1/p')
        [ -n "$nccl" ] && say "NCCL $nccl${place:+: $place}" && return
    done
    say "NCCL: there is no libnccl.so.2 here"
    return 1
}

# ---- the parts ----

# Several processes on one GPU: over gloo, through host memory; one over NCCL; two and four over NCCL if it lets ranks
# share a GPU. The bits must be the same each time.
ranks() {
    local n small=(--model mini --batch 64 --micro-batch 8 --steps 6 --log-every 1 --same-bits \
        --tune "$logs/products.txt")
    local last=checkpoints/step-00000006
    train ranks-1 shards-128 "${small[@]}"
    train ranks-gloo-2 shards-128 "${small[@]}" --processes 2 --comm gloo
    run same-bits-gloo-2 30 diff -r "$work/run-ranks-1/$last" "$work/run-ranks-gloo-2/$last"
    # 1-bit Adam, whose kernels are the same for any precision: a run stopped after the freeze and resumed has the same
    # bits.
    local bits=(--model mini --batch 64 --micro-batch 8 --steps 6 --log-every 1 --tune "$logs/products.txt"
        --optimizer onebit_adam --set optimizer.params.freeze_step=2)
    train onebit shards-128 "${bits[@]}" --processes 2 --comm gloo
    gpu train-onebit-stopped 60 bash -c '"$@"; [ $? = 75 ]' stopped "$bin/dstrain" --shards "$work/shards-128" \
        --device cuda --out "$work/run-onebit-2" "${bits[@]}" --processes 2 --comm gloo --stop-after 4
    train onebit-2 shards-128 "${bits[@]}" --processes 2 --comm gloo
    run same-bits-onebit 30 diff -r "$work/run-onebit/$last" "$work/run-onebit-2/$last"
    find_nccl || return 0
    if [ "$(grep -c '^GPU ' "$logs/cards.log")" -gt 1 ]; then
        train ranks-gpus-2 shards-128 "${small[@]}" --gpus 2 --comm nccl
        run same-bits-gpus-2 30 diff -r "$work/run-ranks-1/$last" "$work/run-ranks-gpus-2/$last"
    fi
    gpu nccl-1 60 "$bin/comm_driver" nccl 1
    [ "$(printf '%s\n' 2.30 "$nccl" | sort -V | head -1)" = 2.30 ] ||
        { say "NOT RUN two ranks over NCCL: NCCL $nccl wants a GPU for each, 2.30 does not"; return; }
    export NCCL_MULTI_RANK_GPU_ENABLE=1
    for n in 2 4; do
        gpu nccl-$n 60 "$bin/comm_driver" nccl $n
        train ranks-nccl-$n shards-128 "${small[@]}" --processes $n --comm nccl
        run same-bits-nccl-$n 30 diff -r "$work/run-ranks-1/$last" "$work/run-ranks-nccl-$n/$last"
    done
}

first() {
    bench large-128-264 large 128 264
    bench large-128-528 large 128 528
    check bf16 ops 90
    check bf16 shapes 60
    check bf16 models 60
    check bf16 modern 60 # ModernBERTs: gradients, a short training
    run make-shards 60 bash -c '"$0" "$1/shards-512" 512 20000 254.5 && "$0" "$1/shards-128" 128 4000 110' \
        "$bin/make_shards" "$work"
    train large-512-packed shards-512 --model large --seq 512 --batch 512 --steps 12 --log-every 4 --keep-last 1
    rm -rf "$work/run-large-512-packed/checkpoints"
    # The same bits from an uninterrupted run, a repeated one, and one that is stopped and resumed.
    local small=(--model mini --batch 64 --steps 30 --save-every 100 --log-every 10) last=checkpoints/step-00000030
    train one shards-128 "${small[@]}"
    cp "$work/run-one/products.txt" "$logs"
    train two shards-128 "${small[@]}" --tune "$logs/products.txt" # without a new choice by time
    gpu train-stopped 60 bash -c '"$@"; [ $? = 75 ]' stopped "$bin/dstrain" --shards "$work/shards-128" --device cuda \
        --out "$work/run-three" "${small[@]}" --stop-after 11 --tune "$logs/products.txt"
    train three shards-128 "${small[@]}"
    run same-bits 30 bash -c 'diff -r "$0/run-one/$1" "$0/run-two/$1" && diff -r "$0/run-one/$1" "$0/run-three/$1"' \
        "$work" "$last"
    ranks
    bench base-128-264 base 128 264
    bench large-512-64 large 512 64
    check fp32 optimizers 40
    check bf16 bits 40
    check bf16 curve 60
    gpu doctor 30 "$bin/dstrain" doctor
}

more() {
    local precision part tool sanitizer
    gpu bench-large-128-tuned 150 "$bin/dstrain" bench --device cuda --model large --seq 128 --micro-batch 264 \
        --tune "$logs/products-large-128.txt"
    check bf16 shapes 90 --tune "$logs/products-shapes.txt"
    for precision in fp32 fp16; do
        for part in ops shapes models modern; do check $precision $part 60; done
    done
    check fp32 bits 40
    check fp32 curve 60
    sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) ||
        { say "compute-sanitizer is not on this machine"; return; }
    for tool in memcheck racecheck; do
        run $tool 75 "$sanitizer" --tool $tool --error-exitcode 9 "$bin/dstrain_cuda_test" --precision bf16 \
            --part models
    done
}

torch() {
    local model
    for model in large base; do
        run bench-torch-$model 220 python3 "$(dirname "$self")/../tests/bench/bench_torch.py" --model $model --batch 264
    done
}

$what
say "$SECONDS s in all; logs in $out/results.tar.*${failed:+; FAILED:$failed}"
save
[ -z "$failed" ]
