#!/usr/bin/env bash
# scripts/gpu_check.sh with fake programs: check.sh SOURCE. Tests its time limits, its archive, failures, and machines
# without a GPU.
set -u
script=$1/scripts/gpu_check.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir programs path
failed=0

complain() {
    echo "$1"
    sed 's/^/    /' out.log
    failed=1
}

# The programs: HANG and BREAK name a word of the command line at which they hang or fail.
cat >programs/dstrain <<'SH'
#!/usr/bin/env bash
[ -n "${NEEDS:-}" ] && [[ ${LD_LIBRARY_PATH:-} != *"$NEEDS"* ]] && { echo "libcublasLt.so.99: cannot open"; exit 1; }
[ -n "${NO_CARD:-}" ] && { echo "nothing tested"; exit 77; }
[ "$*" = --version ] && { echo "NCCL ${PRETENDED_NCCL:-2.28.9}"; exit 0; }
echo "timings of $*"
[ -n "${HANG:-}" ] && [[ $* = *$HANG* ]] && sleep 100
[ -n "${SKIP:-}" ] && [[ $* = *$SKIP* ]] && exit 77
[[ $* = *--stop-after* ]] && exit 75
[ -n "${BREAK:-}" ] && [[ $* = *$BREAK* ]] && { echo "broken${DSTRAIN_CUDA_SYNC:+, waited for}"; exit 7; }
while [ $# -gt 0 ]; do
    [ "$1" = --out ] && mkdir -p "$2"/checkpoints/step-000000{30,06} && : >"$2/products.txt"
    shift
done
exit 0
SH
printf '#!/bin/sh\nexit 0\n' >programs/make_shards
cp programs/dstrain programs/dstrain_cuda_test
cp programs/dstrain programs/comm_driver
: >programs/dstrain_nccl.so
chmod +x programs/*
cp programs/make_shards path/nvidia-smi

# check CODE [more] [VARIABLE=VALUE…]: checks the exit code, and that OUTDIR has two files
check() {
    local expected=$1 code=0 what=""
    shift
    [ "${1:-}" = more ] && { what='more'; shift; }
    rm -rf out
    # shellcheck disable=SC2086  # none or one word
    env PATH="$scratch/path:$PATH" PREBUILT=programs "$@" bash "$script" out $what >out.log 2>&1 || code=$?
    [ "$code" = "$expected" ] || complain "$what $*: exit code $code, not $expected"
    [ "$(find out -mindepth 1 | wc -l)" = 2 ] || complain "$what $*: OUTDIR holds other than a summary and an archive"
    rm -rf logs
    tar -xf out/results.tar.* || complain "$what $*: the archive cannot be read"
    cmp -s out/summary.txt logs/summary.txt || complain "$what $*: the archive is older than the summary"
}

said() {
    grep -q -- "$1" out/summary.txt || complain "the summary does not say '$1'"
}

check 0
said "timings of bench --device cuda --model large --seq 128 --micro-batch 264"
[ "$(grep -n micro-batch out/summary.txt | head -1 | cut -d: -f1)" -lt 5 ] || complain "the first table is not first"
said "^ok      test-modern-bf16"
said "^ok      train-three"
said "^ok      same-bits-gloo-2"
said "^ok      nccl-1"
said "NOT RUN two ranks over NCCL: NCCL 2.28.9 wants a GPU for each"
check 0 PRETENDED_NCCL=2.30.4
said "^ok      same-bits-nccl-4"
[ -f logs/test-shapes-bf16.log ] || complain "a log is missing"
check 0 more
said "^ok      test-models-fp16"

check 1 BREAK=shapes
said "FAILED  test-shapes-bf16, exit 7"
said "broken, waited for"
said "^ok      train-three"
check 1 SKIP=models # with a GPU nothing is skipped
said "FAILED  test-models-bf16, exit 77"

from=$SECONDS
check 1 HANG=models GPU_CHECK_SECONDS=20
[ $((SECONDS - from)) -le 20 ] || complain "20 seconds were $((SECONDS - from))"
said "FAILED  test-models-bf16, exit 124"
said "NOT RUN train-one: the time is over"

rm -rf out # the script is stopped in the middle of the first part
env PATH="$scratch/path:$PATH" PREBUILT=programs HANG=bench bash "$script" out >out.log 2>&1 &
child=$!
for _ in $(seq 50); do grep -q timings out/summary.txt 2>/dev/null && break; sleep 0.2; done
kill "$child"
wait "$child"
code=$?
[ $code = 143 ] || complain "stopped: exit code $code, not 143"
said "timings of bench"
rm -rf logs
tar -xf out/results.tar.* || complain "stopped: no archive"
grep -q timings logs/bench-large-128-264.log || complain "stopped: the first part is not in the archive"

rm path/nvidia-smi
printf '#!/bin/sh\nexit 9\n' >path/nvidia-smi
chmod +x path/nvidia-smi
check 77 NO_CARD=1
said "nothing was tested"
cp programs/make_shards path/nvidia-smi
check 1 NO_CARD=1 # although nvidia-smi shows a GPU
mkdir -p python/nvidia/cu13/lib
: >python/nvidia/cu13/lib/libcublasLt.so.99
check 1 NEEDS=nvidia/cu13/lib
if command -v python3 >/dev/null; then
    check 0 NEEDS=nvidia/cu13/lib PYTHONPATH="$scratch/python"
    said "libcublasLt.so.99: $scratch/python/nvidia/cu13/lib"
fi
[ $failed = 0 ] && echo "all right"
exit $failed
