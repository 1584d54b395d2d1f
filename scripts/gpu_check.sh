#!/usr/bin/env bash
# shellcheck disable=SC2016  # commands for bash -c get their own arguments
# Everything that only a GPU can show, in less than eight minutes on a machine with one GPU and 16 cores:
#
#     scripts/gpu_check.sh OUTDIR [PART…]       parts: build quick bench shards tests sanitize; without any, all of them
#
# One more part, torch, measures the same step in PyTorch (tests/bench/bench_torch.py); compiling it takes minutes.
# builds dstrain with CUDA, measures it, compares the backend with the CPU's, and prints the table. OUTDIR gets the logs
# and the programs. DEPS=DIR names a folder of unpacked Debian packages (jansson, xxHash, pkgconf) for
# machines that lack them:
#     for p in libjansson4 libjansson-dev libxxhash0 libxxhash-dev pkgconf pkgconf-bin libpkgconf3; do
#         apt-get download $p && dpkg -x ${p}_*.deb deps; done
# Nothing here is reset or reconfigured, and a part that fails does not stop the others; the exit code says whether
# one did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
[ $# -ge 1 ] || { sed -n '3,/^set/{/^set/!p}' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
parts=${*:-build quick bench shards tests sanitize}
build=$out/build
begun=$SECONDS
failed=""

if [ -n "${DEPS:-}" ]; then
    deps=$(cd "$DEPS" && pwd)/usr
    libraries=$deps/lib/$(uname -m)-linux-gnu
    export PATH=$PATH:$deps/bin CMAKE_PREFIX_PATH=$deps
    export PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=${deps%/usr}
    export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export CPATH=$deps/include LIBRARY_PATH=$libraries LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

# run NAME SECONDS COMMAND…: with a time limit and a log; says how it went.
run() {
    local name=$1 limit=$2 from=$SECONDS code=0
    shift 2
    timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
    case $code in
    0) echo "ok      $name, $((SECONDS - from)) s" ;;
    77) echo "skipped $name: $(tail -1 "$out/$name.log")" ;;
    *)
        failed="$failed $name"
        echo "FAILED  $name, exit $code, $((SECONDS - from)) s:"
        tail -6 "$out/$name.log" | sed 's/^/        /'
        ;;
    esac
    return "$code"
}

wanted() {
    [[ " $parts " == *" $1 "* ]]
}

# bench NAME MODEL SEQ MICRO_BATCH [OPTION…]
bench() {
    local name=$1 model=$2 seq=$3 micro=$4
    shift 4
    run "bench-$name" 90 bash -c '"$@" >"$0"' "$out/bench-$name.json" "$build/dstrain" bench --device cuda --json \
        --model "$model" --seq "$seq" --micro-batch "$micro" "$@"
    grep -oh -e '"text":"pass[^"]*' -e '"error": *"[^"]*' "$out/bench-$name".{log,json} | sed 's/^"[a-z]*": *"/        /'
}

# train NAME SHARDS DIRECTORY OPTION…
train() {
    local name=$1 shards=$2 directory=$3
    shift 3
    run "train-$name" 120 "$build/dstrain" --shards "$shards" --device cuda --out "$directory" "$@"
}

# Rates of what has been measured, one line each.
table() {
    python3 - "$out" <<'PYTHON'
import glob, json, os, sys

out = sys.argv[1]
print("\n| bench | seq/s, step × 1 | seq/s, step × 16 | pass ms | update ms | model TFLOP/s | of products | products TFLOP/s | GB/s |")
print("|---|---|---|---|---|---|---|---|---|")
for path in sorted(glob.glob(out + "/bench-*.json")):
    try:
        b = json.load(open(path))
    except ValueError:
        continue
    if "error" in b:
        continue
    rate = b["flops_per_sequence"] * b["sequences_per_second"]
    print("| %s | %.1f | %.1f | %.2f | %.2f | %.1f | %.1f %% | %.1f | %.0f |" % (
        os.path.basename(path)[6:-5], b["sequences_per_second"], b["long_sequences_per_second"],
        1e3 * b["pass_seconds"], 1e3 * b["update_seconds"], rate * 1e-12,
        100 * rate / b["products_flops_per_second"], b["products_flops_per_second"] * 1e-12,
        b["bytes_per_second"] * 1e-9))
for path in sorted(glob.glob(out + "/torch-*.json")):
    try:
        t = json.load(open(path))
    except ValueError:
        continue
    print("| PyTorch %s %s, %d × %d | %.1f | | | | | | | |" % (t["torch"], t["model"], t["batch"], t["seq"],
                                                            t["sequences_per_second"]))
print("\n| training from shards | seq/s | waiting for data |\n|---|---|---|")
for path in sorted(glob.glob(out + "/run-*/metrics.jsonl")):
    lines = [json.loads(line) for line in open(path)]
    lines = [line for line in lines if "split" not in line]
    if len(lines) > 1 and lines[-1].get("sequences_per_second"):
        last, before = lines[-1], lines[-2]
        seconds = last["seconds"] - before["seconds"]
        print("| %s | %.1f | %.2f %% |" % (os.path.basename(os.path.dirname(path))[4:], last["sequences_per_second"],
                                          100 * last["data_wait_seconds"] / seconds if seconds > 0 else 0))
PYTHON
}

