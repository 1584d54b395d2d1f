#!/usr/bin/env bash
# The whole road in a few minutes: a dump becomes shards, and a small BERT learns from them.
#
#     scripts/demo.sh           the sample wiki in samples/
#     scripts/demo.sh DUMP      another dump (.xml.bz2 or .xml), e.g. one from dumps.wikimedia.org
#
# Everything it makes lies in demo-out/, which is made anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."

dump=${1:-samples/samplewiki.xml.bz2}
out=demo-out
dataset=$out/shards
run=$out/run
bin=build/release
steps=600

section() {
    printf '\n== %s ==\n\n' "$1"
}

# Shows a command and runs it.
run() {
    echo "\$ $*"
    "$@"
}

build_programs() {
    section "Building the programs"
    scripts/setup.sh
    [ -f build/release/build.ninja ] || cmake --preset release >"$out/cmake.log" || { cat "$out/cmake.log"; exit 1; }
    cmake --build --preset release --target dsdata dstrain >"$out/build.log" || { cat "$out/build.log"; exit 1; }
    ls -l "$bin/dsdata" "$bin/dstrain"
}

# The sample is small: a tenth is held out so that there is something to test on, and the vocabulary is small too, so
# that its pieces occur often enough to be learned.
build_shards() {
    section "From the dump to shards"
    local vocabulary=()
    [ "$dump" = samples/samplewiki.xml.bz2 ] && vocabulary=(--vocab-size 800)
    run "$bin/dsdata" build "$dump" --out "$dataset" --valid 0.1 "${vocabulary[@]}"
    section "What is in them"
    run "$bin/dsdata" show "$dataset"
    run "$bin/dsdata" report "$dataset"
}

train() {
    section "Training a small BERT, $steps steps"
    run "$bin/dstrain" --shards "$dataset" --out "$run" --model tiny --seq 128 --batch 32 --steps "$steps" \
        --lr 1e-3 --warmup 0.05
}

# Loss of some steps and the held-out accuracy, from the run's metrics: one JSON object a line.
report() {
    section "What it has learned"
    python3 - "$run/metrics.jsonl" <<'PYTHON'
import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
train = [line for line in lines if "split" not in line]
valid = [line for line in lines if line.get("split") == "valid"]
steps = sorted({round(i * (len(train) - 1) / 9) for i in range(10)}) if train else []
for line in (train[i] for i in steps):
    bar = "#" * round(4 * line["mlm_loss"])
    print(f"step {line['step']:>5}   masked-LM loss {line['mlm_loss']:6.3f}  {bar}")
if valid:
    last = valid[-1]
    print(f"\nheld-out   masked-LM loss {last['mlm_loss']:.3f}, accuracy {100 * last['mlm_accuracy']:.1f} %")
else:
    print("\nheld-out   no document fell into the held-out tenth")
PYTHON
}

main() {
    if [ ! -r "$dump" ]; then
        echo "demo.sh: $dump: no such file. Type scripts/demo.sh alone to use the sample wiki." >&2
        exit 2
    fi
    rm -rf "$out"
    mkdir -p "$out"
    build_programs
    build_shards
    train
    report
    section "One sample, side by side"
    run "$bin/dsdata" show "$dataset" --sample 0
    section "Next"
    echo "a larger model, for longer:"
    echo "    $bin/dstrain --shards $dataset --model mini --batch 32 --steps 2000 --lr 5e-4"
    echo "the trained model for Hugging Face transformers:"
    echo "    $bin/dstrain export $run --out $out/bert"
    if [ "$dump" = samples/samplewiki.xml.bz2 ]; then
        echo "a real dump, for example the Finnish one (dumps.wikimedia.org, pages-articles.xml.bz2):"
        echo "    scripts/demo.sh fiwiki-latest-pages-articles.xml.bz2"
    fi
}

main