nvidia-smi >"$out/nvidia-smi.log" 2>&1 && sed -n '/NVIDIA/p' "$out/nvidia-smi.log" | head -3
if wanted build; then
    run build 240 bash -c 'cmake --preset cuda -B "$0" && cmake --build "$0" -j "$(nproc)"' "$build" ||
        { grep -E -A3 'error|FAILED' "$out/build.log" | head -30; exit 1; }
fi
"$build/dstrain" doctor 2>&1 | tee "$out/doctor.log" | grep -E '^(processor|device)'

# The quickest sign of life: every op in bf16.
if wanted quick; then run quick 120 "$build/dstrain_cuda_test" --precision bf16 --part ops; fi

if wanted bench; then
    bench large-128 large 128 256
    bench large-128-tuned large 128 256 --tune "$out/tuned-large-128.txt"
    bench base-128 base 128 256
    bench large-512 large 512 64
fi

if wanted shards; then
    rm -rf "$out"/shards-* "$out"/run-*
    run make-shards 60 bash -c '"$0" "$1-512" 512 20000 254.5 && "$0" "$1-128" 128 4000 110' "$build/make_shards" \
        "$out/shards"
    train large-512-packed "$out/shards-512" "$out/run-large-512-packed" --model large --seq 512 --batch 512 \
        --steps 12 --log-every 4 --keep-last 1
    # The same bits: straight through, again, and stopped on the way.
    small=(--model mini --batch 64 --steps 30 --save-every 100 --log-every 10)
    train one "$out/shards-128" "$out/run-one" "${small[@]}"
    train two "$out/shards-128" "$out/run-two" "${small[@]}"
    "$build/dstrain" --shards "$out/shards-128" --device cuda --out "$out/run-three" "${small[@]}" --stop-after 11 \
        >"$out/train-stopped.log" 2>&1
    train three "$out/shards-128" "$out/run-three" "${small[@]}"
    run same-bits 30 bash -c 'diff -r "$0-one/checkpoints/step-00000030" "$0-two/checkpoints/step-00000030" &&
        diff -r "$0-one/checkpoints/step-00000030" "$0-three/checkpoints/step-00000030"' "$out/run"
    rm -rf "$out"/run-large-512-packed/checkpoints
fi

if wanted tests; then
    run test-ops 150 "$build/dstrain_cuda_test" --part ops
    run test-models 100 "$build/dstrain_cuda_test" --part models
    run test-optimizers 60 "$build/dstrain_cuda_test" --part optimizers
    run test-bits 60 "$build/dstrain_cuda_test" --part bits
    run test-curve 60 "$build/dstrain_cuda_test" --part curve
fi

if wanted torch; then
    for model in large base; do
        run "torch-$model-128" 300 bash -c 'python3 tests/bench/bench_torch.py --model "$1" --json >"$0"' \
            "$out/torch-$model-128.json" "$model"
    done
fi

if wanted sanitize; then
    sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
    if [ -n "$sanitizer" ]; then
        for tool in memcheck racecheck; do
            run "$tool" 75 "$sanitizer" --tool "$tool" --error-exitcode 9 "$build/dstrain_cuda_test" --precision bf16 \
                --part models
        done
    else
        echo "skipped sanitize: compute-sanitizer is not on this machine"
    fi
fi

table 2>&1 | tee "$out/table.md"
echo "$((SECONDS - begun)) s in all; logs in $out${failed:+; FAILED:$failed}"
[ -z "$failed" ]
